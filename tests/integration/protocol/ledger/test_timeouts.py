"""A beat's transactions: limits that nobody else feels, and the isolation that our decisions need."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext, suppress
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext

from routines_app import service
from routines_app.models import Pool, RoutineState
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database_errors import Trouble, trouble_of
from routines_app.protocol.ledger.timeouts import IDLE_MS, QUICK_LOCK_MS, STATEMENT_MS, bounded, run_bounded
from tests.integration.conftest import NOTE
from tests.integration.holding import held, needs_postgresql, needs_row_locks
from tests.integration.protocol.claim.test_claim import rewind

pytestmark = pytest.mark.usefixtures("ledger")

POSTGRESQL = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout", "transaction_isolation")
MARIADB = ("innodb_lock_wait_timeout", "max_statement_time", "idle_transaction_timeout")


def limits() -> dict[str, Any]:
    """What the session says of them at this moment."""
    names = POSTGRESQL if connection.vendor == "postgresql" else MARIADB
    shown = [f"current_setting('{name}')" if names is POSTGRESQL else f"@@SESSION.{name}" for name in names]
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(shown)}")
        return dict(zip(names, cursor.fetchone(), strict=True))


@needs_row_locks
def test_the_limits_hold_inside_and_are_gone_afterwards() -> None:
    """Nested ones too, and after an error."""
    before = limits()
    with bounded():
        first = limits()
        assert first != before
        with bounded(lock_ms=QUICK_LOCK_MS):
            pass
    assert limits() == before
    with pytest.raises(ZeroDivisionError), bounded():
        raise ZeroDivisionError
    assert limits() == before
    if connection.vendor == "postgresql":
        expected = ["500ms", f"{STATEMENT_MS // 1000}s", f"{IDLE_MS // 1000}s", "read committed"]
        assert list(first.values()) == expected


@needs_row_locks
def test_a_callers_own_transaction_has_its_own_limits_afterwards() -> None:
    """A verb inside `atomic()`: what the caller does next may take as long as before, whatever became of the verb."""
    with transaction.atomic():
        before = limits()
        service.prune_runs(1)
        with bounded():
            inside = limits()
            with bounded(lock_ms=QUICK_LOCK_MS):
                pass
            assert limits() == inside
        assert limits() == before
        with suppress(ZeroDivisionError), bounded():
            raise ZeroDivisionError
        assert limits() == before
    assert inside != before


@pytest.mark.skipif(connection.vendor != "mysql", reason="limits of a session, which an error does not end")
def test_a_deadlock_inside_a_callers_transaction_leaves_no_limits_behind() -> None:
    """The server has rolled all of it back, the savepoint too: Django refuses every statement until the caller ends."""

    def meet_a_deadlock() -> None:
        with connection.cursor() as cursor:
            cursor.execute("ROLLBACK")
        raise OperationalError from Exception(1213, "Deadlock found when trying to get lock")

    before = limits()
    with pytest.raises(OperationalError), transaction.atomic(), bounded():
        meet_a_deadlock()
    assert limits() == before


@needs_row_locks
def test_what_a_caller_has_set_is_as_it_was_after_run_now_on_a_pooled_routine() -> None:
    """It lets runs into the pool on the caller's own connection, whose queries may take as long as they like."""
    Pool.objects.create(name="narrow", max_concurrent=1)
    service.create_routine("pooled", task=NOTE, pool="narrow")
    before = limits()
    service.run_now("pooled")
    assert limits() == before


@needs_row_locks
def test_a_row_that_somebody_holds_is_not_waited_for_long() -> None:
    """And the error says what it was."""
    routine = service.create_routine("held", task=NOTE)
    with held("routinestate", "routine_id", [routine.pk]), pytest.raises(OperationalError) as refused, bounded():
        RoutineState.objects.select_for_update().get(pk=routine.pk)
    assert trouble_of(refused.value) is Trouble.LOCKED


WITHIN_LIMITS = """
    UPDATE routines_routinestate SET fence = fence WHERE routine_id = %s AND
    current_setting('lock_timeout') = '500ms' AND current_setting('statement_timeout') = '10s' AND
    current_setting('transaction_isolation') = 'read committed'
"""


@needs_postgresql
@pytest.mark.parametrize("how", ["by itself", "inside a transaction", "bound by the server"])
def test_one_bounded_statement_is_one_round_trip(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the limits of every other, and where it cannot be one, in a transaction."""
    routine = service.create_routine("held", task=NOTE)
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "server_side_binding", how == "bound by the server")
    before = limits()
    around = transaction.atomic() if how == "inside a transaction" else nullcontext()
    with around, CaptureQueriesContext(connection) as sent:
        assert run_bounded(WITHIN_LIMITS, [routine.pk]) == 1
    assert (len(sent) == 1) is (how == "by itself")
    assert limits() == before
    with held("routinestate", "routine_id", [routine.pk]), pytest.raises(OperationalError) as refused:
        run_bounded(WITHIN_LIMITS, [routine.pk])
    assert trouble_of(refused.value) is Trouble.LOCKED
    assert limits() == before


@pytest.fixture
def repeatable_read(ledger: None) -> Iterator[None]:
    """The project has asked for an isolation that our decisions cannot use."""
    if connection.vendor == "sqlite":
        pytest.skip("SQLite has one isolation")
    level = "REPEATABLE READ"
    scope = "CHARACTERISTICS AS TRANSACTION" if connection.vendor == "postgresql" else "TRANSACTION"
    with connection.cursor() as cursor:
        cursor.execute(f"SET SESSION {scope} ISOLATION LEVEL {level}")
    yield
    connection.close()


@pytest.mark.usefixtures("repeatable_read")
def test_a_beat_reads_what_was_committed_whatever_the_project_has_set() -> None:
    """Within one transaction it sees what others have committed meanwhile, as our locks need it."""
    routine = service.create_routine("report", task=NOTE)
    state = RoutineState.objects.filter(pk=routine.pk)
    other = connection.copy()
    try:
        with bounded():
            assert state.get().fence == 0
            with other.cursor() as cursor:
                cursor.execute("UPDATE routines_routinestate SET fence = 5 WHERE routine_id = %s", [routine.pk])
            assert state.get().fence == 5
    finally:
        other.close()


@pytest.mark.usefixtures("repeatable_read")
def test_inside_a_callers_transaction_theirs_is_the_isolation() -> None:
    """Only the first statement of a transaction may set it."""
    with transaction.atomic():
        RoutineState.objects.count()
        with bounded():
            RoutineState.objects.count()


@pytest.mark.usefixtures("repeatable_read")
def test_claims_work_at_repeatable_read() -> None:
    service.create_routine("tick", task=NOTE, every="10s")
    rewind("tick", seconds=10)
    assert claim_due(clock.now()).fired == 1
