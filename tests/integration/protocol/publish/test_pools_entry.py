"""Pooled slots at the claim: straight to the broker where there is room for all of them, into the queue otherwise."""

from __future__ import annotations

import pytest
from django.db import connection

from routines_app import service
from routines_app.models import Pool, RoutineRun
from routines_app.protocol.claim.claim import ClaimReport, claim_due
from routines_app.protocol.ledger import clock
from routines_app.protocol.publish.pools import admit_pools
from tests.integration.protocol.claim.test_claim import TASK, rewind

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif("connection.vendor != 'postgresql'", reason="elsewhere every pooled run queues first"),
]


def claimed(*names: str, pool: str = "db", **fields: object) -> ClaimReport:
    """One due slot for each of these new routines of a pool, claimed together."""
    for name in names:
        service.create_routine(name, task=TASK, every="10s", pool=pool, **fields)
        rewind(name, seconds=10)
    return claim_due(clock.now())


def in_flight() -> int:
    return RoutineRun.objects.filter(status="PENDING", admitted_at__isnull=False).count()


def test_where_there_is_room_for_all_nobody_queues() -> None:
    """The rows are let through as they are written, and count against the ceiling from then on."""
    Pool.objects.create(name="db", max_concurrent=3)
    report = claimed("a", "b")
    assert (len(report.messages), report.pooled, in_flight()) == (2, False, 2)
    assert {run.reason for run in RoutineRun.objects.all()} == {""}

    report = claimed("c", "d")
    assert (len(report.messages), report.pooled, in_flight()) == (0, True, 2)
    assert len(admit_pools(clock.now())) == 1
    assert in_flight() == 3


def test_who_waits_goes_before_who_comes() -> None:
    """With somebody in the queue a new run joins it, whatever the room: rank decides, not the moment of the claim."""
    pool = Pool.objects.create(name="db", max_concurrent=1)
    claimed("a", "b")
    pool.max_concurrent = 10
    pool.save()
    report = claimed("c")
    assert (report.messages, report.pooled) == ([], True)
    assert len(admit_pools(clock.now())) == 3


def test_pools_are_judged_one_by_one() -> None:
    """A full pool does not hold up another's runs in the same claim."""
    Pool.objects.create(name="full", max_concurrent=1)
    Pool.objects.create(name="free", max_concurrent=5)
    for name, pool in (("a", "full"), ("b", "full"), ("c", "free")):
        service.create_routine(name, task=TASK, every="10s", pool=pool)
        rewind(name, seconds=10)
    report = claim_due(clock.now())
    assert [message.routine for message in report.messages] == ["c"]
    assert report.pooled


def test_a_pool_that_somebody_counts_at_the_moment_is_left_to_them() -> None:
    """Two beats never count the same room: the lock decides, and nobody waits for it."""
    Pool.objects.create(name="db", max_concurrent=5)
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("SELECT 1 FROM routines_pool FOR NO KEY UPDATE")
        report = claimed("a")
        assert (report.messages, report.pooled) == ([], True)
    finally:
        other.close()
    assert len(admit_pools(clock.now())) == 1


def test_what_waits_for_its_time_does_not_take_room() -> None:
    """A jittered slot that is not eligible yet is held by that, and its pool hears of it later."""
    Pool.objects.create(name="db", max_concurrent=5)
    report = claimed("late", jitter_ms=86_400_000, misfire_grace_ms=86_400_000)
    run = RoutineRun.objects.get()
    assert (run.reason, run.admitted_at, report.messages) == ("not_yet", None, [])
