"""Claims on a real database: what becomes a row, and where the schedule stands afterwards."""

from __future__ import annotations

from datetime import timedelta

import pytest

from routines_app import service
from routines_app.models import Pool, Routine, RoutineRun, RoutineState
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.ledger import clock
from routines_app.protocol.publish.outbox import admit_pools
from routines_app.verbs.replan import replan_forgotten

pytestmark = pytest.mark.django_db(transaction=True)

TASK = "tests.acceptance.tasks.note"


def rewind(name: str, **by: float) -> RoutineState:
    """Move a routine's plan into the past, as if nobody had looked at it since."""
    state = RoutineState.objects.get(routine__name=name)
    back = timedelta(**by)
    state.last_slot = (state.last_slot or clock.now()) - back
    state.next_slot -= back
    state.next_run_at -= back
    state.save()
    return state


def test_a_due_slot_becomes_one_pending_run():
    """The run stands for the slot, and the state points to the next one on the same grid."""
    service.create_routine("tick", task=TASK, every="10s")
    before = rewind("tick", seconds=10)

    report = claim_due(clock.now())

    assert report.fired == 1
    assert len(report.messages) == 1
    run = RoutineRun.objects.get()
    assert run.status == "PENDING"
    assert run.scheduled_for == before.next_slot
    after = RoutineState.objects.get()
    assert after.next_slot == before.next_slot + timedelta(seconds=10) == run.next_planned_for


def test_claiming_again_finds_nothing():
    """What was claimed is not due any more."""
    service.create_routine("tick", task=TASK, every="10s")
    rewind("tick", seconds=10)
    claim_due(clock.now())

    assert claim_due(clock.now()).claimed == 0
    assert RoutineRun.objects.count() == 1


def test_missed_slots_are_skipped_in_one_row():
    """SKIP: a long outage leaves one row that stands for all the missed slots, and fresh ones fire."""
    service.create_routine("tick", task=TASK, every="10s", misfire_grace_ms=15_000)
    rewind("tick", hours=1)

    claim_due(clock.now())

    skipped = RoutineRun.objects.get(status="SKIPPED")
    fired = RoutineRun.objects.filter(status="PENDING").count()
    assert skipped.reason == "misfire"
    assert skipped.occurrences + fired == 360
    assert fired in (1, 2)


@pytest.mark.parametrize("schedule", [{"every": "5s"}, {"cron": "*/5 * * * * *"}])
def test_of_several_slots_that_are_due_skip_fires_only_the_newest(schedule: dict[str, str]):
    """A minute without a beat, all of it within the grace: one run, and one row for the eleven before it."""
    service.create_routine("tick", task=TASK, **schedule)
    before = rewind("tick", seconds=60)
    now = before.next_slot + timedelta(seconds=57)

    report = claim_due(now)

    skipped, fired = RoutineRun.objects.order_by("scheduled_for")
    assert (skipped.status, skipped.reason, skipped.occurrences) == ("SKIPPED", "misfire", 11)
    assert (fired.status, fired.trigger) == ("PENDING", "schedule")
    assert fired.scheduled_for == skipped.next_planned_for == before.next_slot + timedelta(seconds=55)
    assert (report.fired, report.skipped) == (1, 11)
    assert RoutineState.objects.get().next_slot == before.next_slot + timedelta(seconds=60)


def test_forbid_skips_a_slot_that_finds_its_routine_active():
    """The slot is in the ledger with the reason."""
    service.create_routine("tick", task=TASK, every="10s", concurrency_policy="FORBID")
    rewind("tick", seconds=10)
    claim_due(clock.now())
    claim_due(clock.now() + timedelta(seconds=10))

    assert sorted(RoutineRun.objects.values_list("status", "reason")) == [("PENDING", ""), ("SKIPPED", "overlap")]


