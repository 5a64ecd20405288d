"""Catch-up: what happens to the slots that nobody fired in time.

A slot older than the grace when it is claimed is missed. SKIP keeps none of the missed slots, LAST the
newest, ALL every one, oldest first and one at a time; window and limit narrow what is kept. What is not kept
becomes one span for the ledger. Each due slot ends up in exactly one place: skipped, fired, or from
`next_slot` on.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from datetime import datetime, timedelta

from routines_app.core.triggers import (
    INSTANT,
    MAX_ENUMERATED,
    IntervalTrigger,
    Span,
    Trigger,
    count_between,
    next_slot,
    slots_between,
)
from routines_app.core.words import CatchUpPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class CatchUp:
    """A routine's rule for missed slots."""

    policy: CatchUpPolicy
    grace_ms: int
    window_ms: int | None = None
    limit: int | None = None

    @property
    def keep(self) -> int | None:
        """How many missed slots may still run; None means all. A limit counts up to MAX_ENUMERATED."""
        match self.policy:
            case CatchUpPolicy.SKIP:
                return 0
            case CatchUpPolicy.LAST:
                return 1 if self.limit is None else min(1, self.limit)
        return None if self.limit is None else min(self.limit, MAX_ENUMERATED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fire:
    slot: datetime
    missed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounting:
    """What a claim does with the slots that are due."""

    skipped: Span | None = None
    fire: tuple[Fire, ...] = ()
    next_slot: datetime | None
    """The first slot that is not accounted for here; None when the schedule has ended."""
    sequential: bool = False
    """One missed slot of an ALL catch-up fires; nothing else may until its chain has ended."""
    unfinished: bool = False
    """Due slots are left; account again from `next_slot`."""


def account(trigger: Trigger, *, first: datetime, now: datetime, rule: CatchUp) -> Accounting:
    """Account for the due slots: `first`, the oldest without a row, and those of `trigger` that follow it."""
    boundary = now - timedelta(milliseconds=rule.grace_ms)
    if first >= boundary:
        return _fresh_from(trigger, first, now)
    missed = _missed_slots(trigger, first, boundary, _needed(rule))
    split = _kept_from(missed, now, rule)
    skipped = _span(missed, split)
    sequential = rule.policy is CatchUpPolicy.ALL and split < len(missed) and (missed.complete or rule.keep is None)
    if sequential:
        oldest = missed[split]
        fire = (Fire(slot=oldest, missed=True),)
        return Accounting(skipped=skipped, fire=fire, next_slot=next_slot(trigger, oldest), sequential=True)
    if not missed.complete:
        following = missed[split] if split < len(missed) else next_slot(trigger, missed.last)
        return Accounting(skipped=skipped, next_slot=following, unfinished=True)
    kept = tuple(Fire(slot=missed[at], missed=True) for at in range(split, len(missed)))
    return _with_fresh(trigger, missed.last, boundary, now, skipped, kept)


def _fresh_from(trigger: Trigger, first: datetime, now: datetime) -> Accounting:
    if first > now:
        return Accounting(next_slot=first)
    return _with_fresh(trigger, first, first, now, None, (Fire(slot=first, missed=False),))


def _with_fresh(
    trigger: Trigger,
    last: datetime,
    boundary: datetime,
    now: datetime,
    skipped: Span | None,
    kept: tuple[Fire, ...],
) -> Accounting:
    """Everything up to `last` is judged; the later slots up to `now` are fresh and fire."""
    fresh = slots_between(trigger, max(last, boundary - INSTANT), now, MAX_ENUMERATED)
    fire = kept + tuple(Fire(slot=slot, missed=False) for slot in fresh.slots)
    following = next_slot(trigger, fresh.slots[-1] if fresh.slots else last)
    return Accounting(skipped=skipped, fire=fire, next_slot=following, unfinished=fresh.truncated)


def _needed(rule: CatchUp) -> int:
    """How many missed cron slots must be seen for a claim to move on, whatever the limit."""
    if rule.policy is CatchUpPolicy.ALL and rule.limit is None and rule.window_ms is None:
        return 1
    return MAX_ENUMERATED + (rule.keep or 0)


def _kept_from(missed: _Missed, now: datetime, rule: CatchUp) -> int:
    """The index of the oldest missed slot that may still run."""
    by_limit = 0 if rule.keep is None else max(0, len(missed) - rule.keep)
    by_window = 0
    if rule.window_ms is not None:
        by_window = bisect_left(missed, now - timedelta(milliseconds=rule.window_ms))
    return max(by_limit, by_window)


def _span(missed: _Missed, split: int) -> Span | None:
    return Span(first=missed[0], last=missed[split - 1], count=split) if split else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Missed:
    """The missed slots in order, by index. Interval slots are computed on demand: a year of seconds costs nothing."""

    first: datetime
    rest: Span | tuple[datetime, ...]
    step: timedelta
    complete: bool
    """When not, later missed slots exist that were not looked at."""

    def __len__(self) -> int:
        return 1 + (self.rest.count if isinstance(self.rest, Span) else len(self.rest))

    def __getitem__(self, index: int) -> datetime:
        if index == 0:
            return self.first
        return self.rest.first + self.step * (index - 1) if isinstance(self.rest, Span) else self.rest[index - 1]

    @property
    def last(self) -> datetime:
        return self[len(self) - 1]


def _missed_slots(trigger: Trigger, first: datetime, boundary: datetime, cap: int) -> _Missed:
    until = boundary - INSTANT
    if isinstance(trigger, IntervalTrigger):
        rest = count_between(trigger, first, until) or ()
        step = timedelta(milliseconds=trigger.interval_ms)
        return _Missed(first=first, rest=rest, step=step, complete=True)
    found = slots_between(trigger, first, until, cap - 1)
    return _Missed(first=first, rest=found.slots, step=timedelta(0), complete=not found.truncated)
