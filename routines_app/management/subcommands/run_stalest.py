"""`routines run-stalest`: run what has waited longest for a success, or in a rotation for an attempt."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from routines_app import service
from routines_app.management.subcommand import Subcommand, add_json, add_pool, operator


class Command(Subcommand):
    help = "Run the idle routine that ranks first, by band and staleness, now."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        add_pool(parser)
        parser.add_argument(
            "--rotation", metavar="ROTATION", help="the member of this one that its next tick would pick"
        )
        add_json(parser)

    def handle(self, *, pool: str | int | None, rotation: str | None, as_json: bool, **_: Any) -> None:
        run = service.run_stalest(pool=pool, rotation=rotation, requested_by=operator())
        if run is None:
            why = "there is no idle routine" if rotation is None else "no member is owed"
            self.told(f"nothing to run: {why}", {"run": None}, as_json=as_json)
            return
        facts = {"run": run.pk, "name": run.routine.name, "status": run.status, "reason": run.reason}
        reason = f" ({run.reason})" if run.reason else ""
        self.told(f"run {run.pk} of {run.routine.name} is {run.status}{reason}", facts, as_json=as_json)
