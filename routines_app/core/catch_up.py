"""Catch-up: what happens to the slots that nobody fired in time.

A slot older than the grace when it is claimed is missed. SKIP keeps none of the missed slots, and of those that
are due within the grace only the newest; LAST keeps the newest missed one, ALL every one, oldest first and one at
a time; window and limit narrow what is kept. What is not kept becomes one span for the ledger. Each due slot ends
up in exactly one place: skipped, fired, or from `next_slot` on.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from routines_app.core.triggers import (
    INSTANT,
    MAX_ENUMERATED,
    Span,
    Trigger,
    count_between,
    next_slot,
    slot_at,
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
        """How many missed slots LAST and ALL may still run; None means all."""
        if self.policy is CatchUpPolicy.LAST:
            return 1 if self.limit is None else min(1, self.limit)
        return self.limit


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


def account(trigger: Trigger, *, first: datetime, now: datetime, rule: CatchUp) -> Accounting:
    """Account for the due slots: `first`, the oldest without a row, and those of `trigger` that follow it."""
    if first > now:
        return Accounting(next_slot=first)
    boundary = now - timedelta(milliseconds=rule.grace_ms)
    if rule.policy is CatchUpPolicy.SKIP:
        return _newest_only(trigger, first, boundary, now)
    if first >= boundary:
        return _with_fresh(trigger, first, first, now, None, (Fire(slot=first, missed=False),))
    missed = _Missed(trigger=trigger, first=first, rest=count_between(trigger, first, boundary - INSTANT))
    split = _kept_from(missed, now, rule)
    skipped = _span(missed, split)
    if rule.policy is CatchUpPolicy.ALL and split < len(missed):
        oldest = missed[split]
        fire = (Fire(slot=oldest, missed=True),)
        return Accounting(skipped=skipped, fire=fire, next_slot=next_slot(trigger, oldest), sequential=True)
    kept = tuple(Fire(slot=missed[at], missed=True) for at in range(split, len(missed)))
    return _with_fresh(trigger, missed.last, boundary, now, skipped, kept)


def _newest_only(trigger: Trigger, first: datetime, boundary: datetime, now: datetime) -> Accounting:
    """SKIP, however many are due: what a slot was for, the newer one does, and nobody wants a burst of both."""
    rest = count_between(trigger, first, now)
    newest = first if rest is None else rest.last
    following = next_slot(trigger, newest)
    if newest < boundary:
        return Accounting(skipped=_first_and(first, rest), next_slot=following)
    older = None if rest is None else _first_and(first, count_between(trigger, first, newest - INSTANT))
    return Accounting(skipped=older, fire=(Fire(slot=newest, missed=False),), next_slot=following)


def _first_and(first: datetime, rest: Span | None) -> Span:
    """One span of `first`, which may be off the schedule's grid, and of what follows it."""
    if rest is None:
        return Span(first=first, last=first, count=1)
    return Span(first=first, last=rest.last, count=1 + rest.count)


def _with_fresh(
    trigger: Trigger,
    last: datetime,
    boundary: datetime,
    now: datetime,
    skipped: Span | None,
    kept: tuple[Fire, ...],
) -> Accounting:
    """Everything up to `last` is judged; the later slots up to `now` are fresh and fire.

    Each of them is a row of its own: when there are very many, the next claim goes on from `next_slot`.
    """
    fresh = slots_between(trigger, max(last, boundary - INSTANT), now, MAX_ENUMERATED)
    fire = kept + tuple(Fire(slot=slot, missed=False) for slot in fresh.slots)
    following = next_slot(trigger, fresh.slots[-1] if fresh.slots else last)
    return Accounting(skipped=skipped, fire=fire, next_slot=following)


def _kept_from(missed: _Missed, now: datetime, rule: CatchUp) -> int:
    """The index of the oldest missed slot that may still run."""
    by_limit = 0 if rule.keep is None else max(0, len(missed) - rule.keep)
    by_window = 0 if rule.window_ms is None else missed.count_before(now - timedelta(milliseconds=rule.window_ms))
    return max(by_limit, by_window)


def _span(missed: _Missed, split: int) -> Span | None:
    return Span(first=missed[0], last=missed[split - 1], count=split) if split else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Missed:
    """The missed slots in order, by place. They are counted, and only those that are asked for are computed."""

    trigger: Trigger
    first: datetime
    rest: Span | None

    def __len__(self) -> int:
        return 1 + (0 if self.rest is None else self.rest.count)

    def __getitem__(self, place: int) -> datetime:
        return self.first if place == 0 or self.rest is None else slot_at(self.trigger, self.rest, place - 1)

    @property
    def last(self) -> datetime:
        return self.first if self.rest is None else self.rest.last

    def count_before(self, moment: datetime) -> int:
        if moment <= self.first:
            return 0
        earlier = count_between(self.trigger, self.first, moment - INSTANT)
        return min(len(self), 1 + (0 if earlier is None else earlier.count))
