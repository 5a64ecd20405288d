"""Fault 14: Redis away for a minute: ALLOW work is not lost, exclusive work waits and says why; ticks go on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from routines_app import service
from routines_app.models import RoutineRun
from tests.acceptance.conftest import StackFactory
from tests.acceptance.fault import NOTE, Fault, ready_beats
from tests.acceptance.stack import Stack
from tests.servers import EmbeddedRedis

AWAY_SECONDS = 60


@pytest.fixture
def coordination() -> Iterator[EmbeddedRedis]:
    """The Redis of leases and wake-ups, apart from the broker's."""
    server = EmbeddedRedis()
    server.start()
    yield server
    server.dispose()


@pytest.mark.slow
def test_fault_14_exclusive_work_waits_for_redis_and_all_other_work_goes_on(
    make_stack: StackFactory, coordination: EmbeddedRedis, fault: Fault
) -> None:
    """The broker stays: what needs no lease runs on time; what needs one is handed back with the reason."""
    stack: Stack = make_stack(settings={"ROUTINES": {"REDIS_URL": coordination.url()}})
    stack.worker()
    stack.beat()
    ready_beats(stack, 1)
    service.create_routine("shared", task=NOTE, every="2s")
    service.create_routine("alone", task=NOTE, every="10s", concurrency_policy="FORBID")
    done = RoutineRun.objects.filter(status="SUCCESS")
    stack.wait_until(lambda: done.filter(routine__name="alone").exists(), 30, "nothing runs")

    coordination.kill()
    away = datetime.now(UTC)
    waiting = RoutineRun.objects.filter(routine__name="alone", status="PENDING", reason="redis_away")
    stack.wait_until(waiting.exists, 30, "the exclusive run does not say why it waits")
    time.sleep(max(0.0, AWAY_SECONDS - (datetime.now(UTC) - away).total_seconds()))  # the fault's own length
    ran = done.filter(routine__name="shared", scheduled_for__gt=away).count()
    assert ran >= AWAY_SECONDS / 2 - 5
    assert not done.filter(routine__name="alone", started_at__gt=away + timedelta(seconds=2)).exists()
    late = [run.dispatched_at - run.scheduled_for for run in done.filter(routine__name="shared") if run.dispatched_at]
    assert max(late) < timedelta(seconds=3), "ticks did not go on"

    coordination.start()
    back = datetime.now(UTC)
    stack.wait_until(lambda: done.filter(routine__name="alone", started_at__gt=back).exists(), 30, "it waits on")
    first = done.filter(routine__name="alone", started_at__gt=back).earliest("started_at").started_at
    assert first is not None
    fault.recovered((first - back).total_seconds(), 10, "14: exclusive work goes on after Redis was away")
    waited = done.filter(routine__name="alone", started_at__gt=back).earliest("started_at")
    story = service.why("alone", waited.scheduled_for)
    assert "could not reach Redis, where its lease is" in str(story), str(story)
    fault.balances(stack, until=back)
