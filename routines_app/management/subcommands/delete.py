"""`routines delete`: delete an archived routine."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from routines_app import service
from routines_app.management.subcommand import Subcommand, add_routine, operator


class Command(Subcommand):
    help = "Delete an archived routine with its history."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        add_routine(parser)

    def handle(self, *, routine: str | int, **_: Any) -> None:
        found = service.find_routine(routine)
        runs = service.delete_routine(found, progress=lambda gone: self.say(f"{gone} runs gone"), actor=operator())
        self.say(f"{found.name} is deleted with {runs} runs")
