"""`routines list`: the routines with their schedule and their next fire."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from routines_app import service
from routines_app.core.errors import InvalidValue
from routines_app.core.words import RoutineStatus, TriggerKind
from routines_app.management.subcommand import Subcommand, add_json
from routines_app.models import Routine, RoutineState

MOST = 1_000_000


class Command(Subcommand):
    help = "List routines with their schedule and their next fire."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        parser.add_argument("--status", choices=[status.value for status in RoutineStatus], help="only these")
        parser.add_argument("--search", default="", help="only names or tasks that contain this")
        parser.add_argument("--limit", type=int, default=100)
        add_json(parser)

    def handle(self, *, status: str | None, search: str, limit: int, as_json: bool, **_: Any) -> None:
        routines = Routine.objects.using(service.ledger_alias()).select_related("state").order_by("name")
        if status:
            routines = routines.filter(status=status)
        if search:
            routines = routines.filter(name__icontains=search) | routines.filter(task__icontains=search)
        rows = [self._row(routine) for routine in routines[: _limit(limit)]]
        self.records(("id", "name", "status", "schedule", "next", "why", "task"), rows, as_json=as_json)

    def _row(self, routine: Routine) -> tuple[Any, ...]:
        state = getattr(routine, "state", None) or RoutineState()
        next_run, why = state.next_run_at, state.next_source
        return routine.pk, routine.name, routine.status, _schedule(routine), next_run, why, routine.task


def _schedule(routine: Routine) -> str:
    """The trigger in a few characters."""
    if routine.trigger_kind == TriggerKind.CRON:
        return f"{routine.cron} ({routine.timezone})"
    if routine.once_at is not None:
        return f"once, {routine.once_at.isoformat()}"
    return "manual" if routine.interval_ms is None else f"every {service.format_duration(routine.interval_ms)}"


def _limit(given: int) -> int:
    if not 1 <= given <= MOST:
        raise InvalidValue("--limit", given, f"give a whole number between 1 and {MOST}")
    return given
