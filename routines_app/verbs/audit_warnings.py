"""What a ledger that balances can still tell of: fires before their time, late starts, needless misfires, overlaps.

These are warnings, because each can have a reason that the ledger does not know.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from routines_app.core.holding import held_as
from routines_app.core.keys import EPOCH
from routines_app.core.words import CatchUpPolicy, ConcurrencyPolicy, Reason, RunStatus, RunTrigger, is_exclusive
from routines_app.models import Node, Role
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.audit_reading import Row, Story

CLOCK_SLACK = timedelta(seconds=1)  # between two machines' measurements of the database's time
BEAT_PACE = timedelta(seconds=5)  # a beat that lives looks at least this often
# Late by nature: what was missed is caught up with, and a backfill queues behind itself.
_LATE_BY_NATURE = frozenset({RunTrigger.CATCH_UP, RunTrigger.BACKFILL})
_SKIPPED_BY_A_CLAIM = frozenset({Reason.OVERLAP, Reason.MISFIRE})


class Kind(StrEnum):
    EARLY = "early"
    LATE = "late"
    WAITING = "waiting"
    MISFIRE = "misfire"
    OVERLAP = "overlap"


_SAYS = {
    Kind.EARLY: "fired too early, by up to {worst:.1f} s",
    Kind.LATE: "started late, by up to {worst:.1f} s",
    Kind.WAITING: "not started yet, for up to {worst:.1f} s",
    Kind.MISFIRE: "missed while a beat was alive",
    Kind.OVERLAP: "began beside another one of an exclusive routine, for up to {worst:.1f} s",
}


@dataclass(kw_only=True)
class Warned:
    """What one routine's rows tell of one kind."""

    routine: str
    kind: Kind
    slot: datetime
    """The first one of them."""
    count: int = 0
    worst: float = 0.0
    """Seconds; of misfires none."""

    @property
    def what(self) -> str:
        things = "slot" if self.kind is Kind.MISFIRE else "run"
        return f"{self.count} {things}{'s' * (self.count > 1)} {_SAYS[self.kind].format(worst=self.worst)}"

    def __str__(self) -> str:
        return f"{self.routine}: since {self.slot.isoformat()} {self.what}"


class _Misfire(NamedTuple):
    routine: str
    first: datetime
    last: datetime
    slots: int
    grace: timedelta


