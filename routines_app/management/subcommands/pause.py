"""`routines pause`: keep a routine, or many as one batch, from firing."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from routines_app import service
from routines_app.management.subcommand import Subcommand, add_routine, add_selectors, operator, selected, shown
from routines_app.management.telling import Telling
from routines_app.models import PauseBatch


class Command(Subcommand):
    help = "Keep a routine from firing, or many as one batch; PENDING runs are held."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        add_routine(parser, required=False)
        add_selectors(parser)
        parser.add_argument(
            "--batch", metavar="NAME", help="what the many are called; alone: go on with a batch that was cut off"
        )
        parser.add_argument("--until", help="when it ends by itself, such as 2026-03-01T06:00+01:00")
        parser.add_argument("--reason", default="")

    def handle(self, *, until: str | None, batch: str | None, reason: str, **options: Any) -> None:
        chosen = selected(options)
        if batch is None:
            self._pause_one(chosen, until, reason)
        elif not chosen:
            self._tell(service.continue_pause_batch(batch, progress=Telling("routines are paused")))
        else:
            self._pause_many(batch, chosen, until, reason)

    def _pause_one(self, chosen: dict[str, Any], until: str | None, reason: str) -> None:
        if chosen.keys() != {"routine"}:
            raise CommandError("give one routine, or --tag, --group, --queue or --pool with --batch NAME")
        end = None if until is None else service.typed_moment("--until", until)
        paused = service.pause_routine(chosen["routine"], until=end, reason=reason, actor=operator())
        self.say(f"{paused.name} is paused" + (f" until {shown(end)}" if end else ""))

    def _pause_many(self, name: str, chosen: dict[str, Any], until: str | None, reason: str) -> None:
        if "routine" in chosen:
            raise CommandError("--batch is for many: give --tag, --group, --queue or --pool instead of a routine")
        end = None if until is None else service.typed_moment("--until", until)
        said: dict[str, Any] = {"until": end, "reason": reason, "actor": operator()}
        self._tell(service.pause_batch(name, **chosen, **said, progress=Telling("routines are paused")))

    def _tell(self, batch: PauseBatch) -> None:
        until = f" until {shown(batch.until)}" if batch.until else ""
        own = f"; {batch.left_alone} were paused already, and keep their own pause" if batch.left_alone else ""
        self.say(f"batch {batch.name} has paused {batch.taken} routines{until}{own}")
