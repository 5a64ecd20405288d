"""`routines cancel`: end a run that waits, or ask a running one to stop; or all that are meant."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from routines_app import service
from routines_app.management.run_options import act_on_all, add_runs, is_one
from routines_app.management.subcommand import Subcommand, operator


class Command(Subcommand):
    help = "Cancel a PENDING run, or ask a RUNNING one to stop; or all of them that are meant."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        add_runs(parser)
        parser.add_argument("--reason", default="")

    def handle(self, *, run: str | None, reason: str, as_json: bool, **options: Any) -> None:
        if not is_one(run, options) or run is None:
            act_on_all(
                self,
                service.ManyVerb.CANCEL,
                {**options, "as_json": as_json},
                lambda ids: service.cancel_runs(ids, reason=reason, actor=operator()),
            )
            return
        cancelled = service.cancel_run(run, reason=reason, actor=operator())
        asked = " and asked to stop" if cancelled.is_active else ""
        facts = {"run": str(cancelled.pk), "status": cancelled.status}
        self.told(f"run {cancelled.pk} is {cancelled.status}{asked}", facts, as_json=as_json)
