"""`routines cancel`: end a run that waits, or ask a running one to stop."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from routines_app import service
from routines_app.management.subcommand import Subcommand, operator


class Command(Subcommand):
    help = "Cancel a PENDING run, or ask a RUNNING one to stop."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        parser.add_argument("run", help="the run's id")
        parser.add_argument("--reason", default="")

    def handle(self, *, run: str, reason: str, **_: Any) -> None:
        cancelled = service.cancel_run(run, reason=reason, actor=operator())
        asked = " and asked to stop" if cancelled.is_active else ""
        self.say(f"run {cancelled.pk} is {cancelled.status}{asked}")
