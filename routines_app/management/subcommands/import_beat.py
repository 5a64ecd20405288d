"""`routines import-beat`: routines for the entries of another scheduler, with proof."""

from __future__ import annotations

import json
import sys
from typing import Any

from django.core.management.base import CommandParser

from routines_app import service
from routines_app.management.move_plan import as_facts, as_lines
from routines_app.management.subcommand import Subcommand, add_json, operator, shown
from routines_app.management.telling import Telling

NOT_EXACT = NOT_MADE = 1


class Command(Subcommand):
    help = (
        "Make routines of the entries of another scheduler, all in one transaction; nothing there is changed. Tells of "
        "each what it becomes, what cannot be carried, and how its next 50 fires compare with the old scheduler's own "
        "computation. Exits with 1 when an entry is refused, and with --dry-run also when something of one cannot be "
        "carried."
    )

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        parser.add_argument("--source", required=True, choices=list(service.OldScheduler), help="which scheduler")
        parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these entries (default: all)")
        parser.add_argument("--dry-run", action="store_true", help="only tell, write nothing")
        parser.add_argument(
            "--shadow",
            action="store_true",
            help="they run nothing until they are switched over; see docs/moving-over.md",
        )
        parser.add_argument(
            "--accept-differences",
            action="store_true",
            help="also make those whose fires differ, after you have seen how",
        )
        parser.add_argument("--reason", default="", help="why, for the history")
        add_json(parser)

    def handle(self, *, source: str, dry_run: bool, as_json: bool, reason: str, **options: Any) -> None:
        how = {name: options[name] for name in ("only", "shadow", "accept_differences")}
        if dry_run:
            plan = service.plan_move(source, **how)
        else:
            told = Telling("routines")
            plan = service.move_over(source, actor=operator(), reason=reason, progress=told, **how)
        if as_json:
            self.say(json.dumps(as_facts(plan, is_dry=dry_run), default=shown, indent=2, ensure_ascii=False))
        else:
            for line in as_lines(plan, is_dry=dry_run):
                self.say(line)
        if plan.count(service.MoveAct.REFUSE):
            sys.exit(NOT_MADE)
        if dry_run and not plan.is_exact:
            sys.exit(NOT_EXACT)
