"""`routines replan`: plan anew what was changed by plain SQL or .update()."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from routines_app import service
from routines_app.management.subcommand import Subcommand, add_routines, operator

TELL_EVERY = 1_000


class Command(Subcommand):
    help = "Plan anew what was changed by plain SQL or .update()."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        add_routines(parser, none_means="all that have changed")

    def handle(self, *, routines: list[str], ids: list[int], **_: Any) -> None:
        chosen: list[str | int] = [*routines, *ids]
        for routine in chosen:
            service.replan_routine(routine, actor=operator())
        count = len(chosen) if chosen else service.replan_changed(progress=self._tell)
        self.say(f"{count} routines replanned")

    def _tell(self, count: int) -> None:
        if count % TELL_EVERY == 0:
            self.say(f"{count} …")
