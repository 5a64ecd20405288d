"""`routines audit`: does the ledger balance?"""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import CommandParser

from routines_app import service
from routines_app.management.subcommand import Subcommand, add_json, shown

MOST_SHOWN = 100


class Command(Subcommand):
    help = "Recompute what should have fired and compare it with the ledger. Exits with 1 when it does not balance."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        parser.add_argument("--since", default="24h", help="how far to look back: 30m, 24h, 7d (default: 24h)")
        add_json(parser)

    def handle(self, *, since: str, as_json: bool, **_: Any) -> None:
        found = service.audit(since)
        rows = [(each.routine, each.slot, each.what) for each in found.imbalances]
        if as_json:
            self.records(("routine", "slot", "what"), rows, as_json=True)
        elif found.balances:
            looked_at = f"{found.slots} slots of {found.routines} routines since {shown(found.since)}"
            self.say(f"The ledger balances: {looked_at} are each accounted for once.")
        else:
            self.records(("routine", "slot", "what"), rows[:MOST_SHOWN], as_json=False)
            more = f", the first {MOST_SHOWN} are shown" if len(rows) > MOST_SHOWN else ""
            self.say(f"The ledger does not balance: {len(rows)} findings in {found.routines} routines{more}.")
        if not found.balances:
            sys.exit(1)
