"""Subcommands that act on one routine or run: one verb of the service each."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.dateparse import parse_datetime
from django.utils.timezone import is_naive, make_aware

from routines_app import service
from routines_app.core.words import CatchUpPolicy
from routines_app.management.subcommand import Subcommand, operator, shown
from routines_app.models import Routine
from routines_app.verbs.checking.lookup import find_routine


class Run(Subcommand):
    help = "Run a routine once, now."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        parser.add_argument("routine", help="name or id")
        parser.add_argument("--args", dest="task_args", help="JSON list instead of the routine's own arguments")
        parser.add_argument("--kwargs", dest="task_kwargs", help="JSON object instead of the routine's own")
        parser.add_argument("--key", help="idempotency key: the same key gives the same run")

    def handle(
        self, *, routine: str, task_args: str | None, task_kwargs: str | None, key: str | None, **_: Any
    ) -> None:
        run = service.run_now(
            routine,
            args=_json("--args", task_args),
            kwargs=_json("--kwargs", task_kwargs),
            idempotency_key=key,
            requested_by=operator(),
        )
        self.say(f"run {run.pk} is {run.status}" + (f" ({run.reason})" if run.reason else ""))


class Pause(Subcommand):
    help = "Keep a routine from firing; PENDING runs are held."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        parser.add_argument("routine", help="name or id")
        parser.add_argument("--until", help="when it ends by itself, such as 2026-03-01T06:00+01:00")
        parser.add_argument("--reason", default="")

    def handle(self, *, routine: str, until: str | None, reason: str, **_: Any) -> None:
        end = None if until is None else _moment("--until", until)
        paused = service.pause_routine(routine, until=end, reason=reason, actor=operator())
        self.say(f"{paused.name} is paused" + (f" until {shown(end)}" if end else ""))


class Resume(Subcommand):
    help = "Let a paused routine fire again."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        parser.add_argument("routine", help="name or id")
        parser.add_argument(
            "--release",
            default=CatchUpPolicy.SKIP.value,
            choices=[policy.value for policy in CatchUpPolicy],
            help="what happens to the slots of the pause (default SKIP)",
        )

    def handle(self, *, routine: str, release: str, **_: Any) -> None:
        span = service.slots_to_release(routine)
        resumed = service.resume_routine(routine, release=release, actor=operator())
        more = " or more" if span is not None and span.truncated else ""
        slots = "no slots" if span is None else f"{span.count}{more} slots"
        self.say(f"{resumed.name} is active; {slots} of the pause released as {release}; {_next(resumed)}")


class Archive(Subcommand):
    help = "Retire a routine for good."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        parser.add_argument("routine", help="name or id")
        parser.add_argument("--reason", default="")

    def handle(self, *, routine: str, reason: str, **_: Any) -> None:
        self.say(f"{service.archive_routine(routine, reason=reason, actor=operator()).name} is archived")


class Delete(Subcommand):
    help = "Delete an archived routine with its history."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        parser.add_argument("routine", help="name or id")

    def handle(self, *, routine: str, **_: Any) -> None:
        found = find_routine(routine)
        runs = service.delete_routine(found, progress=lambda gone: self.say(f"{gone} runs gone"), actor=operator())
        self.say(f"{found.name} is deleted with {runs} runs")


class Reset(Subcommand):
    help = "Bring a parked routine back."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        parser.add_argument("routine", help="name or id")
        parser.add_argument("--reason", default="")

    def handle(self, *, routine: str, reason: str, **_: Any) -> None:
        reset = service.reset_routine(routine, reason=reason, actor=operator())
        self.say(f"{reset.name} is active; {_next(reset)}")


class Cancel(Subcommand):
    help = "Cancel a PENDING run, or ask a RUNNING one to stop."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        parser.add_argument("run", help="the run's id")
        parser.add_argument("--reason", default="")

    def handle(self, *, run: str, reason: str, **_: Any) -> None:
        cancelled = service.cancel_run(run, reason=reason, actor=operator())
        asked = " and asked to stop" if cancelled.is_active else ""
        self.say(f"run {cancelled.pk} is {cancelled.status}{asked}")


def _next(routine: Routine) -> str:
    at = routine.state.next_run_at
    return "nothing is planned" if at is None else f"next look {shown(at)}"


def _json(option: str, text: str | None) -> Any:
    try:
        return None if text is None else json.loads(text)
    except ValueError as error:
        raise CommandError(f"{option}: {text!r} is not JSON: {error}") from error


def _moment(option: str, text: str) -> datetime:
    """ISO 8601; without an offset it is in the project's timezone."""
    try:
        found = parse_datetime(text)
    except ValueError:
        found = None
    if found is None:
        raise CommandError(f"{option}: {text!r} is not a time such as 2026-03-01T06:00+01:00")
    return make_aware(found) if is_naive(found) else found
