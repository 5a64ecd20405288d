"""`routines run`: run a routine once, now."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

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
            args=_json("--args", task_args),
            kwargs=_json("--kwargs", task_kwargs),
            idempotency_key=key,
            requested_by=operator(),
        )
        self.say(f"run {run.pk} is {run.status}" + (f" ({run.reason})" if run.reason else ""))


def _json(option: str, text: str | None) -> Any:
    try:
        return None if text is None else json.loads(text)
    except ValueError as error:
        raise CommandError(f"{option}: {text!r} is not JSON: {error}") from error
