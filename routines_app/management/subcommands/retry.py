"""`routines retry`: run failures again, one or all that are meant."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from django.core.management.base import CommandParser

from routines_app import service
from routines_app.management.run_options import act_on_all, add_runs, is_one
from routines_app.management.subcommand import Subcommand, operator


class Command(Subcommand):
    help = "Run again what a run was given; or all failures that are meant and that no later attempt follows."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        add_runs(parser)

    def handle(self, *, run: str | None, as_json: bool, **options: Any) -> None:
        if not is_one(run, options) or run is None:
            batch = uuid4().hex
            act_on_all(
                self,
                service.ManyVerb.RETRY,
                {**options, "as_json": as_json},
                lambda ids: service.retry_runs(ids, batch=batch, requested_by=operator()),
            )
            return
        again = service.retry_run(run, requested_by=operator())
        facts = {"run": str(again.pk), "status": again.status, "reason": again.reason}
        self.told(f"run {again.pk} is {again.status}", facts, as_json=as_json)
