"""`routines abandon`: end a run whose body is gone, or cannot be stopped."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from routines_app import service
from routines_app.management.subcommand import Subcommand, operator


class Command(Subcommand):
    help = "End a RUNNING run whose body is gone or cannot be stopped; what it still does is not recorded."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        parser.add_argument("run", help="the run's id")
        parser.add_argument("--reason", default="")

    def handle(self, *, run: str, reason: str, **_: Any) -> None:
        ended = service.abandon_run(run, reason=reason, actor=operator())
        self.say(f"run {ended.pk} is {ended.status}")