@dataclass(kw_only=True)
class Watch:
    """Looks at one routine after another. Misfires are judged in the end, when all rows have told when beats lived."""

    late: timedelta
    _found: dict[tuple[str, Kind], Warned] = field(default_factory=dict)
    _misfires: list[_Misfire] = field(default_factory=list)
    _alive: set[int] = field(default_factory=set)
    """When claims and dispatches tell that a beat lived, in units of BEAT_PACE: a month of them fits into memory."""

    def look_at(self, story: Story) -> None:
        for run in story.runs:
            self._note_beats(run)
            if run.last > story.since:
                self._check_times(story, run)
                self._note_misfire(story, run)
        for slot, seconds in _overlaps(story):
            self._warn(story.routine.name, Kind.OVERLAP, slot, seconds=seconds)

    def warnings(self) -> list[Warned]:
        """All of them, by routine and kind."""
        lives = [
            (started_at, seen_at)
            for started_at, seen_at in Node.objects.using(ledger_alias())
            .filter(role=Role.BEAT)
            .values_list("started_at", "seen_at")
        ]
        alive = sorted(self._alive)
        for misfire in self._misfires:
            if _claimed_meanwhile(alive, misfire) or any(_lived_through(life, misfire) for life in lives):
                self._warn(misfire.routine, Kind.MISFIRE, misfire.first, count=misfire.slots)
        self._misfires.clear()
        return [self._found[key] for key in sorted(self._found)]

    def _warn(self, routine: str, kind: Kind, slot: datetime, *, count: int = 1, seconds: float = 0.0) -> None:
        found = self._found.setdefault((routine, kind), Warned(routine=routine, kind=kind, slot=slot))
        found.slot = min(found.slot, slot)
        found.count += count
        found.worst = max(found.worst, seconds)

    def _check_times(self, story: Story, run: Row) -> None:
        name = story.routine.name
        fired_at = min((at for at in (run.dispatched_at, run.started_at) if at is not None), default=None)
        if fired_at is not None and fired_at < run.eligible_at - CLOCK_SLACK:
            self._warn(name, Kind.EARLY, run.scheduled_for, seconds=(run.eligible_at - fired_at).total_seconds())
        if run.trigger in _LATE_BY_NATURE:
            return
        behind = (run.started_at or story.now) - _due_at(story, run)
        if behind <= self.late:
            return
        if run.started_at is not None:
            self._warn(name, Kind.LATE, run.scheduled_for, seconds=behind.total_seconds())
        elif run.status == RunStatus.PENDING and not _is_held(story, run):
            self._warn(name, Kind.WAITING, run.scheduled_for, seconds=behind.total_seconds())

    def _note_misfire(self, story: Story, run: Row) -> None:
        # ALL catches up with one slot after another, and leaves more of them behind meanwhile by its own rule.
        sequential = story.routine.catch_up_policy == CatchUpPolicy.ALL
        if run.reason == Reason.MISFIRE and run.status == RunStatus.SKIPPED and not sequential:
            grace = timedelta(milliseconds=story.routine.misfire_grace_ms)
            last, slots = _older_than(grace, run)
            if slots:
                self._misfires.append(_Misfire(story.routine.name, run.scheduled_for, last, slots, grace))

    def _note_beats(self, run: Row) -> None:
        if not run.is_scheduled:
            return
        moments = [run.admitted_at, run.dispatched_at]
        if run.status == RunStatus.SKIPPED:
            moments = [run.completed_at] if run.reason in _SKIPPED_BY_A_CLAIM else []
        self._alive.update((at - EPOCH) // BEAT_PACE for at in moments if at is not None)


def _older_than(grace: timedelta, run: Row) -> tuple[datetime, int]:
    """Until when the row's slots were older than the grace when they were claimed, and how many they are.

    Of the others a newer one was due at the same claim: skipping them is what SKIP is for.
    """
    boundary = (run.completed_at or run.last) - grace
    if run.last < boundary:
        return run.last, run.occurrences
    if run.scheduled_for >= boundary:
        return run.last, 0
    share = (boundary - run.scheduled_for) / (run.last - run.scheduled_for)  # evenly spaced, as far as a row can tell
    return boundary, math.ceil(share * (run.occurrences - 1))


def _due_at(story: Story, run: Row) -> datetime:
    """When it should have started: to wait for room, for its turn (QUEUE) or for the end of a pause is not late."""
    due = run.eligible_at
    if run.is_scheduled:  # being handed back makes it eligible later, and no less late
        due = min(due, run.scheduled_for + timedelta(milliseconds=story.routine.jitter_ms or 0))
    if _is_let_through(story, run) and run.admitted_at is not None:
        due = max(due, run.admitted_at)
    until = run.started_at or story.now
    return max([due, *(at for at in story.releases if due < at <= until)])


def _is_let_through(story: Story, run: Row) -> bool:
    """Whether it had others to wait for: those of its pool, or of its routine's line."""
    return run.pool_id is not None or story.routine.concurrency_policy == ConcurrencyPolicy.QUEUE


def _is_held(story: Story, run: Row) -> bool:
    queues = _is_let_through(story, run) and run.admitted_at is None
    return queues or held_as(story.routine.status, run.requested_at) is not None


def _overlaps(story: Story) -> Iterator[tuple[datetime, float]]:
    """(slot, seconds) of runs that began while another body of their exclusive routine was at work."""
    if not is_exclusive(story.routine.concurrency_policy):
        return
    since = max([story.since, *(change.at for change in story.changes if "concurrency_policy" in change.after)])
    bodies = [(run.started_at, run) for run in story.runs if run.started_at is not None and run.started_at > since]
    busy_until = since
    for began, run in sorted(bodies, key=lambda body: body[0]):
        if began < busy_until - CLOCK_SLACK:
            yield run.scheduled_for, (busy_until - began).total_seconds()
        # A body may outlive its row, and nothing but that keeps two of them from each other.
        busy_until = max(busy_until, run.body_ended_at or run.completed_at or story.now)


def _claimed_meanwhile(alive: list[int], misfire: _Misfire) -> bool:
    """Whether a beat claimed or sent something else when one of the slots was due and not yet missed.

    In the very last moment does not count: whoever has just been started has a backlog to claim.
    """
    first, until = misfire.first, misfire.last + misfire.grace - BEAT_PACE
    at = bisect_left(alive, -(-(first - EPOCH) // BEAT_PACE))
    return at < len(alive) and EPOCH + (alive[at] + 1) * BEAT_PACE <= until


def _lived_through(life: tuple[datetime, datetime], misfire: _Misfire) -> bool:
    """Whether a beat that is still listed was there from one of the slots until it was missed."""
    started_at, seen_at = life
    due = max(misfire.first, started_at)
    return due <= misfire.last and due + max(misfire.grace, BEAT_PACE) <= seen_at
