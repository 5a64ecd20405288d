"""REPLACE makes room, also for a run whose rival does not go, and in a pool that the rival fills."""

from __future__ import annotations

from datetime import timedelta

import pytest

from routines_app import service
from routines_app.core.words import Reason, RunStatus
from routines_app.models import Pool, RoutineRun
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.ledger import clock
from routines_app.protocol.publish.pools import admit_pools
from routines_app.protocol.publish.waiting import dispatch_waiting
from routines_app.protocol.run.start import start
from tests.integration.protocol.claim.test_claim import TASK, rewind

pytestmark = pytest.mark.usefixtures("ledger")


@pytest.mark.parametrize("pool", [None, "db"])
def test_a_slot_ends_a_run_that_outlived_its_grace(pool: str | None) -> None:
    """The new run waits for a look, ends the old one then, and goes; a full pool must not keep both for ever."""
    Pool.objects.create(name="db", max_concurrent=1)
    service.create_routine("a", task=TASK, every="10s", pool=pool, concurrency_policy="REPLACE")
    old = fired(1)
    start(old.pk, "worker")
    service.cancel_run(old)
    RoutineRun.objects.filter(pk=old.pk).update(stop_requested_at=clock.now() - timedelta(minutes=1))

    new = fired(2)
    assert (new.reason, new.admitted_at) == (Reason.REPLACING, None)
    later = clock.now() + timedelta(seconds=2)
    messages = [*dispatch_waiting(later), *admit_pools(later)]

    old.refresh_from_db()
    assert (old.status, old.reason) == (RunStatus.CANCELLED, Reason.CANCELLED)
    assert [message.run_id for message in messages] == [str(new.pk)]


def fired(slots: int) -> RoutineRun:
    """The newest run, after another slot has come and been claimed."""
    rewind("a", seconds=10 + slots)
    claim_due(clock.now())
    admit_pools(clock.now())
    assert RoutineRun.objects.count() == slots
    return RoutineRun.objects.order_by("id").last() or RoutineRun()
