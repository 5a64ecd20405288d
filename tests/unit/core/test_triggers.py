"""Slots of triggers: later than asked, bounded, without drift, the same in pieces as at once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from routines_app.core.triggers import (
    CronTrigger,
    IntervalTrigger,
    ManualTrigger,
    Span,
    count_between,
    next_slot,
    slots_between,
)
from tests.unit.core.strategies import bounded_triggers, instants, interval_triggers, milliseconds

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@given(bounded_triggers(), instants)
def test_the_next_slot_is_later_and_within_the_bounds(trigger: CronTrigger | IntervalTrigger, after: datetime) -> None:
    """Whatever the trigger, a slot is strictly later than asked, not before the start, not after the end."""
    slot = next_slot(trigger, after)
    if slot is None:
        assert trigger.end_at is not None
        return
    assert slot > after
    assert trigger.start_at is None or slot >= trigger.start_at
    assert trigger.end_at is None or slot <= trigger.end_at


@given(bounded_triggers(), milliseconds, st.lists(st.timedeltas(timedelta(0), timedelta(days=2)), max_size=4))
def test_slots_in_pieces_are_the_slots_at_once(
    trigger: CronTrigger | IntervalTrigger, after: datetime, pieces: list[timedelta]
) -> None:
    """Where a beat stops and another goes on makes no difference to the slots."""
    until = after + sum(pieces, timedelta(0))
    whole = slots_between(trigger, after, until, limit=3_000)
    assume(not whole.truncated)
    parts: list[datetime] = []
    for piece in pieces:
        parts += slots_between(trigger, after, after + piece, limit=3_000).slots
        after += piece
    assert tuple(parts) == whole.slots


@given(interval_triggers, st.integers(0, 10_000))
def test_an_interval_never_drifts(trigger: IntervalTrigger, steps: int) -> None:
    """Each slot is the anchor plus a whole number of intervals, however many have passed."""
    interval = timedelta(milliseconds=trigger.interval_ms)
    expected = trigger.anchor + steps * interval
    assert next_slot(trigger, expected - timedelta(microseconds=1)) == expected
    assert next_slot(trigger, expected) == expected + interval


@given(bounded_triggers(), milliseconds, st.timedeltas(timedelta(0), timedelta(days=2)))
def test_counting_agrees_with_listing(
    trigger: CronTrigger | IntervalTrigger, after: datetime, length: timedelta
) -> None:
    """The arithmetic and the enumeration give the same span."""
    listed = slots_between(trigger, after, after + length, limit=3_000)
    assume(not listed.truncated)
    counted = count_between(trigger, after, after + length)
    if not listed.slots:
        assert counted is None
    else:
        assert counted == Span(first=listed.slots[0], last=listed.slots[-1], count=len(listed.slots))


def test_the_anchor_is_the_first_slot_of_an_interval() -> None:
    """A routine with a start fires at its start."""
    trigger = IntervalTrigger(interval_ms=60_000, anchor=NOON)
    assert next_slot(trigger, NOON - HOUR) == NOON


@pytest.mark.parametrize(
    "trigger",
    [
        CronTrigger(expression="0 * * * *", timezone="UTC", start_at=NOON, end_at=NOON + HOUR),
        IntervalTrigger(interval_ms=3_600_000, anchor=NOON - 5 * HOUR, start_at=NOON, end_at=NOON + HOUR),
    ],
)
def test_start_and_end_are_themselves_slots(trigger: CronTrigger | IntervalTrigger) -> None:
    """Both bounds are inclusive, and after the end there is nothing."""
    assert slots_between(trigger, NOON - 9 * HOUR, NOON + 9 * HOUR).slots == (NOON, NOON + HOUR)
    assert next_slot(trigger, NOON + HOUR) is None


def test_a_start_between_slots_waits_for_the_grid() -> None:
    """A start that is not a slot does not move the slots."""
    trigger = IntervalTrigger(interval_ms=3_600_000, anchor=NOON, start_at=NOON + timedelta(minutes=90))
    assert next_slot(trigger, NOON) == NOON + 2 * HOUR


def test_a_year_of_seconds_is_counted_at_once() -> None:
    """Thirty-one million slots cost no more than one."""
    trigger = IntervalTrigger(interval_ms=1_000, anchor=NOON)
    span = count_between(trigger, NOON, NOON + timedelta(days=365))
    assert span == Span(first=NOON + timedelta(seconds=1), last=NOON + timedelta(days=365), count=365 * 86_400)


def test_a_long_list_says_that_it_is_cut() -> None:
    """The cap is visible, and what is listed is the beginning."""
    trigger = CronTrigger(expression="* * * * *", timezone="UTC")
    cut = slots_between(trigger, NOON, NOON + HOUR, limit=2)
    assert cut.truncated
    assert cut.slots == (NOON + timedelta(minutes=1), NOON + timedelta(minutes=2))
    assert not slots_between(trigger, NOON, NOON + HOUR, limit=60).truncated


def test_a_manual_routine_has_no_slots() -> None:
    """It fires when asked, never by itself."""
    assert next_slot(ManualTrigger(), NOON) is None
    assert slots_between(ManualTrigger(), NOON, NOON + HOUR).slots == ()
    assert count_between(ManualTrigger(), NOON, NOON + HOUR) is None


def test_an_interval_ends_with_the_calendar() -> None:
    """The last representable moment is an end, not an exception."""
    trigger = IntervalTrigger(interval_ms=86_400_000, anchor=datetime(9999, 12, 31, tzinfo=UTC))
    assert next_slot(trigger, datetime(9999, 12, 31, tzinfo=UTC)) is None
