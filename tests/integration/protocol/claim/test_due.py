"""Due routines as a claim reads them: times that can be counted with, and rows that belong together."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from routines_app import service
from routines_app.models import Routine, RoutineRun, RoutineState
from routines_app.protocol.claim import due
from routines_app.protocol.claim.due import DueRow, take_due
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import fast_rows, sql
from tests.processes import wait_for

pytestmark = pytest.mark.django_db(transaction=True)

TASK = "tests.acceptance.tasks.note"
SECOND = timedelta(seconds=1)
MOMENT = datetime(2024, 2, 29, 23, 59, 59, 999001, tzinfo=UTC)
TIMES = ("scheduled_for", "eligible_at", "admitted_at", "completed_at")


def make_due(**values: Any) -> Routine:
    routine = service.create_routine("nightly", task=TASK, every="10s", **values)
    slot = clock.now() - SECOND
    RoutineState.objects.update(last_slot=slot - 10 * SECOND, next_slot=slot, next_run_at=slot)
    return routine


def taken() -> list[DueRow]:
    with transaction.atomic():
        return take_due(clock.now(), 10).rows


@pytest.mark.each_database
def test_a_due_row_has_the_times_that_the_orm_reads():
    """Each of them aware, down to the microsecond, and None where there is none."""
    routine = make_due(start_at=MOMENT, end_at=MOMENT.replace(year=2096))
    RoutineState.objects.update(hint_next_at=MOMENT, hint_next_expires_at=MOMENT, release_until=None)

    (row,) = taken()

    routine.refresh_from_db()
    state = RoutineState.objects.get()
    read = {name: value for name, value in row._asdict().items() if name not in ("args", "kwargs", "options")}
    for owner in (routine, state):
        known = {field.attname: getattr(owner, field.attname) for field in owner._meta.concrete_fields}
        assert {name: value for name, value in known.items() if name in read} == {
            name: read[name] for name in known if name in read
        }
    times = [value for value in row if isinstance(value, datetime)]
    assert len(times) == 8
    assert {time.utcoffset() for time in times} == {timedelta()}


@pytest.mark.each_database
@pytest.mark.parametrize("moment", [MOMENT, MOMENT.replace(microsecond=0), MOMENT.replace(year=1972)])
def test_fast_rows_are_the_rows_of_the_orm(moment: datetime):
    """What was written comes back as an aware time of the same instant, whichever way it is read."""
    routine = make_due()
    RoutineRun.objects.create(
        routine=routine, task=TASK, scheduled_for=moment, eligible_at=moment, admitted_at=moment, idempotency_key="k"
    )
    rows = RoutineRun.objects.values_list("id", "routine__name", *TIMES)

    (row,) = fast_rows(rows)

    assert [tuple(row)] == list(rows)
    assert row[2:] == (moment, moment, moment, None)
    assert {time.utcoffset() for time in row[2:5]} == {timedelta()}


@pytest.mark.each_database
def test_reading_fast_changes_nothing_for_other_readers():
    """The reader of times belongs to one cursor, not to the connection that the project's own code uses."""
    make_due()
    before = RoutineState.objects.get().next_slot
    list(fast_rows(RoutineState.objects.values_list("next_slot")))
    after = RoutineState.objects.get().next_slot

    assert (after, type(after.tzinfo)) == (before, type(before.tzinfo))


@pytest.mark.skipif("not connection.features.has_select_for_update_skip_locked", reason="nobody is passed by here")
def test_a_routine_that_is_being_edited_is_passed_by_and_taken_whole_afterwards():
    """The edit holds the state's lock; nobody waits for it, and what is read after it is all of it."""
    routine = make_due()
    found: list[DueRow] = []
    with transaction.atomic():
        edit(routine)
        beside(lambda: found.extend(taken())).join(10)
        assert found == []

    beside(lambda: found.extend(taken())).join(10)
    assert_edited(found)


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="holds a statement of PostgreSQL's up")
def test_an_edit_that_commits_between_the_look_and_the_lock_is_seen_whole(monkeypatch: pytest.MonkeyPatch):
    """The look found the old state and the lock gets the new one: the routine must be the new one as well."""
    routine = make_due()
    found: list[DueRow] = []
    with the_look_held_up(monkeypatch):
        taking = beside(lambda: found.extend(taken()))
        wait_for(somebody_is_held_up, 10, "nobody looks")
        with transaction.atomic():
            edit(routine)
    taking.join(10)

    assert_edited(found)


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="holds a statement of PostgreSQL's up")
def test_an_edit_that_commits_between_the_look_and_the_lock_may_move_the_routine_away(monkeypatch: pytest.MonkeyPatch):
    """What the look found due is not due any more when it is locked, and is left alone."""
    routine = make_due()
    found: list[DueRow] = []
    with the_look_held_up(monkeypatch):
        taking = beside(lambda: found.extend(taken()))
        wait_for(somebody_is_held_up, 10, "nobody looks")
        service.update_routine(routine, every="1h")
    taking.join(10)

    assert not taking.is_alive()
    assert found == []


def edit(routine: Routine) -> None:
    """What an edit does, except that the routine is still due: the state's lock first, then both rows."""
    state = RoutineState.objects.select_for_update().get(pk=routine.pk)
    Routine.objects.filter(pk=routine.pk).update(task="edited", timeout_ms=7_000)
    RoutineState.objects.filter(pk=state.pk).update(fingerprint="edited", failure_count=7)


def assert_edited(found: list[DueRow]) -> None:
    edited = [(row.task, row.timeout_ms, row.fingerprint, row.failure_count) for row in found]
    assert edited == [("edited", 7_000, "edited", 7)]


def beside(act: Any) -> threading.Thread:
    """Do it on another connection."""

    def run() -> None:
        try:
            act()
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


@contextmanager
def the_look_held_up(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Until the end of the block, the statement that takes due routines waits after it has begun to look.

    Its snapshot is of the time before: it has found what it will try to lock.
    """
    gate = "(SELECT pg_advisory_lock_shared(1)) IS NOT NULL AND "
    monkeypatch.setattr(due, "sql", lambda name: sql(name).replace("next_run_at <=", f"{gate}next_run_at <="))
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(1)")
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(1)")


def somebody_is_held_up() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = database"
            " WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted)"
        )
        (waits,) = cursor.fetchone()
        return bool(waits)
