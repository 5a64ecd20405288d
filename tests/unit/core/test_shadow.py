"""Two schedulers compared: which fire stands for which slot, and from where on slots are ours."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routines_app.core.shadow import Compared, compare, goes_on_from, stands_until, tolerance_of
from routines_app.core.triggers import CronTrigger, IntervalTrigger

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
CRON = CronTrigger(expression="* * * * *", timezone="UTC")
EVERY = IntervalTrigger(interval_ms=60_000, anchor=NOON)

moments = st.lists(st.integers(0, 3_600_000).map(lambda ms: NOON + timedelta(milliseconds=ms)), max_size=60)
triggers = st.sampled_from([CRON, EVERY])
lates = st.floats(0, 59, allow_nan=False).map(lambda seconds: timedelta(seconds=seconds))


def minutes(count: int) -> list[datetime]:
    return [NOON + place * MINUTE for place in range(count)]


def found(slots: list[datetime], fires: list[datetime], trigger: CronTrigger | IntervalTrigger) -> list[Compared]:
    return list(compare(slots, fires, tolerance_of(trigger)))


@given(moments, moments, triggers)
def test_each_slot_and_each_fire_is_told_once(slots, fires, trigger) -> None:
    """Whatever they are, in their order."""
    slots, fires = sorted(set(slots)), sorted(fires)
    pairs = found(slots, fires, trigger)
    assert [pair.slot for pair in pairs if pair.slot is not None] == slots
    assert [pair.fired_at for pair in pairs if pair.fired_at is not None] == fires
    assert all(pair.at in (pair.slot, pair.fired_at) for pair in pairs)


@given(moments, moments, triggers)
def test_a_pair_is_within_the_tolerance(slots, fires, trigger) -> None:
    tolerance = tolerance_of(trigger)
    for pair in found(sorted(set(slots)), sorted(fires), trigger):
        if pair.lateness is not None:
            assert -tolerance.early <= pair.lateness <= tolerance.late


@given(st.lists(lates, min_size=1, max_size=30), st.data())
def test_of_a_cron_exactly_what_was_not_fired_is_missing(late, data) -> None:
    """However late the others are, as long as it is before the next slot."""
    slots = minutes(len(late))
    lost = data.draw(st.sets(st.sampled_from(slots)))
    fires = [slot + after for slot, after in zip(slots, late, strict=True) if slot not in lost]
    pairs = found(slots, fires, CRON)
    assert {pair.slot for pair in pairs if pair.fired_at is None} == lost
    assert not any(pair.slot is None or pair.slid for pair in pairs)


def test_what_a_cron_fires_twice_is_told_as_an_extra_fire() -> None:
    """Two old beats, say."""
    twice = [NOON, NOON + timedelta(seconds=1)]
    assert found(minutes(2), [*twice, NOON + MINUTE], CRON) == [
        Compared(slot=NOON, fired_at=NOON),
        Compared(slot=None, fired_at=twice[1]),
        Compared(slot=NOON + MINUTE, fired_at=NOON + MINUTE),
    ]


def test_a_daily_cron_in_another_timezone_is_no_pair() -> None:
    """Two hours are no lateness."""
    fire = NOON + timedelta(hours=2)
    assert [(pair.slot, pair.fired_at) for pair in found([NOON], [fire], CRON)] == [(NOON, None), (None, fire)]


@given(st.floats(-0.59, 0.59), st.lists(st.floats(0, 0.1), min_size=2, max_size=40))
def test_an_interval_that_slides_has_lost_nothing(phase, slides) -> None:
    """From any phase; each fire comes an interval and a little after the one before."""
    fires = [NOON + phase * MINUTE]
    for slide in slides:
        fires.append(fires[-1] + (1 + slide) * MINUTE)
    covered = [slot for slot in minutes(80) if slot <= fires[-1]]
    pairs = found(covered, fires, EVERY)
    assert not any(pair.slot is not None and pair.fired_at is None and not pair.slid for pair in pairs)


@given(st.floats(-0.39, 0.59), st.integers(1, 8))
def test_an_interval_that_lost_a_fire_is_told(phase, lost) -> None:
    """The gap is two intervals wide."""
    fires = [slot + phase * MINUTE for slot in minutes(10)]
    del fires[lost]
    alone = [pair for pair in found(minutes(10), fires, EVERY) if pair.fired_at is None]
    assert [(pair.slot, pair.slid) for pair in alone] == [(NOON + lost * MINUTE, False)]


def test_at_its_ends_nobody_knows_what_an_interval_has_lost() -> None:
    pairs = found(minutes(2), [], EVERY)
    assert [pair.slid for pair in pairs] == [False, False]


def test_neither_is_nothing() -> None:
    with pytest.raises(ValueError, match="neither"):
        _ = Compared(slot=None, fired_at=None).at


def test_slots_after_the_last_fire_are_ours() -> None:
    """A cron's from before the move never were; an interval goes on from its fires, by whole intervals."""
    before = NOON - timedelta(seconds=150)
    assert goes_on_from(CRON, NOON, NOON - MINUTE) == NOON
    assert goes_on_from(CRON, before, NOON) == NOON
    assert goes_on_from(EVERY, before, NOON) == before + 2 * MINUTE
    assert stands_until(CRON, NOON) == NOON
    assert stands_until(EVERY, NOON) == NOON + MINUTE / 2
