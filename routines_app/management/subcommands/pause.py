"""`routines pause`: keep a routine from firing."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from routines_app import service
from routines_app.management.subcommand import Subcommand, add_routine, operator, shown


class Command(Subcommand):
    help = "Keep a routine from firing; PENDING runs are held."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        add_routine(parser)
        parser.add_argument("--until", help="when it ends by itself, such as 2026-03-01T06:00+01:00")
        parser.add_argument("--reason", default="")

    def handle(self, *, routine: str | int, until: str | None, reason: str, **_: Any) -> None:
        end = None if until is None else service.typed_moment("--until", until)
        paused = service.pause_routine(routine, until=end, reason=reason, actor=operator())
        self.say(f"{paused.name} is paused" + (f" until {shown(end)}" if end else ""))
