"""Admission: one decision for every way into the broker."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from routines_app.core.admission import (
    LOOK_AGAIN,
    ActiveRun,
    Cancel,
    Candidate,
    Hold,
    Publish,
    Replace,
    Skip,
    Standing,
    admit,
    in_the_way,
    standing,
)
from routines_app.core.holding import HELD_AS, held_as
from routines_app.core.line import place_of
from routines_app.core.words import ConcurrencyPolicy, Reason, RoutineStatus, RunTrigger

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
FRESH = {
    policy: Candidate(
        policy=policy,
        fresh=True,
        place=place_of(RunTrigger.SCHEDULE, NOW, UUID(int=99)),
        eligible_at=NOW,
        replace_grace=timedelta(seconds=10),
    )
    for policy in ConcurrencyPolicy
}
HELD = {policy: replace(candidate, fresh=False) for policy, candidate in FRESH.items()}
ALLOW, FORBID, REPLACE, QUEUE = ConcurrencyPolicy
IDS = {name: UUID(int=number) for number, name in enumerate(("running", "waiting", "sent", "asked", "late", "overdue"))}
BEFORE = NOW - timedelta(minutes=1)
OLDER = place_of(RunTrigger.SCHEDULE, BEFORE, UUID(int=0))
RUNNING = ActiveRun(id=IDS["running"], place=OLDER, running=True)
WAITING = ActiveRun(id=IDS["waiting"], place=OLDER, running=False)
SENT = ActiveRun(id=IDS["sent"], place=OLDER, running=False, sent=True)
ASKED = replace(RUNNING, id=IDS["asked"], stop_requested_at=NOW - timedelta(seconds=9))
GRACE_OVER = replace(RUNNING, id=IDS["late"], stop_requested_at=NOW - timedelta(seconds=10))
OVERDUE = replace(GRACE_OVER, id=IDS["overdue"], overdue=True)
LATER = NOW + timedelta(minutes=1)


@pytest.mark.parametrize("policy", ConcurrencyPolicy)
def test_an_idle_routine_is_published(policy: ConcurrencyPolicy) -> None:
    """Nothing speaks against it, fresh or held."""
    assert admit(FRESH[policy], [], NOW) == Publish()
    assert admit(HELD[policy], [], NOW) == Publish()


@pytest.mark.parametrize("policy", ConcurrencyPolicy)
def test_a_pooled_run_queues_for_room_under_every_policy(policy: ConcurrencyPolicy) -> None:
    """Only who holds the pool's lock knows whether there is room."""
    assert admit(replace(FRESH[policy], pooled=True), [], NOW) == Hold(Reason.CEILING)
    assert admit(replace(HELD[policy], pooled=True), [], NOW) == Hold(Reason.CEILING)


@pytest.mark.parametrize("other", [RUNNING, WAITING])
def test_allow_ignores_other_runs(other: ActiveRun) -> None:
    """Overlap is what the policy allows."""
    assert admit(FRESH[ALLOW], [other], NOW) == Publish()
    assert admit(HELD[ALLOW], [other], NOW) == Publish()


@pytest.mark.parametrize("other", [RUNNING, WAITING])
def test_a_fresh_forbid_run_is_skipped_when_its_routine_is_active(other: ActiveRun) -> None:
    """Running, queued, held or waiting to retry: each is active, and no pool or pause changes the verdict."""
    for candidate in (FRESH[FORBID], replace(FRESH[FORBID], held=Reason.PAUSED, pooled=True)):
        assert admit(candidate, [other], NOW) == Skip(Reason.OVERLAP)


def test_a_held_forbid_run_waits_for_what_runs_or_was_sent() -> None:
    """It was judged when it was created; later it must not be skipped by its own kind, and what is held is no rival."""
    assert admit(HELD[FORBID], [RUNNING], NOW) == Hold(Reason.OVERLAP)
    assert admit(HELD[FORBID], [WAITING, SENT], NOW) == Hold(Reason.OVERLAP)
    assert admit(HELD[FORBID], [WAITING], NOW) == Publish()


def test_a_fresh_replace_run_stops_what_runs_and_cancels_what_waits() -> None:
    """A run that was already asked to stop is not asked again: that would restart its grace."""
    assert admit(FRESH[REPLACE], [RUNNING, WAITING, ASKED], NOW) == Replace(
        stop=(IDS["running"],), cancel=(IDS["waiting"],), then=Hold(Reason.REPLACING)
    )
    assert admit(FRESH[REPLACE], [ASKED], NOW) == Hold(Reason.REPLACING)


