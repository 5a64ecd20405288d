"""Firing: what a claim decides about one due routine."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from routines_app.core.catch_up import CatchUp
from routines_app.core.firing import Firing, decide_firing, withdraw_oneshot
from routines_app.core.governor import Plan, PlanState
from routines_app.core.owed import Due
from routines_app.core.triggers import CronTrigger, IntervalTrigger, ManualTrigger
from routines_app.core.words import CatchUpPolicy, HintKind, Reason, Source

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
SKIP = CatchUp(policy=CatchUpPolicy.SKIP, grace_ms=60_000)
MINUTELY = PlanState(trigger=CronTrigger(expression="* * * * *", timezone="UTC"))
SECONDLY = PlanState(trigger=CronTrigger(expression="* * * * * *", timezone="UTC"))
EVERY_MINUTE = PlanState(trigger=IntervalTrigger(interval_ms=60_000, anchor=NOON))
MANUAL = PlanState(trigger=ManualTrigger())


def due(plan: PlanState, source: Source, after: timedelta = MINUTE, rule: CatchUp = SKIP) -> Due:
    return Due(plan=plan, rule=rule, last_slot=NOON, next_slot=NOON + after, source=source)


def hinted_twice(plan: PlanState, at: datetime, interval_ms: int) -> PlanState:
    until = NOON + 24 * HOUR
    interval = {"hint_interval_ms": interval_ms, "hint_interval_expires_at": until}
    return replace(plan, hint_next_at=at, hint_next_expires_at=until, **interval)


def slots(firing: Firing) -> list[datetime]:
    return [fire.slot for fire in firing.fire]


def skips(firing: Firing) -> list[tuple[Reason, int]]:
    return [(skipped.reason, skipped.span.count) for skipped in firing.skipped]


def test_a_due_slot_fires_and_the_next_is_planned():
    """The ordinary case, by cron and by interval."""
    for plan, source in ((MINUTELY, Source.BASELINE_CRON), (EVERY_MINUTE, Source.BASELINE_INTERVAL)):
        firing = decide_firing(due(plan, source), NOON + MINUTE + SECOND)
        assert slots(firing) == [NOON + MINUTE]
        assert firing.next_slot == firing.next_run_at == NOON + 2 * MINUTE
        assert (firing.last_slot, firing.source, firing.skipped) == (NOON + MINUTE, source, ())


def test_missed_slots_are_skipped_by_policy():
    """SKIP leaves one span, and the newest slot fires, by cron and by interval."""
    for plan, source in ((MINUTELY, Source.BASELINE_CRON), (EVERY_MINUTE, Source.BASELINE_INTERVAL)):
        firing = decide_firing(due(plan, source), NOON + 10 * MINUTE)
        assert skips(firing) == [(Reason.MISFIRE, 9)]
        assert slots(firing) == [NOON + 10 * MINUTE]
        assert (firing.last_slot, firing.next_slot) == (NOON + 10 * MINUTE, NOON + 11 * MINUTE)


def test_an_all_catch_up_fires_one_and_sleeps():
    """The next slot is remembered, and nobody looks before the chain has ended."""
    rule = CatchUp(policy=CatchUpPolicy.ALL, grace_ms=0)
    firing = decide_firing(due(MINUTELY, Source.BASELINE_CRON, rule=rule), NOON + HOUR)
    assert slots(firing) == [NOON + MINUTE]
    assert firing.sequential
    assert (firing.next_slot, firing.next_run_at, firing.source) == (NOON + 2 * MINUTE, None, Source.CATCHING_UP)


def test_the_last_slot_of_an_all_catch_up_ends_the_schedule():
    """With nothing behind it there is nothing to sleep for."""
    ending = PlanState(trigger=replace(MINUTELY.trigger, end_at=NOON + MINUTE))
    rule = CatchUp(policy=CatchUpPolicy.ALL, grace_ms=0)
    firing = decide_firing(due(ending, Source.BASELINE_CRON, rule=rule), NOON + HOUR)
    assert slots(firing) == [NOON + MINUTE]
    assert (firing.next_slot, firing.next_run_at, firing.source) == (None, None, Source.ENDED)


def test_ten_years_of_missed_seconds_are_one_span():
    """One claim accounts for all of them, and the plan goes on from now."""
    ten_years = timedelta(days=3_650)
    firing = decide_firing(due(SECONDLY, Source.BASELINE_CRON, after=SECOND), NOON + ten_years)
    assert skips(firing) == [(Reason.MISFIRE, 3_650 * 86_400 - 1)]
    assert slots(firing) == [NOON + ten_years]
    assert firing.next_slot == NOON + ten_years + SECOND


def test_a_one_shot_is_an_extra_fire():
    """It is used up, and the schedule goes on from the same anchor."""
    hinted = replace(EVERY_MINUTE, hint_next_at=NOON + 20 * SECOND, hint_next_expires_at=NOON + HOUR)
    firing = decide_firing(due(hinted, Source.HINT_ONESHOT, after=20 * SECOND), NOON + 21 * SECOND)
    assert slots(firing) == [NOON + 20 * SECOND]
    assert firing.uses_up_oneshot
    assert (firing.last_slot, firing.next_slot) == (NOON, NOON + MINUTE)


def test_a_one_shot_for_a_manual_routine_fires_once():
    """Afterwards the routine sleeps again."""
    hinted = replace(MANUAL, hint_next_at=NOON + SECOND, hint_next_expires_at=NOON + HOUR)
    firing = decide_firing(due(hinted, Source.HINT_ONESHOT, after=SECOND), NOON + 2 * SECOND)
    assert slots(firing) == [NOON + SECOND]
    assert (firing.next_run_at, firing.source) == (None, Source.MANUAL)


def test_a_one_shot_that_a_clamp_has_delayed_is_used_up_too():
    """Otherwise it would fire again and again until it expires."""
    hinted = replace(EVERY_MINUTE, hint_next_at=NOON + SECOND, hint_next_expires_at=NOON + HOUR, min_interval_ms=30_000)
    firing = decide_firing(due(hinted, Source.CLAMPED_MIN, after=30 * SECOND), NOON + 31 * SECOND)
    assert slots(firing) == [NOON + 30 * SECOND]
    assert firing.uses_up_oneshot
    assert firing.source == Source.BASELINE_INTERVAL


def test_a_slot_of_the_schedule_is_judged_by_its_rule_where_a_one_shot_for_it_has_expired():
    """The hint is over, and the slot is missed like any other."""
    hinted = replace(EVERY_MINUTE, hint_next_at=NOON + MINUTE, hint_next_expires_at=NOON + 2 * MINUTE)
    firing = decide_firing(due(hinted, Source.HINT_ONESHOT), NOON + 10 * MINUTE)
    alone = decide_firing(due(EVERY_MINUTE, Source.BASELINE_INTERVAL), NOON + 10 * MINUTE)
    assert firing == replace(alone, expired=(HintKind.NEXT,))
    assert skips(firing) == [(Reason.MISFIRE, 9)]


def test_a_hint_that_is_still_to_come_is_kept():
    """A baseline fire before the hint's moment does not use it up."""
    hinted = replace(EVERY_MINUTE, hint_next_at=NOON + 90 * SECOND, hint_next_expires_at=NOON + HOUR)
    firing = decide_firing(due(hinted, Source.BASELINE_INTERVAL), NOON + 61 * SECOND)
    assert not firing.uses_up_oneshot
    assert (firing.next_slot, firing.source) == (NOON + 90 * SECOND, Source.HINT_ONESHOT)


