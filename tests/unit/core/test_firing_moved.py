"""Firing where a hint or a clamp goes past slots of the schedule: whatever it leaves behind is accounted for once."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from routines_app.core.catch_up import CatchUp
from routines_app.core.firing import Firing, decide_claim, decide_firing
from routines_app.core.governor import PlanState
from routines_app.core.owed import Due
from routines_app.core.triggers import CronTrigger, IntervalTrigger
from routines_app.core.words import CatchUpPolicy, HintKind, Reason, Source
from tests.unit.core.test_firing import HOUR, MANUAL, MINUTE, NOON, SECOND, SKIP, slots

TENS = PlanState(trigger=CronTrigger(expression="*/10 * * * *", timezone="UTC"))
EVERY_TEN = PlanState(trigger=IntervalTrigger(interval_ms=600_000, anchor=NOON))
SLOW = {"hint_interval_ms": 2_100_000, "hint_interval_expires_at": NOON + 3 * HOUR}  # 35 minutes


def at(minutes: float) -> datetime:
    return NOON + minutes * MINUTE


def due(plan: PlanState, source: Source, minutes: float, rule: CatchUp = SKIP) -> Due:
    return Due(plan=plan, rule=rule, last_slot=NOON, next_slot=at(minutes), source=source)


def oneshot(plan: PlanState, minutes: float, until: float) -> PlanState:
    return replace(plan, hint_next_at=at(minutes), hint_next_expires_at=at(until))


def spans(firing: Firing) -> list[tuple[Reason, float, float, int]]:
    """Reason, first and last minute and count of what is skipped."""
    return [
        (each.reason, (each.span.first - NOON) / MINUTE, (each.span.last - NOON) / MINUTE, each.span.count)
        for each in firing.skipped
    ]


@pytest.mark.parametrize(
    ("minutes", "passed"), [(10, []), (20, [(Reason.SUPERSEDED, 10, 10, 1)]), (30, [(Reason.SUPERSEDED, 10, 20, 2)])]
)
def test_a_one_shot_on_a_slot_that_a_slow_pace_goes_past_stands_for_it(minutes: int, passed: list[object]) -> None:
    """No later row for what was gone past has that slot: the pace counts on from there."""
    plan = oneshot(replace(TENS, **SLOW), minutes, 120)
    firing = decide_firing(due(plan, Source.HINT_ONESHOT, minutes), at(minutes) + SECOND)
    assert (slots(firing), spans(firing)) == ([at(minutes)], passed)
    assert (firing.last_slot, firing.next_slot) == (at(minutes), at(minutes + 35))
    later = Due(
        plan=replace(TENS, **SLOW),
        rule=SKIP,
        last_slot=firing.last_slot,
        next_slot=at(minutes + 35),
        source=firing.source,
    )
    assert spans(decide_firing(later, at(minutes + 35))) == [(Reason.SUPERSEDED, minutes + 10, minutes + 30, 3)]


def test_an_expired_one_shot_on_a_slot_that_a_slow_pace_goes_past_stands_for_it() -> None:
    """It was announced, so it has its row, and no other."""
    plan = oneshot(replace(TENS, **SLOW), 20, 21)
    firing = decide_firing(due(plan, Source.HINT_ONESHOT, 20), at(25))
    assert (firing.fire, spans(firing)) == ((), [(Reason.EXPIRED, 20, 20, 1), (Reason.SUPERSEDED, 10, 10, 1)])
    assert (firing.last_slot, firing.expired) == (at(20), (HintKind.NEXT,))


@pytest.mark.parametrize("plan", [TENS, EVERY_TEN])
def test_a_one_shot_between_the_slots_moves_nothing(plan: PlanState) -> None:
    """Nor does one on a slot of an interval that a slow pace goes past: nobody expects that slot."""
    for minutes in (15, *([20] if plan is EVERY_TEN else [])):
        hinted = oneshot(replace(plan, **SLOW), minutes, 120)
        firing = decide_firing(due(hinted, Source.HINT_ONESHOT, minutes), at(minutes))
        assert (slots(firing), firing.skipped, firing.last_slot) == ([at(minutes)], (), NOON)
        assert firing.next_slot == at(35)


def test_a_slot_that_has_its_row_is_not_accounted_for_again() -> None:
    """A one-shot planned for the last slot itself, by plain SQL, goes past nothing."""
    plan = oneshot(replace(TENS, **SLOW), 0, 120)
    firing = decide_firing(due(plan, Source.HINT_ONESHOT, 0), at(1))
    assert (firing.skipped, firing.last_slot) == ((), NOON)


def test_a_one_shot_that_the_lower_clamp_puts_off_is_an_extra_fire() -> None:
    """It is used up, and neither the grid nor the pace counts from it; a slot that was planned anyway is none."""
    close = replace(EVERY_TEN, min_interval_ms=300_000, clamps_from=NOON, failure_count=2)
    firing = decide_firing(due(oneshot(close, 1, 30), Source.CLAMPED_MIN, 5), at(5))
    assert (slots(firing), firing.last_slot, firing.uses_up_oneshot) == ([at(5)], NOON, True)
    assert (firing.next_slot, firing.source) == (at(40), Source.BASELINE_INTERVAL)
    clamped = replace(EVERY_TEN, min_interval_ms=900_000, clamps_from=NOON)
    own = decide_firing(due(oneshot(clamped, 1, 30), Source.CLAMPED_MIN, 20), at(20))
    assert (slots(own), own.last_slot, own.uses_up_oneshot) == ([at(20)], at(20), True)
    to_come = decide_firing(due(oneshot(clamped, 35, 60), Source.CLAMPED_MIN, 20), at(20))
    assert (to_come.last_slot, to_come.uses_up_oneshot) == (at(20), False)


def test_an_announced_slot_has_a_row_where_the_lower_clamp_refuses_it() -> None:
    """Also an interval's, of which nobody expects the others."""
    rule = CatchUp(policy=CatchUpPolicy.ALL, grace_ms=720_000)
    plan = replace(EVERY_TEN, min_interval_ms=900_000, clamps_from=at(40))
    announced = Due(plan=plan, rule=rule, last_slot=at(40), next_slot=at(50), source=Source.BASELINE_INTERVAL)
    firing = decide_firing(announced, at(61))
    assert (slots(firing), spans(firing)) == ([at(60)], [(Reason.SUPERSEDED, 50, 50, 1)])
    close = replace(plan, min_interval_ms=1_500_000, clamps_from=at(30))
    firing = decide_firing(replace(announced, plan=close), at(61))
    assert (slots(firing), spans(firing)) == ([at(60)], [(Reason.SUPERSEDED, 50, 50, 1)])
    of_cron = replace(announced, plan=replace(TENS, min_interval_ms=1_800_000, clamps_from=at(40)))
    firing = decide_firing(replace(of_cron, source=Source.BASELINE_CRON), at(61))
    assert spans(firing) == [(Reason.SUPERSEDED, 50, 60, 2)]


