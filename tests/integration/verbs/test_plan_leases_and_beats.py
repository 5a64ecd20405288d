"""The plan of leases says what a beat then does: random fleets, planned, then looked at by the beat's own steps."""

from __future__ import annotations

import os
from random import Random
from typing import Any
from uuid import UUID

import pytest

from routines_app import service
from routines_app.core.lease_plan import TURN_COMES
from routines_app.core.words import ConcurrencyPolicy, Priority, RoutineStatus, RunStatus
from routines_app.models import Routine, RoutineRun
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.publish.pools import admit_pools
from routines_app.protocol.publish.waiting import dispatch_waiting
from tests.integration.conftest import MONDAY, Time
from tests.integration.verbs.fleets import Fleet, everything

pytestmark = pytest.mark.django_db

SEEDS = int(os.environ.get("ROUTINES_FLEETS", "12"))
Rows = dict[UUID, RoutineRun]


def look() -> None:
    """What a beat does at one moment; twice, because the end of a pause makes slots due that the next claim takes."""
    while claim_due(MONDAY).claimed:
        pass
    dispatch_waiting(MONDAY)
    admit_pools(MONDAY)


def rows() -> Rows:
    return {run.pk: run for run in RoutineRun.objects.all()}


def became(decision: service.LeaseDecision, before: Rows, after: Rows) -> tuple[str, str]:
    """The verdict and the reason that the ledger shows."""
    run = after[decision.run_id] if decision.run_id else written(decision, before, after)
    if run is None:
        return "nothing", ""
    if run.status in (RunStatus.SKIPPED, RunStatus.CANCELLED):
        return "skip", run.reason
    return ("hold" if run.admitted_at is None else "start"), run.reason


def planned(decision: service.LeaseDecision) -> tuple[str, str]:
    """The same as it was planned; what replaces others starts at once, or is held until they are gone."""
    verdict = decision.verdict.value
    if verdict == "replace":
        verdict = "hold" if decision.reason else "start"
    return verdict, decision.reason.value


def written(decision: service.LeaseDecision, before: Rows, after: Rows) -> RoutineRun | None:
    found = [
        run
        for run in after.values()
        if run.pk not in before and (run.routine_id, run.scheduled_for) == (decision.routine_id, decision.slot)
    ]
    return found[0] if found else None


def made_to_go(before: Rows, after: Rows, *, in_the_broker: bool = False) -> set[int]:
    """The routines of which an active run has been replaced, or was asked to stop."""
    return {
        run.routine_id
        for pk, run in before.items()
        if run.is_active
        and (run.dispatched_at is not None or not in_the_broker)
        and (after[pk].reason == "replaced" or after[pk].stop_requested_at != run.stop_requested_at)
    }


@pytest.mark.each_database
@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_plan_is_what_a_beat_then_does(seed: int, time: Time) -> None:
    """Verdict and reason of each candidate, and no candidate too many or too few."""
    Fleet(seed, MONDAY)
    before = rows()
    plan = service.plan_leases()

    look()

    compare(plan, before)


def compare(plan: service.LeasePlan, before: Rows) -> None:
    after = rows()
    decided = [each for each in plan.decisions if each.why != TURN_COMES]
    ledger = {(each.position, each.name, each.slot): became(each, before, after) for each in decided}
    assert ledger == {(each.position, each.name, each.slot): planned(each) for each in decided}
    replacing = {each.routine_id for each in decided if each.verdict is service.Verdict.REPLACE}
    assert made_to_go(before, after, in_the_broker=True) <= replacing <= made_to_go(before, after)
    waited = {pk for pk, run in before.items() if run.status == RunStatus.PENDING and run.dispatched_at is None}
    assert {each.run_id for each in plan.decisions if each.run_id} == waited
    new = [run for pk, run in after.items() if pk not in before]
    assert len(new) == sum(each.run_id is None for each in decided)


