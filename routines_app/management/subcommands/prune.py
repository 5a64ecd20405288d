"""`routines prune`: delete old ended runs now."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from routines_app import service
from routines_app.conf import get_settings
from routines_app.management.subcommand import Subcommand

MOST_DAYS = 36_525  # a century


class Command(Subcommand):
    help = "Delete ended runs that are older than the setting KEEP_RUNS_DAYS, in small batches."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        parser.add_argument("--days", type=float, help="keep this many days instead")

    def handle(self, *, days: float | None, **_: Any) -> None:
        keep = get_settings().keep_runs_days if days is None else _days(days)
        deleted = service.prune_runs(keep, progress=lambda gone: self.say(f"{gone} runs deleted …"))
        self.say(f"{deleted} runs older than {keep:g} days deleted")


def _days(given: float) -> float:
    if not 0 < given <= MOST_DAYS:  # nan is not, either
        raise CommandError(f"--days: {given:g} is not accepted: give a number above 0, at most {MOST_DAYS}")
    return given
