"""Many waiting runs of one routine: one goes, the others wait without being looked at over and over."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from routines_app import service
from routines_app.models import Pool, Routine, RoutineRun
from routines_app.protocol.end.overlap import READ_PER_KIND, active_runs
from routines_app.protocol.ledger import clock
from routines_app.protocol.publish.judge import LOOK_LATER
from routines_app.protocol.publish.outbox import admit_pools, stamp
from routines_app.protocol.publish.waiting import dispatch_waiting

pytestmark = pytest.mark.django_db(transaction=True)

TASK = "tests.acceptance.tasks.note"
SECOND = timedelta(seconds=1)


def waiting(routine: Routine, count: int, now: datetime, **values: object) -> list[RoutineRun]:
    """Runs that wait to be looked at, the first one the oldest."""
    return RoutineRun.objects.bulk_create(
        RoutineRun(
            routine=routine,
            task=TASK,
            pool=routine.pool,
            scheduled_for=now - (count - at) * SECOND,
            eligible_at=now,
            publish_after=now,
            idempotency_key=f"waiting:{at}",
            **{"trigger": "backfill"} | values,
        )
        for at in range(count)
    )


def exclusive(policy: str = "FORBID", **values: object) -> Routine:
    return service.create_routine("one at a time", task=TASK, concurrency_policy=policy, **values)


def start(run: RoutineRun, now: datetime) -> None:
    RoutineRun.objects.filter(pk=run.pk).update(
        status="RUNNING", started_at=now, running_key=run.routine_id, publish_after=None
    )


def end(run: RoutineRun, now: datetime) -> None:
    RoutineRun.objects.filter(pk=run.pk).update(status="SUCCESS", completed_at=now, running_key=None)


def test_a_forbid_backlog_sends_only_its_oldest_run():
    """One may run, so one message goes out, also when several looks pass before a worker takes it."""
    now = clock.now()
    runs = waiting(exclusive(), 30, now)

    assert [message.run_id for message in dispatch_waiting(now, limit=10)] == [str(runs[0].pk)]
    stamp([str(runs[0].pk)], now)
    assert dispatch_waiting(now, limit=10) == dispatch_waiting(now, limit=10) == []
    assert dispatch_waiting(now + 2 * SECOND, limit=100) == []


def test_only_the_next_in_line_is_looked_at_often():
    """A backlog of thousands leaves the looks to the runs of others."""
    now = clock.now()
    waiting(exclusive(), 30, now)

    dispatch_waiting(now)

    soon = RoutineRun.objects.filter(dispatched_at=None, admitted_at=None, publish_after__lt=now + LOOK_LATER)
    assert soon.count() == 1


def test_a_backlog_goes_through_one_after_another():
    """Each run that is let through has the next one looked at: nobody waits for the late look."""
    now = clock.now()
    runs = waiting(exclusive(), 4, now)
    sent = []
    for _ in runs:
        (message,) = dispatch_waiting(now)
        sent.append(message.run_id)
        run = RoutineRun.objects.get(pk=message.run_id)
        start(run, now)
        now += 2 * SECOND
        assert dispatch_waiting(now) == []
        end(run, now)
        now += 2 * SECOND

    assert sent == [str(run.pk) for run in runs]


def test_two_admitted_runs_do_not_wait_for_each_other():
    """A policy edited to FORBID finds several let through but unsent: one of them goes."""
    now = clock.now()
    waiting(exclusive(), 2, now, admitted_at=now)

    assert len(dispatch_waiting(now)) == 1


def test_of_a_pooled_backlog_one_run_takes_room():
    """The room of a pool is not used up by runs that cannot start beside each other."""
    now = clock.now()
    Pool.objects.create(name="db", max_concurrent=10)
    waiting(exclusive(pool="db"), 20, now)
    dispatch_waiting(now)
    dispatch_waiting(now + 2 * SECOND)

    assert len(admit_pools(now + 2 * SECOND)) == 1


def test_a_backlog_is_not_read_as_a_whole():
    """Of each kind a few rows tell everything."""
    now = clock.now()
    routine = exclusive()
    waiting(routine, 5 * READ_PER_KIND, now)
    first = RoutineRun.objects.order_by("id").first()
    start(first, now)

    found = active_runs([routine.pk])[routine.pk]

    assert len(found) == 2 * READ_PER_KIND + 1
    assert [run.id for run in found if run.running] == [first.pk]


@pytest.mark.parametrize("behind", [5, 3 * READ_PER_KIND])
@pytest.mark.parametrize("trigger", ["manual", "backfill"])
def test_nobody_goes_before_the_first_in_line(behind: int, trigger: str):
    """A worker has just handed it back (`lease_held`), so it is tried again in a second; the others wait that long."""
    now = clock.now()
    runs = waiting(exclusive("QUEUE"), 1 + behind, now, trigger=trigger)
    soon = now + SECOND
    RoutineRun.objects.filter(pk=runs[0].pk).update(eligible_at=soon, publish_after=soon, reason="lease_held")

    assert dispatch_waiting(now) == []
    assert [message.run_id for message in dispatch_waiting(soon)] == [str(runs[0].pk)]


def test_of_a_replace_backlog_the_newest_run_goes():
    """A policy edited to REPLACE finds several waiting: none of them may stop one that is newer."""
    routine = exclusive("ALLOW")
    old, middle, new = (service.run_now(routine) for _ in range(3))
    now = clock.now()
    RoutineRun.objects.update(dispatched_at=None, publish_after=now)
    service.update_routine(routine, concurrency_policy="REPLACE")

    sent = dispatch_waiting(now)

    assert [message.run_id for message in sent] == [str(new.pk)]
    ended = RoutineRun.objects.filter(status="CANCELLED", reason="replaced").values_list("pk", flat=True)
    assert set(ended) == {old.pk, middle.pk}


def test_a_waiting_replace_run_does_not_stop_a_newer_one():
    """Only what is older makes room for it; a newer run has taken its place."""
    routine = exclusive("ALLOW")
    old, new = (service.run_now(routine) for _ in range(2))
    now = clock.now()
    start(new, now)
    RoutineRun.objects.filter(pk=old.pk).update(dispatched_at=None, publish_after=now)
    service.update_routine(routine, concurrency_policy="REPLACE")

    assert dispatch_waiting(now) == []
    old.refresh_from_db()
    new.refresh_from_db()
    assert (old.status, new.status, new.stop_requested_at) == ("CANCELLED", "RUNNING", None)
