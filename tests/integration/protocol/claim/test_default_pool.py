"""The default pool is everybody's: whoever holds it, or takes it away, keeps nobody from being claimed."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest
from django.db.models import F, Model

from routines_app import service
from routines_app.core.admission import LOOK_AGAIN
from routines_app.models import Pool, RoutineRun
from routines_app.protocol.claim import due
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.locks import free_keys
from routines_app.protocol.publish.pools import admit_pools
from routines_app.protocol.publish.waiting import dispatch_waiting
from tests.integration.holding import held, needs_row_locks
from tests.integration.protocol.claim.test_claim import TASK, rewind
from tests.integration.races.test_verbs import at_once

pytestmark = [pytest.mark.django_db(transaction=True), needs_row_locks]


def make_due(*names: str, **values: Any) -> None:
    for name in names:
        service.create_routine(name, task=TASK, every="10s", **values)
        rewind(name, seconds=10)


def look() -> int:
    """What a beat does a moment after its claim; how many runs may go."""
    now = clock.now() + LOOK_AGAIN
    return len([*dispatch_waiting(now), *admit_pools(now)])


def look_later() -> int:
    """The same when that moment has passed once more."""
    RoutineRun.objects.update(publish_after=F("publish_after") - 2 * LOOK_AGAIN)
    return look()


@pytest.mark.parametrize("policy", ["ALLOW", "QUEUE"])
def test_who_holds_it_keeps_nobody_from_being_claimed(policy: str, caplog: pytest.LogCaptureFixture) -> None:
    """On MariaDB another beat does that, whenever it lets runs in. They wait outside, and its ceiling holds."""
    pool = service.create_pool("default", max_concurrent=1, is_default=True)
    make_due("a", "b", concurrency_policy=policy)
    with held("pool", "id", [pool.pk]):
        report = claim_due(clock.now())
        assert (report.claimed, report.fired, report.messages, report.pooled) == (2, 2, [], True)
        assert look() == 0
        assert set(RoutineRun.objects.values_list("pool", "admitted_at", "reason")) == {(None, None, "")}
    assert (look_later(), look()) == (1, 0)
    assert RoutineRun.objects.filter(pool=pool).count() == 2
    assert caplog.messages == []


def test_a_run_whose_time_has_not_come_is_taken_in_when_it_has() -> None:
    """Jitter, here: it is not looked at any earlier for that."""
    pool = service.create_pool("default", max_concurrent=1, is_default=True)
    make_due("late", jitter_ms=3_600_000)
    with held("pool", "id", [pool.pk]):
        claim_due(clock.now())
    run = RoutineRun.objects.get()
    assert (run.pool_id, run.reason, run.publish_after) == (None, "not_yet", run.eligible_at)


def test_one_that_is_deleted_at_that_moment_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look at the routines and the lock on the pool's key: the run just goes."""
    service.create_pool("default", max_concurrent=1, is_default=True)
    make_due("a")

    def delete() -> None:
        service.update_pool("default", is_default=False)
        service.delete_pool("default")

    def raced(model: type[Model], ids: Collection[int]) -> set[int]:
        if model is Pool and ids:
            assert at_once(delete) == [None]
        return free_keys(model, ids)

    monkeypatch.setattr(due, "free_keys", raced)
    assert claim_due(clock.now()).fired == 1
    assert look() == 1
    assert RoutineRun.objects.get().pool_id is None
