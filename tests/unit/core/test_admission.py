"""Admission: one decision for every way into the broker."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from routines_app.core.admission import ActiveRun, Cancel, Candidate, Hold, PoolUsage, Publish, Replace, Skip, admit
from routines_app.core.words import ConcurrencyPolicy, Reason

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
FRESH = {
    policy: Candidate(policy=policy, fresh=True, eligible_at=NOW, replace_grace_ms=10_000)
    for policy in ConcurrencyPolicy
}
HELD = {policy: replace(candidate, fresh=False) for policy, candidate in FRESH.items()}
ALLOW, FORBID, REPLACE = ConcurrencyPolicy
RUNNING = ActiveRun(id="running", running=True)
WAITING = ActiveRun(id="waiting", running=False)
SENT = ActiveRun(id="sent", running=False, sent=True)
ASKED = replace(RUNNING, id="asked", stop_requested_at=NOW - timedelta(seconds=9))
GRACE_OVER = replace(RUNNING, id="late", stop_requested_at=NOW - timedelta(seconds=10))
OVERDUE = replace(GRACE_OVER, id="overdue", overdue=True)
FULL = PoolUsage(ceiling=2, in_flight=2)
ROOM = PoolUsage(ceiling=2, in_flight=1)


@pytest.mark.parametrize("policy", ConcurrencyPolicy)
@pytest.mark.parametrize("pool", [None, ROOM])
def test_an_idle_routine_with_room_is_published(policy: ConcurrencyPolicy, pool: PoolUsage | None) -> None:
    """Nothing speaks against it, fresh or held."""
    assert admit(FRESH[policy], [], pool, NOW) == Publish()
    assert admit(HELD[policy], [], pool, NOW) == Publish()


@pytest.mark.parametrize("policy", ConcurrencyPolicy)
def test_a_full_pool_holds_every_policy(policy: ConcurrencyPolicy) -> None:
    """A ceiling is hard, also when it was lowered below what is in flight."""
    assert admit(FRESH[policy], [], FULL, NOW) == Hold(Reason.CEILING)
    assert admit(HELD[policy], [], PoolUsage(ceiling=1, in_flight=5), NOW) == Hold(Reason.CEILING)


@pytest.mark.parametrize("other", [RUNNING, WAITING])
def test_allow_ignores_other_runs(other: ActiveRun) -> None:
    """Overlap is what the policy allows."""
    assert admit(FRESH[ALLOW], [other], None, NOW) == Publish()
    assert admit(HELD[ALLOW], [other], None, NOW) == Publish()


@pytest.mark.parametrize("other", [RUNNING, WAITING])
def test_a_fresh_forbid_run_is_skipped_when_its_routine_is_active(other: ActiveRun) -> None:
    """Running, queued, held or waiting to retry: each is active, and no pool or pause changes the verdict."""
    for candidate in (FRESH[FORBID], replace(FRESH[FORBID], routine_paused=True, manual=True)):
        assert admit(candidate, [other], FULL, NOW) == Skip(Reason.OVERLAP)


def test_a_held_forbid_run_waits_for_what_runs_or_was_sent() -> None:
    """It was judged when it was created; later it must not be skipped by its own kind, and what is held is no rival."""
    assert admit(HELD[FORBID], [RUNNING], None, NOW) == Hold(Reason.OVERLAP)
    assert admit(HELD[FORBID], [WAITING, SENT], None, NOW) == Hold(Reason.OVERLAP)
    assert admit(HELD[FORBID], [WAITING], None, NOW) == Publish()


def test_a_fresh_replace_run_stops_what_runs_and_cancels_what_waits() -> None:
    """A run that was already asked to stop is not asked again: that would restart its grace."""
    assert admit(FRESH[REPLACE], [RUNNING, WAITING, ASKED], None, NOW) == Replace(
        stop=("running",), cancel=("waiting",)
    )
    assert admit(FRESH[REPLACE], [ASKED], None, NOW) == Hold(Reason.REPLACING)


@pytest.mark.parametrize(
    ("active", "decision"),
    [
        ([RUNNING, ASKED], Replace(stop=("running",))),
        ([ASKED], Hold(Reason.REPLACING)),
        ([ASKED, GRACE_OVER], Replace(force=("late",))),
        ([GRACE_OVER, OVERDUE], Hold(Reason.OVERDUE)),
        ([WAITING], Replace(cancel=("waiting",))),
        ([RUNNING, WAITING], Replace(stop=("running",), cancel=("waiting",))),
        ([replace(WAITING, newer=True)], Cancel(Reason.REPLACED)),
        ([replace(RUNNING, newer=True), ASKED], Cancel(Reason.REPLACED)),
        ([replace(ASKED, newer=True)], Hold(Reason.REPLACING)),
    ],
)
def test_a_held_replace_run_waits_for_the_old_one_to_go(
    active: list[ActiveRun], decision: Replace | Hold | Cancel
) -> None:
    """Asked first, forced after the grace, never while a body that cannot be stopped still runs, never by an older."""
    assert admit(HELD[REPLACE], active, None, NOW) == decision


def test_a_paused_routine_holds_its_runs_but_not_manual_ones() -> None:
    """Who presses the button on a paused routine means it."""
    paused = replace(FRESH[ALLOW], routine_paused=True)
    assert admit(paused, [], None, NOW) == Hold(Reason.PAUSED)
    assert admit(replace(paused, manual=True), [], None, NOW) == Publish()


def test_a_run_waits_until_it_is_eligible() -> None:
    """Jitter and retry delays are waited out as rows, to the moment."""
    later = replace(HELD[ALLOW], eligible_at=NOW + timedelta(microseconds=1))
    assert admit(later, [], None, NOW) == Hold(Reason.NOT_YET)
    assert admit(later, [], None, later.eligible_at) == Publish()
