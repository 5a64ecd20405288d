"""`routines show`: one routine, its state and its last runs."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from routines_app import service
from routines_app.management.subcommand import Subcommand, add_routine, shown
from routines_app.masks import masked
from routines_app.models import RoutineRun


class Command(Subcommand):
    help = "Show one routine: its fields without secrets, its state and its last runs."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        add_routine(parser)
        parser.add_argument("--runs", type=int, default=10, help="how many runs to show")

    def handle(self, *, routine: str | int, runs: int, **_: Any) -> None:
        found = service.find_routine(routine)
        for part in (found, getattr(found, "state", None)):
            for field in part._meta.concrete_fields if part is not None else ():
                value = getattr(part, field.attname)
                if value not in (None, "", [], {}):
                    self.say(f"{field.attname:<20} {shown(masked(value))}")
        if found.rotation is not None:
            self.say(f"{'rotation':<20} {found.rotation.name}")
        self.say("")
        rows = [_row(run) for run in service.list_runs(found, limit=runs, large=False)]
        self.table(("run", "slot", "status", "reason", "trigger", "attempt", "ended"), rows)


def _row(run: RoutineRun) -> tuple[Any, ...]:
    return run.pk, run.scheduled_for, run.status, run.reason, run.trigger, run.attempt, run.completed_at
