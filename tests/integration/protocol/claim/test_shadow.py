"""Claims of routines in shadow: planned as any other, recorded, and never sent."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from routines_app import service
from routines_app.core.errors import NotAllowed
from routines_app.models import MovedEntry, Routine, RoutineRun, RoutineState
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.ledger import clock
from tests.integration.conftest import NOTE, Hours, Time

pytestmark = pytest.mark.django_db(transaction=True)


def shadowed(name: str = "tick", **values: Any) -> Routine:
    routine = service.create_routine(name, **({"task": NOTE, "every": "10s"} | values))
    Routine.objects.filter(pk=routine.pk).update(shadow=True)
    MovedEntry.objects.create(routine=routine, scheduler="django-celery-beat", key=name)
    return routine


def rows() -> list[tuple[str, str]]:
    return list(RoutineRun.objects.order_by("scheduled_for").values_list("status", "reason"))


@pytest.mark.parametrize("policy", ["ALLOW", "FORBID", "REPLACE", "QUEUE"])
def test_a_slot_is_recorded_and_not_sent(policy: str) -> None:
    """Whatever the policy: each slot has its row, and the plan goes on as always."""
    shadowed(concurrency_policy=policy)
    slot = RoutineState.objects.get().next_slot
    for number in range(2):
        report = claim_due(slot + timedelta(seconds=10 * number))
        assert (report.fired, report.skipped, report.messages) == (0, 1, [])
    assert rows() == [("SKIPPED", "shadow")] * 2
    assert RoutineState.objects.get().next_slot == slot + timedelta(seconds=20)


def test_one_in_shadow_beside_one_that_is_not(time: Time) -> None:
    """They are alike in all else, and decided apart."""
    for name, shadow in (("old", True), ("new", False)):
        service.create_routine(name, task=NOTE, cron="* * * * *")
        Routine.objects.filter(name=name).update(shadow=shadow)
    claim_due(time.pass_by(minutes=1))
    found = dict(RoutineRun.objects.values_list("routine__name", "status"))
    assert found == {"old": "SKIPPED", "new": "PENDING"}


def test_a_catch_up_of_all_waits_for_no_chain() -> None:
    """There is none: the next claim goes on with the next slot, also beside a run from before."""
    routine = shadowed(catch_up_policy="ALL", misfire_grace_ms=1_000)
    RoutineRun.objects.create(
        routine=routine, task=NOTE, scheduled_for=clock.now(), eligible_at=clock.now(), idempotency_key="before"
    )
    slot = RoutineState.objects.get().next_slot
    for _ in range(5):
        claim_due(slot + timedelta(seconds=45))
    assert rows() == [("PENDING", ""), *[("SKIPPED", "shadow")] * 5]
    assert RoutineState.objects.get().next_run_at == slot + timedelta(seconds=50)


def test_missed_slots_are_missed_in_shadow_too() -> None:
    """What our beats would not have fired is not said to be."""
    shadowed(misfire_grace_ms=15_000)
    claim_due(RoutineState.objects.get().next_slot + timedelta(hours=1))
    assert [reason for _, reason in rows()] == ["misfire", "shadow"]


def test_a_slot_in_a_full_pool_is_recorded_at_once() -> None:
    """Nothing waits for room that it does not need."""
    service.create_pool("db", max_concurrent=1)
    shadowed(pool="db")
    assert claim_due(RoutineState.objects.get().next_slot).pooled is False
    assert rows() == [("SKIPPED", "shadow")]


def test_the_audit_balances(hours: Hours) -> None:
    """A row for each slot, also where beats were away for a while, and over a pause."""
    shadowed("cron", cron="*/5 * * * *", every=None)
    shadowed("every", every="2m", catch_up_policy="ALL")
    hours.pass_by(hours=1)
    hours.pass_by(minutes=30, beat=False)
    hours.pass_by(minutes=10)
    service.pause_routine("cron")
    hours.pass_by(minutes=20)
    service.resume_routine("cron")
    hours.pass_by(minutes=20)
    assert hours.found() == []
    assert RoutineRun.objects.exclude(status="SKIPPED").count() == 0


def test_what_would_run_it_beside_the_old_one_is_refused() -> None:
    """The error says who fires it."""
    routine = shadowed()
    now = clock.now()
    for act in (
        lambda: service.run_now(routine),
        lambda: service.backfill(routine, now - timedelta(minutes=1), now),
    ):
        with pytest.raises(NotAllowed, match="in shadow: django-celery-beat still fires it"):
            act()
    assert rows() == []