def another_policy(seed: int) -> dict[str, Any]:
    """For about half of the fleet, and for a pool."""
    random = Random(seed)
    states = {status: list(Routine.objects.filter(status=status)) for status in RoutineStatus}
    active = [routine.name for routine in states[RoutineStatus.ACTIVE]]
    random.shuffle(active)
    return {
        "pools": {"pool 0": random.randint(1, 6)},
        "paused": active[:2],
        "resumed": [routine.name for routine in states[RoutineStatus.PAUSED]],
        "priorities": {name: random.choice([*Priority]).value for name in active[2:4]},
        "schedules": {active[4]: {"every": "7m"}, active[5]: {"cron": "*/5 * * * *"}},
        "concurrency": {name: random.choice([*ConcurrencyPolicy]).value for name in active[5:8]},
    }


def adopt(policy: dict[str, Any]) -> None:
    """What the plan only thinks of, done."""
    for name, ceiling in policy["pools"].items():
        service.update_pool(name, max_concurrent=ceiling)
    for name in policy["paused"]:
        service.pause_routine(name)
    for name in policy["resumed"]:
        service.resume_routine(name)
    for name, priority in policy["priorities"].items():
        service.update_routine(name, priority=priority)
    for name, schedule in policy["schedules"].items():
        service.update_routine(name, **schedule)  # as in a policy, the trigger's kind follows
    for name, concurrency in policy["concurrency"].items():
        service.update_routine(name, concurrency_policy=concurrency)


@pytest.mark.parametrize("seed", range(1000, 1000 + SEEDS // 2))
def test_another_policy_is_planned_as_if_it_were_adopted(seed: int, time: Time) -> None:
    """Asked about, then edited by the verbs, then looked at by a beat: the same comes of it."""
    Fleet(seed, MONDAY, size=20)
    before = rows()
    policy = another_policy(seed)
    plan = service.plan_leases(what_if=policy)
    assert plan.differences

    adopt(policy)
    look()

    compare(plan, before)


@pytest.mark.parametrize("kind", ["pools", "paused", "resumed", "priorities", "schedules", "concurrency"])
@pytest.mark.parametrize("seed", range(2000, 2000 + SEEDS // 6))
def test_one_change_is_planned_as_it_is_after_the_edit(seed: int, kind: str, time: Time) -> None:
    """What is asked about, and the plan of the policy that then holds, are the same but for what the edit has left."""
    Fleet(seed, MONDAY)
    nothing: dict[str, Any] = {"pools": {}, "priorities": {}, "schedules": {}, "concurrency": {}}
    policy = {"paused": [], "resumed": [], **nothing, kind: another_policy(seed)[kind]}
    thought = service.plan_leases(what_if=policy)

    adopt(policy)

    assert still_there(thought) == still_there(service.plan_leases())


def still_there(plan: service.LeasePlan) -> list[tuple[str, ...]]:
    """All but the slots that have a row by then."""
    return sorted(
        (each.name, str(each.slot), str(each.run_id), *planned(each))
        for each in plan.decisions
        if each.run_id is not None or each.verdict is not service.Verdict.SKIP
    )


def test_a_plan_writes_nothing_and_says_the_same_twice(time: Time) -> None:
    """With and without another policy."""
    Fleet(1, MONDAY, size=20)
    names = list(Routine.objects.order_by("pk").values_list("name", flat=True))
    policy = {
        "pools": {"pool 0": 9},
        "paused": names[:3],
        "resumed": names[3:6],
        "priorities": {names[7]: "HIGH"},
        "schedules": {names[8]: {"cron": "*/5 * * * *"}, names[9]: {"every": "1s"}},
        "concurrency": {names[10]: "REPLACE"},
    }
    before = everything()
    for options in ({}, {"what_if": policy}, {"what_if": policy, "now": MONDAY.replace(hour=12)}):
        first, second = (service.plan_leases(**options) for _ in range(2))  # type: ignore[arg-type]
        assert first == second
        assert first.decisions
    assert everything() == before
