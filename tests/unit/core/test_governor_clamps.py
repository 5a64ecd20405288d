"""The governor's clamps, and the bounds of a schedule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from routines_app.core.governor import Plan, PlanState, plan_next
from routines_app.core.triggers import CronTrigger, IntervalTrigger
from routines_app.core.words import Source
from tests.unit.core.test_governor import EVERY_10_MIN, HOUR, HOURLY, MANUAL, MINUTE, NOON, hinted


def test_the_lower_clamp_takes_the_first_slot_that_is_far_enough_away() -> None:
    """So that the grid stays."""
    slow = replace(EVERY_10_MIN, min_interval_ms=900_000)
    assert plan_next(slow, NOON, NOON) == Plan(NOON + 10 * MINUTE, Source.BASELINE_INTERVAL), (
        "no slot to keep away from"
    )
    clamped = replace(slow, clamps_from=NOON)
    assert plan_next(clamped, NOON, NOON) == Plan(NOON + 20 * MINUTE, Source.CLAMPED_MIN)
    far = replace(slow, clamps_from=NOON - 5 * MINUTE)
    assert plan_next(far, NOON, NOON) == Plan(NOON + 10 * MINUTE, Source.BASELINE_INTERVAL)
    cron = PlanState(trigger=CronTrigger(expression="*/10 * * * *", timezone="UTC"), min_interval_ms=600_000)
    after_oneshot = replace(cron, clamps_from=NOON + 7 * MINUTE)
    assert plan_next(after_oneshot, NOON + 7 * MINUTE, NOON) == Plan(NOON + 20 * MINUTE, Source.CLAMPED_MIN)


def test_the_lower_clamp_binds_hints() -> None:
    """A pace is held to it; a one-shot that is too close is served by the next slot, or the clamp makes one."""
    slow = replace(HOURLY, min_interval_ms=600_000, clamps_from=NOON)
    fast = hinted(slow, interval=MINUTE)
    assert plan_next(fast, NOON, NOON) == Plan(NOON + 10 * MINUTE, Source.CLAMPED_MIN)
    beyond = hinted(slow, interval=MINUTE, until=NOON + 9 * MINUTE)
    assert plan_next(beyond, NOON, NOON) == Plan(NOON + HOUR, Source.BASELINE_CRON)
    every_slot = replace(hinted(EVERY_10_MIN, factor=1.0), min_interval_ms=900_000, clamps_from=NOON)
    assert plan_next(every_slot, NOON, NOON) == Plan(NOON + 20 * MINUTE, Source.CLAMPED_MIN)
    close = hinted(slow, at=NOON + MINUTE)
    assert plan_next(close, NOON, NOON) == Plan(NOON + HOUR, Source.BASELINE_CRON)
    alone = replace(MANUAL, min_interval_ms=600_000, clamps_from=NOON)
    assert plan_next(hinted(alone, at=NOON), NOON, NOON) == Plan(NOON + 10 * MINUTE, Source.CLAMPED_MIN)
    over = hinted(alone, at=NOON, until=NOON + 9 * MINUTE)
    assert plan_next(over, NOON, NOON) == Plan(None, Source.MANUAL)


def test_a_one_shot_that_is_too_close_is_served_before_it_expires_or_not_at_all() -> None:
    """By a slot far enough away that comes in time; else as soon as the clamp allows, if that is in time."""
    slow = replace(HOURLY, min_interval_ms=600_000, clamps_from=NOON)
    for until, plan in (
        (NOON + HOUR, Plan(NOON + HOUR, Source.BASELINE_CRON)),
        (NOON + 59 * MINUTE, Plan(NOON + 10 * MINUTE, Source.CLAMPED_MIN)),
        (NOON + 10 * MINUTE, Plan(NOON + 10 * MINUTE, Source.CLAMPED_MIN)),
        (NOON + 9 * MINUTE, Plan(NOON + HOUR, Source.BASELINE_CRON)),
    ):
        assert plan_next(hinted(slow, at=NOON + MINUTE, until=until), NOON, NOON) == plan


def test_a_one_shot_is_not_moved_past_its_expiry_by_a_slot_that_has_its_row() -> None:
    """A beat whose clock is ahead has claimed one that is later than the hint."""
    ahead = replace(HOURLY, clamps_from=NOON + 5 * MINUTE)
    late = hinted(ahead, at=NOON + MINUTE, until=NOON + 4 * MINUTE)
    assert plan_next(late, NOON, NOON) == Plan(NOON + HOUR, Source.BASELINE_CRON)


def test_the_upper_clamp_pulls_towards_the_last_slot_but_not_into_the_past() -> None:
    """A slot that is already due stays what it is."""
    fast = replace(EVERY_10_MIN, max_interval_ms=300_000, clamps_from=NOON)
    assert plan_next(fast, NOON, NOON) == Plan(NOON + 5 * MINUTE, Source.CLAMPED_MAX)
    assert plan_next(fast, NOON + 8 * MINUTE, NOON) == Plan(NOON + 8 * MINUTE, Source.CLAMPED_MAX)
    assert plan_next(fast, NOON + HOUR, NOON) == Plan(NOON + 10 * MINUTE, Source.BASELINE_INTERVAL)
    assert plan_next(replace(fast, clamps_from=None), NOON, NOON).source is Source.BASELINE_INTERVAL


@pytest.mark.parametrize(
    ("trigger", "source"),
    [
        (CronTrigger(expression="0 * * * *", timezone="UTC", start_at=NOON + HOUR), Source.BASELINE_CRON),
        (
            IntervalTrigger(interval_ms=600_000, anchor=NOON + HOUR, start_at=NOON + HOUR),
            Source.BASELINE_INTERVAL,
        ),
    ],
)
def test_before_the_start_the_first_slot_is_next(trigger: CronTrigger | IntervalTrigger, source: Source) -> None:
    """Neither hints nor clamps bring a routine forward to before its start."""
    first = Plan(NOON + HOUR, source)
    state = PlanState(trigger=trigger)
    assert plan_next(state, NOON, NOON) == first
    assert plan_next(hinted(state, at=NOON + MINUTE), NOON, NOON) == first
    clamped = replace(state, max_interval_ms=60_000, min_interval_ms=1, clamps_from=NOON)
    assert plan_next(clamped, NOON, NOON) == first


def test_after_the_end_nothing_is_planned() -> None:
    """The end is inclusive; past it the source says `ended`, hints or not."""
    cron = PlanState(trigger=CronTrigger(expression="0 * * * *", timezone="UTC", end_at=NOON + HOUR))
    assert plan_next(cron, NOON, NOON) == Plan(NOON + HOUR, Source.BASELINE_CRON)
    assert plan_next(cron, NOON, NOON + HOUR) == Plan(None, Source.ENDED)
    late = hinted(cron, at=NOON + 2 * HOUR)
    assert plan_next(late, NOON, NOON + HOUR) == Plan(None, Source.ENDED)
    interval = PlanState(trigger=IntervalTrigger(interval_ms=600_000, anchor=NOON, end_at=NOON + 15 * MINUTE))
    assert plan_next(interval, NOON, NOON + 10 * MINUTE) == Plan(None, Source.ENDED)
