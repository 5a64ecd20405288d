"""`routines sync`: bring what code declares into the ledger, or tell the difference."""

from __future__ import annotations

import json
import sys
from typing import Any

from django.core.management.base import CommandParser

from routines_app import service
from routines_app.management.subcommand import Subcommand, add_json, operator, shown

DIFFERENT = REFUSED = 1
DONE = {
    service.Act.CREATE: "created",
    service.Act.CHANGE: "changed",
    service.Act.NOTE: "noted",
    service.Act.ADOPT: "adopted",
    service.Act.BRING_BACK: "brought back",
    service.Act.ARCHIVE: "gone from code",
    service.Act.REFUSE: "refused",
    service.Act.NOTHING: "as declared",
}


class Command(Subcommand):
    help = (
        "Make routines what the project's code declares; what people have changed stays. Exits with 1 when a "
        "declaration is refused, and with --check when there is any difference."
    )

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only show the difference")
        parser.add_argument("--check", action="store_true", help="the same, and exit with 1 when there is one")
        parser.add_argument("--archive-now", action="store_true", help="archive at once what is gone from code")
        parser.add_argument(
            "--adopt",
            action="store_true",
            help="make routines that have a declared name, and the same task, the code's own; their values stay",
        )
        add_json(parser)

    def handle(self, *, dry_run: bool, check: bool, archive_now: bool, adopt: bool, as_json: bool, **_: Any) -> None:
        steps = service.sync_declared(dry_run=dry_run or check, archive_now=archive_now, adopt=adopt, actor=operator())
        differing = service.differing(steps)
        if as_json:
            self.say(json.dumps([_facts(step) for step in differing], default=shown, indent=2))
        else:
            for step in differing:
                self._tell(step)
            counts = {act: sum(step.act is act for step in steps) for act in DONE}
            told = ", ".join(f"{count} {DONE[act]}" for act, count in counts.items() if count)
            self.say(f"{'Nothing is written: ' if dry_run or check else ''}{told or 'code declares no routine'}")
        if check and differing:
            sys.exit(DIFFERENT)
        if any(step.act is service.Act.REFUSE for step in steps):
            sys.exit(REFUSED)

    def _tell(self, step: service.Step) -> None:
        self.say(f"{step.act:<10}  {step.name}{step.why and f': {step.why}'}")
        if step.act is not service.Act.CREATE:
            for field, (before, after) in sorted(step.changes.items()):
                self.say(f"{'':<10}  {field}: {shown(before)} → {shown(after)}")


def _facts(step: service.Step) -> dict[str, Any]:
    changes = {field: {"before": before, "after": after} for field, (before, after) in step.changes.items()}
    return {"name": step.name, "act": step.act.value, "why": step.why, "changes": changes}