@pytest.mark.parametrize(
    ("changes", "passed"),
    [
        ({"min_interval_ms": 900_000}, [(Reason.SUPERSEDED, 20, 20, 1)]),
        (SLOW, [(Reason.SUPERSEDED, 20, 20, 1)]),
        ({"min_interval_ms": 600_000}, None),
    ],
)
def test_the_claim_that_ends_a_schedule_settles_what_is_gone_past_until_then(
    changes: dict[str, object], passed: list[object] | None
) -> None:
    """Nobody looks at it again. Whoever leaves the plan for another one leaves these slots to that one."""
    ending = replace(TENS, trigger=replace(TENS.trigger, end_at=at(25)), **changes)
    claimed = decide_claim(due(ending, Source.BASELINE_CRON, 10), at(10))
    left = decide_firing(due(ending, Source.BASELINE_CRON, 10), at(10))
    assert left.skipped == ()
    if passed is None:
        assert claimed == left
        assert claimed.next_slot == at(20)
        return
    assert (claimed.source, claimed.last_slot, spans(claimed)) == (Source.ENDED, at(20), passed)
    assert (slots(claimed), claimed.clamps_from) == ([at(10)], at(10))


def test_a_schedule_that_ends_with_its_last_slot_leaves_nothing() -> None:
    """Nor does one that has no schedule."""
    ending = replace(TENS, trigger=replace(TENS.trigger, end_at=at(15)))
    claimed = decide_claim(due(ending, Source.BASELINE_CRON, 10), at(10))
    assert (claimed.source, claimed.last_slot, claimed.skipped) == (Source.ENDED, at(10), ())
    assert decide_claim(due(MANUAL, Source.CLAMPED_MIN, 10), at(10)).source is Source.MANUAL


def test_a_one_shot_that_is_due_long_after_the_last_slot_is_no_catch_up() -> None:
    """However late the look, until its expiry: its rule is its own."""
    plan = oneshot(replace(TENS, min_interval_ms=60_000, clamps_from=NOON), 0.5, 30)
    firing = decide_firing(due(plan, Source.CLAMPED_MIN, 1), at(9))
    assert [(fire.slot, fire.missed) for fire in firing.fire] == [(at(1), False)]
    assert firing.next_slot == at(10)
    over = decide_firing(due(plan, Source.CLAMPED_MIN, 1), at(31))
    assert (over.fire, spans(over)[0]) == ((), (Reason.EXPIRED, 1, 1, 1))


