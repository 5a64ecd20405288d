"""`routines copy`: a new routine that is set as another one is."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from routines_app import service
from routines_app.management.subcommand import Subcommand, next_look, operator


class Command(Subcommand):
    help = "Make a routine that is set as another one is, paused at first."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        parser.add_argument("original", help="the name of the routine that is copied")
        parser.add_argument("name", help="the name of the new one")
        parser.add_argument("--active", action="store_true", help="let it fire at once, instead of being paused")
        parser.add_argument("--reason", default="")

    def handle(self, *, original: str, name: str, active: bool, reason: str, **_: Any) -> None:
        made = service.copy_routine(original, name, paused=not active, actor=operator(), reason=reason)
        self.say(f"{made.name} is a copy of {original}, {next_look(made) if active else 'paused until it is resumed'}")
