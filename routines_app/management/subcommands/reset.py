"""`routines reset`: bring a parked routine back."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from routines_app import service
from routines_app.management.subcommand import Subcommand, add_routine, next_look, operator


class Command(Subcommand):
    help = "Bring a parked routine back."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        add_routine(parser)
        parser.add_argument("--reason", default="")

    def handle(self, *, routine: str | int, reason: str, **_: Any) -> None:
        reset = service.reset_routine(routine, reason=reason, actor=operator())
        self.say(f"{reset.name} is active; {next_look(reset)}")
