"""Fault 4: three beats, 10,000 routines due in the same second: 10,000 runs, each once; no tick over 2 s."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db import transaction

from routines_app.models import Node, Routine, RoutineRun, RoutineState, ScheduleChange
from routines_app.protocol.plan.planning import fingerprint_of
from tests.acceptance.conftest import StackFactory
from tests.acceptance.fault import NOTE, Fault, ready_beats
from tests.processes import stretched

COUNT = 10_000
HOUR = timedelta(hours=1)


@pytest.mark.slow
def test_fault_04_ten_thousand_routines_due_at_once_are_each_fired_once(make_stack: StackFactory, fault: Fault) -> None:
    """The beats share the burst; each message is in the broker once, and each tick stays short."""
    stack = make_stack(settings={"ROUTINES": {"IMPORT_BEAT_SCHEDULE": False}})
    ticks = stack.directory / "ticks"
    create_hourly()
    for _ in range(3):
        stack.beat(ROUTINES_TICK_LOG=str(ticks))
    ready_beats(stack, 3)
    due = make_due_in(stretched(4))  # three updates of 10,000 rows, before the moment that they name

    stack.wait_until(
        lambda: RoutineRun.objects.filter(dispatched_at__isnull=False).count() == COUNT, 60, "not all were published"
    )

    last = max(RoutineRun.objects.values_list("dispatched_at", flat=True))
    fault.recovered((last - due).total_seconds(), 20, "4: 10,000 due at once, the last one published")
    client = stack.redis.client()
    assert sum(client.llen(key) for key in client.keys("celery*") if client.type(key) == b"list") == COUNT
    assert RoutineRun.objects.count() == COUNT
    slowest = max(float(line) for line in ticks.read_text().split())
    fault.recovered(slowest, 2, "4: the slowest tick of three beats")
    assert Node.objects.filter(role="beat").count() == 3
    fault.balances(stack, until=due)


def create_hourly() -> None:
    """What 10,000 calls of the service would leave, in three statements; nothing is due for an hour."""
    now = datetime.now(UTC)
    routines = [
        Routine(name=f"r{n}", task=NOTE, trigger_kind="INTERVAL", interval_ms=3_600_000, created_at=now)
        for n in range(COUNT)
    ]
    routines = Routine.objects.bulk_create(routines, batch_size=2000)
    plan = {"next_slot": now + HOUR, "next_run_at": now + HOUR, "next_source": "baseline-interval"}
    RoutineState.objects.bulk_create(
        [RoutineState(routine=r, fingerprint=fingerprint_of(r), **plan) for r in routines], batch_size=2000
    )
    made = {"kind": "created", "at": now, "next_slot": now + HOUR}
    ScheduleChange.objects.bulk_create(
        [ScheduleChange(routine=r, routine_name=r.name, **made) for r in routines], batch_size=2000
    )


def make_due_in(seconds: float) -> datetime:
    """As if all of them had been created almost an hour ago; the beats see it at once or not at all."""
    with transaction.atomic():
        due = datetime.now(UTC) + timedelta(seconds=seconds)
        Routine.objects.update(created_at=due - HOUR)
        ScheduleChange.objects.update(at=due - HOUR, next_slot=due)
        RoutineState.objects.update(next_slot=due, next_run_at=due)
    assert datetime.now(UTC) < due, "the machine is too slow to prepare the burst in time"
    return due
