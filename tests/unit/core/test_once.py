"""One moment: it is one slot, whatever is hinted, clamped or missed, and it is accounted for once."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routines_app.core.catch_up import CatchUp
from routines_app.core.firing import Firing, decide_claim, decide_firing
from routines_app.core.governor import Plan, PlanState, pace_hint, plan_next, without_hints
from routines_app.core.owed import Due
from routines_app.core.triggers import (
    INSTANT,
    OnceTrigger,
    Slots,
    Span,
    count_between,
    next_slot,
    slot_at,
    slots_between,
)
from routines_app.core.words import CatchUpPolicy, HintKind, Reason, RoutineStatus, Source
from tests.unit.core.strategies import instants, milliseconds

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
AT_NOON = OnceTrigger(at=NOON)

durations = st.none() | st.integers(1_000, 10**9)
moments = st.none() | milliseconds
steps = st.timedeltas(timedelta(0), timedelta(days=3))
rules = st.builds(
    CatchUp,
    policy=st.sampled_from(CatchUpPolicy),
    grace_ms=st.integers(0, 10**8),
    window_ms=durations,
    limit=st.none() | st.integers(1, 5),
)
# Everything but a one-shot: what else a routine may have been given.
states = st.builds(
    PlanState,
    trigger=st.builds(OnceTrigger, at=instants),
    failure_count=st.integers(0, 50),
    min_interval_ms=durations,
    max_interval_ms=durations,
    clamps_from=moments,
    hint_interval_ms=durations,
    hint_interval_expires_at=moments,
    hint_factor=st.none() | st.sampled_from([0.01, 0.5, 2.0, 7.0]),
    hint_factor_expires_at=moments,
)


@given(instants, st.timedeltas(timedelta(days=-4), timedelta(days=1)), st.lists(steps, max_size=5))
def test_however_the_time_is_cut_it_is_in_one_piece(at: datetime, begin: timedelta, pieces: list[timedelta]) -> None:
    """Where one beat stops, another goes on: none of them sees it twice, and none misses it."""
    trigger, after, found = OnceTrigger(at=at), at + begin, list[datetime]()
    for piece in pieces:
        listed = slots_between(trigger, after, after + piece)
        counted = count_between(trigger, after, after + piece)
        assert counted == (Span(first=at, last=at, count=1) if listed.slots else None)
        found += listed.slots
        after += piece
    assert found == ([at] if at + begin < at <= after else [])


@given(instants, instants)
def test_it_is_the_next_slot_until_it_comes(at: datetime, after: datetime) -> None:
    assert next_slot(OnceTrigger(at=at), after) == (at if at > after else None)


@given(instants, moments, moments)
def test_bounds_leave_it_where_it_is_or_take_it_away(
    at: datetime, start: datetime | None, end: datetime | None
) -> None:
    """Both are inclusive, as of every trigger."""
    found = next_slot(OnceTrigger(at=at, start_at=start, end_at=end), at - INSTANT)
    within = (start is None or start <= at) and (end is None or at <= end)
    assert found == (at if within else None)


def test_the_only_slot_of_a_span_is_that_moment() -> None:
    assert slot_at(AT_NOON, Span(first=NOON, last=NOON, count=1), 0) == NOON


def test_it_is_counted_where_it_is_and_nowhere_else() -> None:
    assert count_between(AT_NOON, NOON - HOUR, NOON) == Span(first=NOON, last=NOON, count=1)
    assert count_between(AT_NOON, NOON, NOON + HOUR) is None


def test_there_is_nothing_to_list_behind_it() -> None:
    assert slots_between(AT_NOON, NOON, NOON + HOUR) == Slots(slots=(), truncated=False)


@given(states, instants, instants)
def test_hints_about_the_pace_clamps_and_failures_say_nothing_about_it(
    state: PlanState, now: datetime, anchor: datetime
) -> None:
    """There is no distance to another slot that they could change."""
    assert isinstance(state.trigger, OnceTrigger)
    at = state.trigger.at
    expected = Plan(at, Source.BASELINE_ONCE) if at > anchor else Plan(None, Source.ENDED)
    assert plan_next(state, now, anchor) == expected
    assert pace_hint(state) is None
    assert state.earliest is None


@given(states, milliseconds, steps, instants)
def test_a_one_shot_before_it_comes_first_and_leaves_it_alone(
    state: PlanState, hinted: datetime, life: timedelta, now: datetime
) -> None:
    """One more fire: whichever is earlier, and the other one afterwards."""
    assert isinstance(state.trigger, OnceTrigger)
    at, anchor = state.trigger.at, now - HOUR
    state = replace(state, hint_next_at=hinted, hint_next_expires_at=hinted + life, clamps_from=None)
    found = plan_next(state, now, anchor)
    own = plan_next(without_hints(state, (HintKind.NEXT,)), now, anchor)
    if found.source is Source.HINT_ONESHOT:
        assert found.next_run_at == max(now, hinted)
        assert own.next_run_at is None or found.next_run_at <= own.next_run_at
    else:
        assert found == own == (Plan(at, Source.BASELINE_ONCE) if at > anchor else Plan(None, Source.ENDED))


@pytest.mark.parametrize("status", [RoutineStatus.PAUSED, RoutineStatus.PARKED, RoutineStatus.ARCHIVED])
def test_a_status_decides_alone(status: RoutineStatus) -> None:
    plan = plan_next(PlanState(trigger=AT_NOON, status=status), NOON - HOUR, NOON - HOUR)
    assert plan == Plan(None, Source(status.lower()))


def due(state: PlanState, rule: CatchUp, slot: datetime, source: Source, last: datetime) -> Due:
    return Due(plan=state, rule=rule, last_slot=last, next_slot=slot, source=source)


@given(states, rules, st.timedeltas(timedelta(0), timedelta(days=400)))
def test_however_late_it_ends_in_one_place(state: PlanState, rule: CatchUp, late: timedelta) -> None:
    """Fired or skipped as missed, and the schedule has ended."""
    assert isinstance(state.trigger, OnceTrigger)
    at = state.trigger.at
    firing = decide_claim(due(state, rule, at, Source.BASELINE_ONCE, at - HOUR), at + late)
    assert accounted(firing) == [at]
    assert all(each.reason is Reason.MISFIRE for each in firing.skipped)
    assert (firing.last_slot, firing.next_slot, firing.next_run_at, firing.source) == (at, None, None, Source.ENDED)
    assert not firing.sequential
    is_missed = late > timedelta(milliseconds=rule.grace_ms)
    assert not (firing.skipped and not is_missed)
    assert not (firing.fire and is_missed and rule.policy is CatchUpPolicy.SKIP)


def accounted(firing: Firing) -> list[datetime]:
    return [fire.slot for fire in firing.fire] + [each.span.first for each in firing.skipped]


@given(instants, st.none() | steps, steps, rules, st.lists(steps, min_size=1, max_size=6))
def test_looks_at_any_time_come_to_one_row_for_it(
    at: datetime, hinted: timedelta | None, life: timedelta, rule: CatchUp, looks: list[timedelta]
) -> None:
    """Also with a one-shot before it, at it or after it, in time or over: each slot has one row, one of them is it."""
    now = last = at - timedelta(days=4)
    state = PlanState(trigger=OnceTrigger(at=at))
    if hinted is not None:
        state = replace(state, hint_next_at=now + hinted, hint_next_expires_at=now + hinted + life)
    plan, found = plan_next(state, now, last), list[datetime]()
    for look in [*looks, timedelta(days=400)]:
        now += look
        while plan.next_run_at is not None and plan.next_run_at <= now:
            firing = decide_firing(due(state, rule, plan.next_run_at, plan.source, last), now)
            found += accounted(firing)
            dropped = (*firing.expired, *([HintKind.NEXT] if firing.uses_up_oneshot else []))
            state = replace(without_hints(state, dropped), clamps_from=firing.clamps_from)
            last, plan = firing.last_slot, Plan(firing.next_run_at, firing.source)
    assert found.count(at) == 1
    assert len(set(found)) == len(found) <= 2
    assert plan == Plan(None, Source.ENDED)
