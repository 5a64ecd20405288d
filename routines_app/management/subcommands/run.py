"""`routines run`: run a routine once, now."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from routines_app import service
from routines_app.management.subcommand import Subcommand, add_routine, operator


class Command(Subcommand):
    help = "Run a routine once, now."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        add_routine(parser)
        parser.add_argument("--args", dest="task_args", help="JSON list instead of the routine's own arguments")
        parser.add_argument("--kwargs", dest="task_kwargs", help="JSON object instead of the routine's own")
        parser.add_argument("--key", help="idempotency key: the same key gives the same run")

    def handle(
        self, *, routine: str | int, task_args: str | None, task_kwargs: str | None, key: str | None, **_: Any
    ) -> None:
        run = service.run_now(
            routine,
            args=None if task_args is None else service.read_json("--args", task_args),
            kwargs=None if task_kwargs is None else service.read_json("--kwargs", task_kwargs),
            idempotency_key=key,
            requested_by=operator(),
        )
        self.say(f"run {run.pk} is {run.status}" + (f" ({run.reason})" if run.reason else ""))