def test_cron_slots_that_an_interval_hint_passes_over_are_in_the_ledger():
    """The hint replaces the baseline, and the baseline's slots are accounted for as superseded."""
    hinted = replace(MINUTELY, hint_interval_ms=600_000, hint_interval_expires_at=NOON + HOUR)
    firing = decide_firing(due(hinted, Source.HINT_INTERVAL, after=10 * MINUTE), NOON + 10 * MINUTE)
    assert slots(firing) == [NOON + 10 * MINUTE]
    assert skips(firing) == [(Reason.SUPERSEDED, 9)]


def test_a_late_look_at_a_hinted_cron_loses_none_of_its_own_slots():
    """However many moments the hint would have had since, the cron's slots are what the ledger owes."""
    hinted = replace(MINUTELY, hint_interval_ms=20_000, hint_interval_expires_at=NOON + HOUR)
    firing = decide_firing(due(hinted, Source.HINT_INTERVAL, after=20 * SECOND), NOON + 10 * MINUTE)
    counted = sum(skip.span.count for skip in firing.skipped)
    slots = {NOON + n * MINUTE for n in range(1, 11)}
    left = {slot for slot in slots if slot > firing.last_slot}
    moment = 1 if not firing.fire else 0  # the hint's own moment is in the ledger as well
    assert counted - moment + len(left) == len(slots)
    assert firing.next_slot >= NOON + 10 * MINUTE


