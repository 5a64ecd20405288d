"""Subcommands that keep the tables in order."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from routines_app import service
from routines_app.conf import get_settings
from routines_app.management.subcommand import Subcommand, operator
from routines_app.protocol.ledger import clock
from routines_app.protocol.upkeep.prune import prune_once

TELL_EVERY = 1_000
MOST_DAYS = 36_525  # a century


class Replan(Subcommand):
    help = "Plan anew what was changed by plain SQL or .update()."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        parser.add_argument("routines", nargs="*", help="names or ids; none means all that have changed")

    def handle(self, *, routines: list[str], **_: Any) -> None:
        for routine in routines:
            service.replan_routine(routine, actor=operator())
        count = len(routines) if routines else service.replan_changed(progress=self._tell)
        self.say(f"{count} routines replanned")

    def _tell(self, count: int) -> None:
        if count % TELL_EVERY == 0:
            self.say(f"{count} …")


class Prune(Subcommand):
    help = "Delete ended runs that are older than the setting KEEP_RUNS_DAYS, in small batches."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        parser.add_argument("--days", type=float, help="keep this many days instead")

    def handle(self, *, days: float | None, **_: Any) -> None:
        keep = get_settings().keep_runs_days if days is None else _days(days)
        deleted = 0
        while batch := prune_once(clock.now(), keep):
            deleted += batch
            self.say(f"{deleted} runs deleted …")
        self.say(f"{deleted} runs older than {keep:g} days deleted")


def _days(given: float) -> float:
    if not 0 < given <= MOST_DAYS:  # nan is not, either
        raise CommandError(f"--days: {given:g} is not accepted: give a number above 0, at most {MOST_DAYS}")
    return given