def test_a_pooled_run_waits_in_its_pool():
    """Where there is not room for all, the claim lets none through: rank decides which."""
    Pool.objects.create(name="db", max_concurrent=1)
    for name in ("a", "b"):
        service.create_routine(name, task=TASK, every="10s", pool="db")
        rewind(name, seconds=10)

    assert claim_due(clock.now()).messages == []
    assert len(admit_pools(clock.now())) == 1
    assert admit_pools(clock.now()) == []
    assert sorted(RoutineRun.objects.values_list("reason", flat=True)) == ["", "ceiling"]


def test_replace_asks_the_running_run_to_stop_and_holds_the_new_one():
    """The old run keeps its row until it is gone; what only waits is cancelled at once."""
    service.create_routine("tick", task=TASK, every="10s", concurrency_policy="REPLACE")
    rewind("tick", seconds=10)
    now = clock.now()
    claim_due(now)
    RoutineRun.objects.update(status="RUNNING", started_at=now, running_key=1)
    claim_due(now + timedelta(seconds=10))

    old, new = RoutineRun.objects.order_by("scheduled_for")
    assert (old.status, old.stop_reason) == ("RUNNING", "replaced")
    assert old.stop_requested_at is not None
    assert (new.status, new.reason, new.admitted_at) == ("PENDING", "replacing", None)


def test_all_catches_up_one_slot_after_another():
    """While one missed slot's run is active the schedule stands still, and then goes on."""
    service.create_routine("tick", task=TASK, every="10s", catch_up_policy="ALL", misfire_grace_ms=1000)
    rewind("tick", seconds=60)
    now = clock.now()

    assert claim_due(now).fired == 1
    state = RoutineState.objects.get()
    assert (state.next_run_at, state.next_source) == (None, "catching-up")
    run = RoutineRun.objects.get()
    assert run.trigger == "catch_up"
    assert state.next_slot == run.scheduled_for + timedelta(seconds=10)


def test_a_schedule_that_cannot_be_computed_is_parked_and_others_go_on():
    """A bad cron written by plain SQL takes out its own routine only, and says why."""
    bad = service.create_routine("bad", task=TASK, cron="* * * * *")
    service.create_routine("good", task=TASK, every="10s")
    type(bad).objects.filter(pk=bad.pk).update(cron="61 * * * *")
    rewind("bad", minutes=1)
    rewind("good", seconds=10)

    assert claim_due(clock.now()).fired == 1
    bad.refresh_from_db()
    assert bad.status == "PARKED"
    assert "cannot be computed" in bad.pause_reason
    assert RoutineState.objects.get(routine=bad).next_run_at is None


def test_an_edit_by_plain_sql_is_noticed_and_replanned():
    """The fingerprint differs, so nothing fires by the old plan."""
    routine = service.create_routine("tick", task=TASK, every="10s")
    type(routine).objects.filter(pk=routine.pk).update(interval_ms=3_600_000)
    rewind("tick", seconds=10)

    assert claim_due(clock.now()).fired == 0
    state = RoutineState.objects.get()
    assert state.next_slot > clock.now() + timedelta(minutes=50)


def test_a_routine_created_behind_the_services_back_gets_a_plan():
    """A plain insert leaves no state; the beat's repair makes it up."""
    Routine.objects.create(name="plain", task=TASK, trigger_kind="INTERVAL", interval_ms=60_000)

    assert replan_forgotten() == (1, 0)
    assert RoutineState.objects.get().next_run_at is not None
    assert replan_forgotten() == (0, 0)


def test_ten_years_of_missed_seconds_are_one_row_of_one_claim():
    """A cron by the second that no beat has looked at: the newest slot fires, the rest is counted."""
    service.create_routine("tick", task=TASK, cron="* * * * * *", misfire_grace_ms=2_000)
    before = rewind("tick", days=3_650)
    now = before.next_slot + timedelta(days=3_650)

    report = claim_due(now)

    skipped, fired = RoutineRun.objects.order_by("scheduled_for")
    assert (skipped.reason, skipped.occurrences) == ("misfire", 3_650 * 86_400)
    assert skipped.scheduled_until + timedelta(seconds=1) == skipped.next_planned_for == fired.scheduled_for == now
    assert (report.left, RoutineState.objects.get().next_slot) == (False, now + timedelta(seconds=1))
