"""`routines resume`: let a paused routine, or a batch of them, fire again."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from routines_app import service
from routines_app.core.words import CatchUpPolicy, RoutineStatus
from routines_app.management.subcommand import Subcommand, add_routine, next_look, operator
from routines_app.management.telling import Telling

NAMED = 5  # of those that could not be resumed


class Command(Subcommand):
    help = "Let a paused routine fire again, or all that a batch has paused."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        add_routine(parser, required=False)
        parser.add_argument("--batch", metavar="NAME", help="all that this batch has paused, instead of one")
        parser.add_argument(
            "--release",
            default=CatchUpPolicy.SKIP.value,
            choices=[policy.value for policy in CatchUpPolicy],
            help="what happens to the slots of the pause (default SKIP)",
        )
        parser.add_argument("--preview", action="store_true", help="only say what a batch would release")

    def handle(self, *, release: str, batch: str | None, preview: bool, **options: Any) -> None:
        routine = options.get("routine")
        if (routine is None) == (batch is None):
            raise CommandError("give one routine, or --batch NAME")
        if preview and batch is None:
            raise CommandError("--preview is for a batch: give --batch NAME")
        if routine is not None:
            self._resume_one(routine, release)
        elif preview:
            self._preview(str(batch))
        else:
            self._resume_batch(str(batch), release)

    def _resume_one(self, routine: str | int, release: str) -> None:
        was, span = service.find_routine(routine).status, service.slots_to_release(routine)
        resumed = service.resume_routine(routine, release=release, actor=operator())
        slots = "no slots" if span is None else f"{span.count} slots"
        done = "it was not paused" if was == RoutineStatus.ACTIVE else f"{slots} of the pause released as {release}"
        self.say(f"{resumed.name} is active; {done}; {next_look(resumed)}")

    def _preview(self, batch: str) -> None:
        seen = service.preview_resume_batch(batch)
        about = "about " if seen.is_estimate else ""
        self.say(f"batch {batch} has paused {seen.routines} routines that are still paused by it")
        for policy in CatchUpPolicy:
            runs, skipped = seen.runs_by[policy], seen.skipped_by[policy]
            self.say(f"{policy}: {about}{runs} runs, {about}{skipped} slots skipped")

    def _resume_batch(self, batch: str, release: str) -> None:
        telling = Telling("routines are resumed")
        done = service.resume_pause_batch(batch, release=release, actor=operator(), progress=telling)
        self.say(f"batch {batch} has resumed {done.batch.resumed} routines; slots released as {release}")
        for name, why in done.refused[:NAMED]:
            self.say(f"{name} stays paused: {why.expected}")
        if len(done.refused) > NAMED:
            self.say(f"and {len(done.refused) - NAMED} more stay paused")