def test_a_hint_that_passes_over_nothing_skips_nothing():
    """A hint earlier than the next cron slot leaves nothing behind."""
    hinted = replace(MINUTELY, hint_interval_ms=10_000, hint_interval_expires_at=NOON + HOUR)
    firing = decide_firing(due(hinted, Source.HINT_INTERVAL, after=10 * SECOND), NOON + 11 * SECOND)
    assert slots(firing) == [NOON + 10 * SECOND]
    assert firing.skipped == ()


def test_however_many_slots_a_clamp_passes_over_are_one_span():
    """They are counted before the moment fires."""
    clamped = replace(SECONDLY, min_interval_ms=25_000_000)
    firing = decide_firing(due(clamped, Source.CLAMPED_MIN, after=25_000 * SECOND), NOON + 25_000 * SECOND)
    assert skips(firing) == [(Reason.SUPERSEDED, 24_999)]
    assert slots(firing) == [NOON + 25_000 * SECOND]


def test_a_one_shot_on_a_slot_of_the_schedule_stands_for_both():
    """One fire, and the schedule goes on after it, by cron and by interval."""
    for plan in (MINUTELY, EVERY_MINUTE):
        hinted = replace(plan, hint_next_at=NOON + MINUTE, hint_next_expires_at=NOON + HOUR)
        firing = decide_firing(due(hinted, Source.HINT_ONESHOT), NOON + MINUTE)
        assert (slots(firing), firing.skipped) == ([NOON + MINUTE], ())
        assert (firing.last_slot, firing.next_slot) == (NOON + MINUTE, NOON + 2 * MINUTE)


def test_a_one_shot_at_the_moment_of_a_hinted_interval_loses_no_slot_of_the_cron():
    """Both hints have that moment: one fire stands for them, and the cron's slots before it are superseded."""
    at = NOON + 10 * MINUTE
    both = hinted_twice(MINUTELY, at, 600_000)
    firing = decide_firing(due(both, Source.HINT_ONESHOT, after=10 * MINUTE), at)
    assert (slots(firing), skips(firing)) == ([at], [(Reason.SUPERSEDED, 9)])
    assert (firing.last_slot, firing.next_slot, firing.uses_up_oneshot) == (at, at + 10 * MINUTE, True)


def test_two_hints_for_one_moment_behind_very_many_slots():
    """The moment fires, and stands for both."""
    hours = 7 * HOUR
    both = hinted_twice(SECONDLY, NOON + hours, 25_200_000)
    firing = decide_firing(due(both, Source.HINT_ONESHOT, after=hours), NOON + hours)
    assert (slots(firing), skips(firing)) == ([NOON + hours], [(Reason.SUPERSEDED, 25_199)])


def test_a_clamped_cron_that_was_missed_is_accounted_for():
    """SKIP: what the clamp went past stays so; from the planned slot on it is as without a clamp."""
    clamped = replace(MINUTELY, min_interval_ms=300_000)
    firing = decide_firing(due(clamped, Source.CLAMPED_MIN, after=5 * MINUTE), NOON + 20 * MINUTE)
    assert skips(firing) == [(Reason.SUPERSEDED, 4), (Reason.MISFIRE, 15)]
    assert (slots(firing), firing.last_slot) == ([NOON + 20 * MINUTE], NOON + 20 * MINUTE)
    assert (firing.next_slot, firing.source) == (NOON + 25 * MINUTE, Source.CLAMPED_MIN)


def test_a_clamped_cron_that_was_missed_by_a_little_has_nothing_behind_it():
    """No cron slot lies between the missed moment and the grace."""
    hourly = PlanState(trigger=CronTrigger(expression="0 * * * *", timezone="UTC"), max_interval_ms=600_000)
    rule = CatchUp(policy=CatchUpPolicy.LAST, grace_ms=60_000)
    firing = decide_firing(due(hourly, Source.CLAMPED_MAX, after=10 * MINUTE, rule=rule), NOON + 15 * MINUTE)
    assert [(fire.slot, fire.missed) for fire in firing.fire] == [(NOON + 10 * MINUTE, True)]
    assert firing.skipped == ()


def test_nothing_due_changes_nothing():
    """A release that ended before the next slot leaves the plan as it was."""
    firing = decide_firing(due(MINUTELY, Source.BASELINE_CRON), NOON + SECOND)
    assert (firing.fire, firing.skipped) == ((), ())
    assert (firing.last_slot, firing.next_slot) == (NOON, NOON + MINUTE)


