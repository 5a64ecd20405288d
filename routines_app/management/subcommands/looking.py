"""Subcommands that only look."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from routines_app import service
from routines_app.core.durations import format_duration
from routines_app.core.words import RoutineStatus, TriggerKind
from routines_app.management.subcommand import Subcommand, add_json, shown
from routines_app.models import Node, Routine, RoutineRun, RoutineState
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.checking.lookup import find_routine
from routines_app.verbs.checking.rules import Integer

LIMIT = Integer(least=1, most=1_000_000)


class List(Subcommand):
    help = "List routines with their schedule and their next fire."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        parser.add_argument("--status", choices=[status.value for status in RoutineStatus], help="only these")
        parser.add_argument("--search", default="", help="only names or tasks that contain this")
        parser.add_argument("--limit", type=int, default=100)
        add_json(parser)

    def handle(self, *, status: str | None, search: str, limit: int, as_json: bool, **_: Any) -> None:
        routines = Routine.objects.using(ledger_alias()).select_related("state").order_by("name")
        if status:
            routines = routines.filter(status=status)
        if search:
            routines = routines.filter(name__icontains=search) | routines.filter(task__icontains=search)
        rows = [self._row(routine) for routine in routines[: LIMIT("--limit", limit)]]
        self.records(("id", "name", "status", "schedule", "next", "why", "task"), rows, as_json=as_json)

    def _row(self, routine: Routine) -> tuple[Any, ...]:
        state = getattr(routine, "state", None) or RoutineState()
        next_run, why = state.next_run_at, state.next_source
        return routine.pk, routine.name, routine.status, schedule(routine), next_run, why, routine.task


class Show(Subcommand):
    help = "Show one routine: its fields, its state and its last runs."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        parser.add_argument("routine", help="name or id")
        parser.add_argument("--runs", type=int, default=10, help="how many runs to show")

    def handle(self, *, routine: str, runs: int, **_: Any) -> None:
        found = find_routine(routine)
        for part in (found, getattr(found, "state", None)):
            for field in part._meta.concrete_fields if part is not None else ():
                value = getattr(part, field.attname)
                if value not in (None, "", [], {}):
                    self.say(f"{field.attname:<20} {shown(value)}")
        self.say("")
        rows = [run_row(run) for run in service.list_runs(found, limit=runs, large=False)]
        self.table(("run", "slot", "status", "reason", "trigger", "attempt", "ended"), rows)


class Plan(Subcommand):
    help = "Show the coming fires, of all routines or of some."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        parser.add_argument("routines", nargs="*", help="names or ids; none means all")
        parser.add_argument("--horizon", default="1d", help="how far to look, such as 2h or 7d (default 1d)")
        parser.add_argument("--limit", type=int, default=50)
        add_json(parser)

    def handle(self, *, routines: list[str], horizon: str, limit: int, as_json: bool, **_: Any) -> None:
        fires = service.plan(routines or None, horizon=horizon, limit=limit)
        rows = [(fire.slot, fire.name, fire.source) for fire in fires]
        self.records(("slot", "name", "why"), rows, as_json=as_json)


class Nodes(Subcommand):
    help = "Show the beats and workers that have reported themselves."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        add_json(parser)

    def handle(self, *, as_json: bool, **_: Any) -> None:
        nodes = Node.objects.using(ledger_alias()).order_by("role", "name")
        rows = [(n.name, n.role, n.seen_at, n.running_runs, n.load, "draining" if n.draining else "") for n in nodes]
        self.records(("name", "role", "seen", "running", "load", "state"), rows, as_json=as_json)


def schedule(routine: Routine) -> str:
    """The trigger in a few characters."""
    if routine.trigger_kind == TriggerKind.CRON:
        return f"{routine.cron} ({routine.timezone})"
    return "manual" if routine.interval_ms is None else f"every {format_duration(routine.interval_ms)}"


def run_row(run: RoutineRun) -> tuple[Any, ...]:
    return run.pk, run.scheduled_for, run.status, run.reason, run.trigger, run.attempt, run.completed_at
