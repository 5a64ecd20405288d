"""What is asked, and what every part of the answer needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from routines_app.models import Role, Routine, RoutineState, ScheduleChange
from routines_app.verbs.why import presence
from routines_app.verbs.why.reading import changes_of
from routines_app.verbs.why.silence import nobody, not_known
from routines_app.verbs.why.values import Because, Sentence
from routines_app.verbs.why.wording import Wording

NOTICEABLE = timedelta(seconds=2)  # what is shorter is how long things take


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A routine, a moment, and the present."""

    routine: Routine
    at: datetime
    now: datetime

    @cached_property
    def words(self) -> Wording:
        return Wording(self.routine.timezone)

    @cached_property
    def changes(self) -> Sequence[ScheduleChange]:
        return changes_of(self.routine)

    @cached_property
    def state(self) -> RoutineState | None:
        """Plain SQL can have left it out."""
        return getattr(self.routine, "state", None)

    @property
    def until(self) -> datetime:
        """The end of what the moment means: who says 03:00 means the minute, who says 03:00:10 the second."""
        whole_minute = self.at.second == 0 and self.at.microsecond == 0
        return self.at + (timedelta(minutes=1) if whole_minute else timedelta(seconds=1))

    def absence(self, role: Role, moment: datetime, queue: str | None = None) -> Sentence | None:
        """That no beat, or no worker for the queue, was there at that moment, or that nobody knows; None: one was."""
        silence = presence.silence_at(role, moment, self.now, queue)
        if silence is None:
            return None
        if not presence.is_known(moment, self.now, silence):
            return Sentence(code=Because.NOT_KNOWN, text=not_known(role, queue), at=moment)
        return Sentence(
            code=Because.NO_BEAT if role is Role.BEAT else Because.NO_WORKER,
            text=nobody(role, queue, silence, self.words),
            at=None if silence.last is None else silence.last.until,
            until=None if silence.next is None else silence.next.started_at,
        )
