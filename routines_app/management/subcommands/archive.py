"""`routines archive`: retire a routine for good."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from routines_app import service
from routines_app.management.subcommand import Subcommand, add_routine, operator


class Command(Subcommand):
    help = "Retire a routine for good."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        add_routine(parser)
        parser.add_argument("--reason", default="")

    def handle(self, *, routine: str | int, reason: str, **_: Any) -> None:
        self.say(f"{service.archive_routine(routine, reason=reason, actor=operator()).name} is archived")
