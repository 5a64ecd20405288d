"""`routines audit`: does the ledger balance, and does it tell of bad times?"""

from __future__ import annotations

import sys
import time
from typing import Any

from django.core.management.base import CommandParser

from routines_app import service
from routines_app.management.subcommand import Subcommand, add_json, shown

MOST_SHOWN = 100
TELL_SECONDS = 5.0  # between two lines of progress
IMBALANCE, WARNED = 1, 2  # exit codes
COLUMNS = ("routine", "slot", "what")


class Command(Subcommand):
    help = (
        "Recompute what should have fired and compare it with the ledger. Exits with 1 when it does not balance. "
        "Warns of fires before their time, late starts, misfires while a beat was alive and overlapping bodies; "
        "with --strict these exit with 2."
    )

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        parser.add_argument("--since", default="24h", help="how far to look back: 30m, 24h, 7d (default: 24h)")
        parser.add_argument("--late", default="60s", help="warn of starts that come later than this (default: 60s)")
        parser.add_argument("--strict", action="store_true", help="exit with 2 when it balances but there are warnings")
        add_json(parser)

    def handle(self, *, since: str, late: str, strict: bool, as_json: bool, **_: Any) -> None:
        found = service.audit(since, late=late, progress=_Progress())
        if as_json:
            rows = [(each.routine, each.slot, each.what, "imbalance") for each in found.imbalances]
            rows += [(each.routine, each.slot, each.what, each.kind.value) for each in found.warnings]
            rows += [(each.routine, each.after, each.what, "unjudged") for each in found.unjudged]
            self.records((*COLUMNS, "kind"), rows, as_json=True)
        else:
            self._tell(found)
        if not found.balances:
            sys.exit(IMBALANCE)
        if strict and found.warnings:
            sys.exit(WARNED)

    def _tell(self, found: service.Audit) -> None:
        if found.pruned:
            self.say(f"Older runs are not kept: looked at from {shown(found.since)} on.")
        if found.balances:
            looked_at = f"{found.slots} slots of {found.routines} routines since {shown(found.since)}"
            self.say(f"The ledger balances: {looked_at} are each accounted for once.")
        else:
            self._list(found.imbalances)
            more = f", the first {MOST_SHOWN} are shown" if len(found.imbalances) > MOST_SHOWN else ""
            self.say(
                f"The ledger does not balance: {len(found.imbalances)} findings in {found.routines} routines{more}."
            )
        for each in found.unjudged:
            between = f"after {shown(each.after)}, until {shown(each.until)}"
            self.say(f"{each.routine}: too many slots; those {between} were not compared with their rows.")
        if found.warnings:
            more = f" (the first {MOST_SHOWN} are shown)" if len(found.warnings) > MOST_SHOWN else ""
            self.say(f"\nWarnings: {len(found.warnings)}{more}, each with its first slot")
            self._list(found.warnings)

    def _list(self, findings: list[Any]) -> None:
        self.table(COLUMNS, [(each.routine, each.slot, each.what) for each in findings[:MOST_SHOWN]])


class _Progress:
    """A line now and then on stderr, where it is in nobody's way, and none if it takes only a moment."""

    def __init__(self) -> None:
        self._told_at = time.monotonic()

    def __call__(self, looked_at: int, of: int) -> None:
        if time.monotonic() - self._told_at > TELL_SECONDS:
            self._told_at = time.monotonic()
            sys.stderr.write(f"{looked_at} of {of} routines …\n")