@pytest.mark.parametrize(("plan", "baseline"), [(TENS, Source.BASELINE_CRON), (EVERY_TEN, Source.BASELINE_INTERVAL)])
@pytest.mark.parametrize(
    ("policy", "fired", "skipped"),
    [
        (CatchUpPolicy.SKIP, [200], (20, 190, 18)),
        (CatchUpPolicy.LAST, [190, 200], (20, 180, 17)),
        (CatchUpPolicy.ALL, [20], None),
    ],
)
def test_catching_up_behind_the_lower_clamp_is_as_without_it(
    plan: PlanState,
    baseline: Source,
    policy: CatchUpPolicy,
    fired: list[float],
    skipped: tuple[float, float, int] | None,
) -> None:
    """From the slot that the clamp chose on, every slot is missed or fresh; the clamp went past those before it."""
    clamped = replace(plan, min_interval_ms=900_000, clamps_from=NOON)
    rule = CatchUp(policy=policy, grace_ms=60_000)
    firing = decide_firing(due(clamped, Source.CLAMPED_MIN, 20, rule), at(200.5))
    assert slots(firing) == [at(minutes) for minutes in fired]
    assert [each for each in spans(firing) if each[0] is Reason.MISFIRE] == (
        [] if skipped is None else [(Reason.MISFIRE, *skipped)]
    )
    passed = [(Reason.SUPERSEDED, 10, 10, 1)] if plan is TENS else []
    assert [each for each in spans(firing) if each[0] is Reason.SUPERSEDED] == passed
    if policy is CatchUpPolicy.ALL:
        assert (firing.sequential, firing.next_slot, firing.slot_source) == (True, at(30), baseline)


def test_a_moment_of_a_clamped_pace_is_missed_alone() -> None:
    """It is none of the trigger's, and until the hint's expiry nothing else is owed."""
    clamped = replace(TENS, **SLOW, min_interval_ms=2_400_000, clamps_from=NOON)
    firing = decide_firing(due(clamped, Source.CLAMPED_MIN, 40), at(100))
    assert spans(firing) == [(Reason.SUPERSEDED, 10, 30, 3), (Reason.MISFIRE, 40, 40, 1)]
    cleared = replace(clamped, hint_interval_ms=None, hint_interval_expires_at=None)
    firing = decide_firing(due(cleared, Source.CLAMPED_MIN, 41), at(65))
    assert spans(firing) == [(Reason.SUPERSEDED, 10, 40, 4), (Reason.MISFIRE, 41, 41, 1), (Reason.MISFIRE, 50, 60, 2)]


@pytest.mark.parametrize("plan", [TENS, EVERY_TEN])
def test_a_pace_that_a_late_claim_restarts_counts_from_then_on(plan: PlanState) -> None:
    """Whoever plans once more comes to the same moment, and what the pace went past is settled."""
    hinted = replace(plan, **SLOW)
    claimed = decide_claim(due(hinted, Source.HINT_INTERVAL, 35), at(100))
    assert (claimed.last_slot, claimed.next_slot) == (at(100), at(135))
    passed = [(Reason.SUPERSEDED, 10, 30, 3), (Reason.SUPERSEDED, 40, 100, 7)] if plan is TENS else []
    assert [each for each in spans(claimed) if each[0] is Reason.SUPERSEDED] == passed
    again = replace(due(oneshot(hinted, 120, 130), Source.HINT_ONESHOT, 120), last_slot=claimed.last_slot)
    assert decide_claim(again, at(121)).next_slot == (at(155) if plan is TENS else at(135))
    on_time = decide_claim(due(hinted, Source.HINT_INTERVAL, 35), at(35.1))
    assert (on_time.last_slot, on_time.next_slot) == (at(35), at(70))


def test_a_missed_slot_that_is_caught_up_uses_up_a_one_shot_before_it() -> None:
    """Also where one fires after another: it is a fire at or after the one-shot's moment."""
    rule = CatchUp(policy=CatchUpPolicy.ALL, grace_ms=60_000)
    for minutes, used_up in ((5, True), (10, True), (15, False)):
        plan = oneshot(EVERY_TEN, minutes, 200)
        firing = decide_firing(due(plan, Source.BASELINE_INTERVAL, 10, rule), at(100))
        assert (slots(firing), firing.sequential, firing.uses_up_oneshot) == ([at(10)], True, used_up)


def test_a_hinted_moment_that_was_missed_has_a_row_apart_from_the_schedules_own() -> None:
    """It is none of its slots: the row of these begins with the first after the hint."""
    plan = replace(TENS, hint_interval_ms=2_100_000, hint_interval_expires_at=at(60))
    firing = decide_firing(due(plan, Source.HINT_INTERVAL, 35), at(105))
    assert [each for each in spans(firing) if each[0] is Reason.MISFIRE] == [
        (Reason.MISFIRE, 35, 35, 1),
        (Reason.MISFIRE, 70, 100, 4),
    ]
    assert [each for each in spans(firing) if each[0] is Reason.SUPERSEDED] == [
        (Reason.SUPERSEDED, 10, 30, 3),
        (Reason.SUPERSEDED, 40, 60, 3),
    ]
