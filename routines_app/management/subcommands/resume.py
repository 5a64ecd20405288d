"""`routines resume`: let a paused routine fire again."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from routines_app import service
from routines_app.core.words import CatchUpPolicy, RoutineStatus
from routines_app.management.subcommand import Subcommand, add_routine, next_look, operator


class Command(Subcommand):
    help = "Let a paused routine fire again."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        add_routine(parser)
        parser.add_argument(
            "--release",
            default=CatchUpPolicy.SKIP.value,
            choices=[policy.value for policy in CatchUpPolicy],
            help="what happens to the slots of the pause (default SKIP)",
        )

    def handle(self, *, routine: str | int, release: str, **_: Any) -> None:
        was, span = service.find_routine(routine).status, service.slots_to_release(routine)
        resumed = service.resume_routine(routine, release=release, actor=operator())
        slots = "no slots" if span is None else f"{span.count} slots"
        done = "it was not paused" if was == RoutineStatus.ACTIVE else f"{slots} of the pause released as {release}"
        self.say(f"{resumed.name} is active; {done}; {next_look(resumed)}")