@given(
    st.sampled_from([MINUTELY, EVERY_MINUTE]),
    st.sampled_from(list(CatchUpPolicy)),
    st.integers(60, 20_000),
    st.integers(0, 600_000),
)
def test_each_slot_is_accounted_for_once(plan: PlanState, policy: CatchUpPolicy, seconds: int, grace_ms: int):
    """Claim after claim, fires and skips add up to exactly the slots that were due."""
    now = NOON + seconds * SECOND
    source = Source.BASELINE_CRON if plan is MINUTELY else Source.BASELINE_INTERVAL
    at = due(plan, source, rule=CatchUp(policy=policy, grace_ms=grace_ms))
    fired = skipped = 0
    while at.next_slot <= now:
        firing = decide_firing(at, now)
        fired += len(firing.fire)
        skipped += sum(count for _, count in skips(firing))
        assert firing.next_slot is not None
        at = replace(at, last_slot=firing.last_slot, next_slot=firing.next_slot)
    assert fired + skipped == seconds // 60


def test_a_one_shot_whose_hint_is_gone_does_not_fire():
    """Whoever took it away took its moment back; what the schedule has at that moment is judged by its rule."""
    firing = decide_firing(due(EVERY_MINUTE, Source.HINT_ONESHOT, after=30 * SECOND), NOON + 30 * SECOND)
    assert (slots(firing), skips(firing), firing.next_slot) == ([], [(Reason.EXPIRED, 1)], NOON + MINUTE)
    firing = decide_firing(due(EVERY_MINUTE, Source.HINT_ONESHOT), NOON + MINUTE)
    assert (slots(firing), firing.expired) == ([NOON + MINUTE], ())


def test_a_one_shot_is_taken_back():
    """It has its row, and the schedule goes on from the same anchor."""
    hinted = replace(EVERY_MINUTE, hint_next_at=NOON + 30 * SECOND, hint_next_expires_at=NOON + HOUR)
    firing = withdraw_oneshot(due(hinted, Source.HINT_ONESHOT, after=30 * SECOND), NOON + 3 * MINUTE, Reason.SUPERSEDED)
    assert (slots(firing), skips(firing)) == ([], [(Reason.SUPERSEDED, 1)])
    assert (firing.last_slot, firing.next_slot, firing.slot_source) == (NOON, NOON + MINUTE, Source.BASELINE_INTERVAL)


def test_a_one_shot_on_a_slot_of_the_schedule_is_taken_back_without_it():
    hinted = replace(MINUTELY, hint_next_at=NOON + MINUTE, hint_next_expires_at=NOON + HOUR)
    firing = withdraw_oneshot(due(hinted, Source.HINT_ONESHOT), NOON + 3 * MINUTE, Reason.EXPIRED)
    assert (slots(firing), firing.skipped, firing.last_slot) == ([], (), NOON)
    assert (firing.next_slot, firing.slot_source) == (NOON + MINUTE, Source.BASELINE_CRON)


def test_what_waits_for_its_turn_is_the_triggers_own():
    """Behind a hinted moment of an ALL catch-up."""
    catch_all = CatchUp(policy=CatchUpPolicy.ALL, grace_ms=0)
    hinted = replace(EVERY_MINUTE, hint_interval_ms=30_000, hint_interval_expires_at=NOON + MINUTE)
    firing = decide_firing(due(hinted, Source.HINT_INTERVAL, after=30 * SECOND, rule=catch_all), NOON + HOUR)
    assert (firing.source, firing.slot_source) == (Source.CATCHING_UP, Source.BASELINE_INTERVAL)
    assert firing.next_slot == NOON + 2 * MINUTE


def test_hints_are_over_when_nothing_is_planned():
    """Also those whose time is not."""
    hinted = replace(MANUAL, hint_interval_ms=60_000, hint_interval_expires_at=NOON + 90 * SECOND)
    firing = decide_firing(due(hinted, Source.HINT_INTERVAL), NOON + MINUTE)
    assert (firing.next_slot, firing.slot_source, firing.expired) == (None, None, (HintKind.INTERVAL,))


def test_a_plan_without_a_slot_has_no_source_of_one():
    assert (Plan(None, Source.ENDED).slot_source, Plan(NOON, Source.CLAMPED_MAX).slot_source) == ("", "clamped-max")
