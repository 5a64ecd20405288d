"""`routines switch-over`: from the old scheduler to us, or back."""

from __future__ import annotations

import json
import sys
from typing import Any

from django.core.management.base import CommandError, CommandParser

from routines_app import service
from routines_app.management.subcommand import Subcommand, add_json, add_routines, operator

REFUSED = 1


class Command(Subcommand):
    help = (
        "Disable the old entries of routines in shadow, wait until the old beat has taken notice, and fire every slot "
        "since its last fire. Run again, it goes on where it ended. Exits with 1 when a routine is refused."
    )

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        add_routines(parser, none_means="all that are in shadow; with --back, all that were switched over")
        parser.add_argument("--source", metavar="SCHEDULER", help="only django-celery-beat, celery-redbeat, …")
        parser.add_argument("--back", action="store_true", help="into shadow again; the old entries are enabled")
        parser.add_argument("--old-beat-stopped", action="store_true", help="it does not run: nobody waits for it")
        parser.add_argument("--dry-run", action="store_true", help="only say which, and which are refused")
        add_json(parser)

    def handle(
        self,
        *,
        routines: list[str],
        ids: list[int],
        source: str | None,
        back: bool,
        old_beat_stopped: bool,
        dry_run: bool,
        as_json: bool,
        **_: Any,
    ) -> None:
        chosen: list[str | int] = [*routines, *ids]
        if chosen and source:
            raise CommandError("give names or --source, not both")
        if back and old_beat_stopped:
            raise CommandError("--old-beat-stopped says nothing about the way --back: leave it out")
        which: dict[str, Any] = {"routines": chosen or None, "scheduler": source, "dry_run": dry_run}
        if back:
            found = service.switch_back(**which, actor=operator())
        else:
            found = service.switch_over(**which, stopped=old_beat_stopped, progress=_progress, actor=operator())
        self._tell(found, back=back, dry_run=dry_run, as_json=as_json)
        if found.refused:
            sys.exit(REFUSED)

    def _tell(self, found: service.SwitchOver, *, back: bool, dry_run: bool, as_json: bool) -> None:
        if as_json:
            self.say(json.dumps(vars(found), indent=2))
            return
        for name, why in found.refused.items():
            self.say(f"refused  {name}: {why}")
        done = "would be" if dry_run else "are"
        to = "in shadow, and their old entries fire" if back else "switched over"
        self.say(f"{len(found.switched)} routines {done} {to}, {len(found.refused)} refused.")
        if found.fired_meanwhile:
            self.say(f"The old beat has still sent {found.fired_meanwhile} after its entries were disabled.")
        if found.taken_back:
            self.say(f"{found.taken_back} slots that the old beat had not fired are ours.")


def _progress(line: str) -> None:
    """On stderr, where it is in nobody's way."""
    sys.stderr.write(f"{line}\n")
