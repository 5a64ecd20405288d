"""A start whose rows somebody holds: it waits for a moment, and leaves its worker to the other runs."""

from __future__ import annotations

import pytest
from django.db import connection, transaction

from routines_app.coordination import leases
from routines_app.core.words import ConcurrencyPolicy, Reason, RunStatus
from routines_app.protocol.run import begin
from routines_app.protocol.run.start import Refused, RowHeld, Started, start
from tests.integration.holding import held, needs_row_locks, row_locked
from tests.integration.protocol.conformance.rows import columns, make_routine, make_run, state_columns

pytestmark = [pytest.mark.django_db(transaction=True), needs_row_locks, pytest.mark.usefixtures("redis_client")]

POLICIES = [ConcurrencyPolicy.ALLOW, ConcurrencyPolicy.FORBID]


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(begin, "LOCK_MS", 100)


@pytest.mark.timeout(30)
@pytest.mark.parametrize("policy", POLICIES)
def test_a_run_whose_own_row_is_held_is_left_as_it_is(policy: ConcurrencyPolicy) -> None:
    """Nothing can be written; when the row is free, the next message starts it."""
    run = make_run(make_routine(concurrency_policy=policy))
    before, state = columns(run), state_columns(run.routine)
    hint = run.routine_id if policy == ConcurrencyPolicy.FORBID else False
    with row_locked(run.id):
        assert start(run.id, "me@here", exclusive=hint) == RowHeld()
    assert columns(run) == before
    assert state_columns(run.routine) == state
    assert leases.holder(run.routine_id) is None
    assert isinstance(start(run.id, "me@here", exclusive=hint), Started)


@pytest.mark.timeout(30)
def test_an_exclusive_run_whose_state_is_held_is_handed_back() -> None:
    """With a reason that people see, and without the lease or a higher fence."""
    run = make_run(make_routine(concurrency_policy=ConcurrencyPolicy.FORBID))
    state = state_columns(run.routine)
    with held("routinestate", "routine_id", [run.routine_id]):
        assert start(run.id, "me@here", exclusive=run.routine_id) == Refused(Reason.ROUTINE_HELD)
    run.refresh_from_db()
    assert (run.status, run.reason, run.dispatched_at) == (RunStatus.PENDING, Reason.ROUTINE_HELD, None)
    assert state_columns(run.routine) == state
    assert leases.holder(run.routine_id) is None


@pytest.mark.skipif(connection.vendor != "postgresql", reason="elsewhere limits are not the transaction's")
@pytest.mark.parametrize("policy", POLICIES)
def test_a_callers_transaction_keeps_its_own_limits(policy: ConcurrencyPolicy) -> None:
    """An eager run starts inside of it; and a start by itself leaves nothing on the connection."""
    run, other = (make_run(make_routine(concurrency_policy=policy)) for _ in range(2))
    hint = policy == ConcurrencyPolicy.FORBID

    def limit() -> str:
        with connection.cursor() as cursor:
            cursor.execute("SHOW lock_timeout")
            return str(cursor.fetchone()[0])

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL lock_timeout = '7s'")
        assert isinstance(start(run.id, "me@here", exclusive=hint, lease=False), Started)
        assert limit() == "7s"
    assert isinstance(start(other.id, "me@here", exclusive=hint), Started)
    assert limit() == "0"