@pytest.mark.parametrize(
    ("active", "decision"),
    [
        ([RUNNING, ASKED], Replace(stop=(IDS["running"],), then=Hold(Reason.REPLACING))),
        ([ASKED], Hold(Reason.REPLACING)),
        ([ASKED, GRACE_OVER], Replace(force=(IDS["late"],), then=Hold(Reason.REPLACING))),
        ([GRACE_OVER], Replace(force=(IDS["late"],), then=Publish())),
        ([GRACE_OVER, OVERDUE], Hold(Reason.OVERDUE)),
        ([WAITING], Replace(cancel=(IDS["waiting"],), then=Publish())),
        ([RUNNING, WAITING], Replace(stop=(IDS["running"],), cancel=(IDS["waiting"],), then=Hold(Reason.REPLACING))),
        ([replace(WAITING, newer=True)], Cancel(Reason.REPLACED)),
        ([replace(RUNNING, newer=True), ASKED], Cancel(Reason.REPLACED)),
        ([replace(ASKED, newer=True)], Hold(Reason.REPLACING)),
    ],
)
def test_a_held_replace_run_waits_for_the_old_one_to_go(
    active: list[ActiveRun], decision: Replace | Hold | Cancel
) -> None:
    """Asked first, forced after the grace, never while a body that cannot be stopped still runs, never by an older."""
    assert admit(HELD[REPLACE], active, NOW) == decision


def test_a_fresh_replace_run_ends_nobody() -> None:
    """What is over its grace is ended by the run that has waited for it, when that is judged."""
    for pooled in (False, True):
        assert admit(replace(FRESH[REPLACE], pooled=pooled), [GRACE_OVER], NOW) == Hold(Reason.REPLACING)


def test_room_that_is_made_at_once_is_not_gone_into_early() -> None:
    """With what waited gone, the new run stands where it would without it: not yet eligible, or in its pool's queue."""
    later = replace(FRESH[REPLACE], eligible_at=LATER)
    assert admit(later, [WAITING], NOW) == Replace(cancel=(IDS["waiting"],), then=Hold(Reason.NOT_YET))
    pooled = replace(FRESH[REPLACE], pooled=True)
    assert admit(pooled, [WAITING], NOW) == Replace(cancel=(IDS["waiting"],), then=Hold(Reason.CEILING))


@pytest.mark.parametrize(("status", "reason"), HELD_AS.items())
def test_a_status_holds_runs_back_but_not_manual_ones(status: str, reason: Reason) -> None:
    """Who presses the button on a paused or parked routine means it."""
    assert admit(replace(HELD[ALLOW], held=held_as(status, None)), [], NOW) == Hold(reason)
    assert admit(replace(HELD[ALLOW], held=held_as(status, NOW)), [], NOW) == Publish()


@pytest.mark.parametrize("status", [RoutineStatus.ACTIVE, RoutineStatus.ARCHIVED])
def test_other_statuses_hold_nothing_back(status: RoutineStatus) -> None:
    """Archiving cancels what waits instead."""
    assert held_as(status, None) is None


@pytest.mark.parametrize(
    ("decided", "expected"),
    [
        (Publish(), Standing(NOW, NOW + timedelta(seconds=2), Reason.NONE)),
        (Hold(Reason.NOT_YET), Standing(None, LATER, Reason.NOT_YET)),
        (Hold(Reason.REPLACING), Standing(None, NOW + LOOK_AGAIN, Reason.REPLACING)),
        (Hold(Reason.CEILING), Standing(None, None, Reason.CEILING)),
        (Hold(Reason.PAUSED), Standing(None, None, Reason.PAUSED)),
        (Hold(Reason.PARKED), Standing(None, None, Reason.PARKED)),
    ],
)
def test_a_decision_is_written_as_where_the_row_stands(decided: Publish | Hold, expected: Standing) -> None:
    """What an event lets go has no time to be looked at; everything else has one."""
    assert standing(decided, eligible_at=LATER, now=NOW, publish_retry=timedelta(seconds=2)) == expected


def test_a_run_waits_until_it_is_eligible() -> None:
    """Jitter and retry delays are waited out as rows, to the moment."""
    later = replace(HELD[ALLOW], eligible_at=NOW + timedelta(microseconds=1))
    assert admit(later, [], NOW) == Hold(Reason.NOT_YET)
    assert admit(later, [], later.eligible_at) == Publish()


def test_the_run_in_the_way_is_the_one_that_runs() -> None:
    """Else what is on its way to a worker, else what waits; of nobody it is none."""
    assert in_the_way([WAITING, SENT, RUNNING]) == RUNNING.id
    assert in_the_way([WAITING, SENT]) == SENT.id
    assert in_the_way([WAITING]) == WAITING.id
    assert in_the_way([]) is None
