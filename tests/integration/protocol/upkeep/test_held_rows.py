"""The upkeep while somebody holds rows, or when a part of it cannot be done: the rest is done all the same."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError, ProgrammingError, connection
from django.utils import timezone

from routines_app import service
from routines_app.conf import get_settings
from routines_app.core.words import RunStatus
from routines_app.models import Node, RoutineRun
from routines_app.protocol.record.facts import RunFacts
from routines_app.protocol.run.start import Started, start
from routines_app.protocol.upkeep import locked, nodes, orphans, reconcile
from routines_app.protocol.upkeep.orphans import Observer, orphan_silent
from tests.acceptance.ringing import ring, routine
from tests.integration.conftest import NOTE
from tests.integration.holding import held, key_of, needs_postgresql, needs_row_locks, stranger

pytestmark = pytest.mark.usefixtures("ledger", "short_lived_threads")

NOW = timezone.now()
LONG_SILENT = 1_000.0


def begin(name: str = "plain", **policies: object) -> RunFacts:
    begun = start(ring(routine(name, **policies), send=False).id, "gone")
    assert isinstance(begun, Started)
    return begun.facts


def status(run: RunFacts) -> str:
    return RoutineRun.objects.get(id=run.id).status


def silent(*runs: RunFacts) -> Observer:
    """A beat that has seen these runs' hearts stand still for long."""
    observer = Observer()
    orphan_silent(observer, NOW, 0.0)
    return observer


@needs_row_locks
@pytest.mark.parametrize(("table", "column"), [("routinestate", "routine_id"), ("routine", "id")])
def test_an_orphan_whose_routine_somebody_holds_is_left_and_named(
    table: str, column: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The others are ended in the same pass, and this one in the first one after that: its count goes on."""
    stuck, other = begin("stuck"), begin("other")
    observer = silent(stuck, other)
    with held(table, column, [stuck.routine_id]):
        assert orphan_silent(observer, NOW, LONG_SILENT) == 1
        assert orphan_silent(observer, NOW, LONG_SILENT + 1) == 0
        assert (status(stuck), status(other)) == (RunStatus.RUNNING, RunStatus.FAILED)
    assert orphan_silent(observer, NOW, LONG_SILENT + 2) == 1
    assert len([line for line in caplog.messages if "stuck" in line and "somebody else holds" in line]) == 1


@needs_row_locks
def test_a_run_whose_own_row_somebody_holds_is_counted_from_the_beginning() -> None:
    """Its worker could not write there either, so its silence proves nothing."""
    run = begin()
    observer = silent(run)
    with held("routinerun", "id", [key_of(run.id)]):
        assert orphan_silent(observer, NOW, LONG_SILENT) == 0
    assert orphan_silent(observer, NOW, LONG_SILENT + 1) == 0
    assert orphan_silent(observer, NOW, LONG_SILENT + 2) == 0
    assert orphan_silent(observer, NOW, LONG_SILENT + 2 + get_settings().orphan_seconds) == 1


@needs_postgresql
def test_a_row_that_somebody_only_refers_to_is_not_held() -> None:
    """A project's row with a foreign key to the run, in a transaction that is still open."""
    run = begin()
    observer = silent(run)
    with stranger() as other:
        with other.cursor() as cursor:
            cursor.execute("SELECT 1 FROM routines_routinerun WHERE id = %s FOR KEY SHARE", [run.id])
        assert orphan_silent(observer, NOW, LONG_SILENT) == 1
    assert status(run) == RunStatus.FAILED


@needs_postgresql
def test_a_heartbeat_that_cannot_be_read_hides_no_orphan() -> None:
    """It is taken away, and the count of that run begins."""
    broken, other = begin("broken"), begin("other")
    observer = silent(broken, other)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE routines_routinerun SET heartbeat_at = 'infinity' WHERE id = %s", [broken.id])
    assert orphan_silent(observer, NOW, LONG_SILENT) == 1
    assert status(other) == RunStatus.FAILED
    assert RoutineRun.objects.get(id=broken.id).heartbeat_at is None
    assert orphan_silent(observer, NOW, 2 * LONG_SILENT) == 1


def test_a_part_that_fails_harms_neither_the_others_nor_the_count(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is said once, until it changes; and that it is over."""
    run, observer = begin(), Observer()

    def fail(*_: Any) -> int:
        raise ProgrammingError("permission denied for table routines_node")

    monkeypatch.setattr(reconcile, "has_turn", lambda: True)
    with monkeypatch.context() as patch:
        patch.setattr(nodes, "forget_gone", fail)
        patch.setattr(reconcile, "republish_lost", fail)
        for moment in (0.0, 10.0, LONG_SILENT):
            report = reconcile.reconcile_once(NOW, observer, moment)
    assert report.orphaned == 1
    assert status(run) == RunStatus.FAILED
    reconcile.reconcile_once(NOW, observer, LONG_SILENT)
    assert len([line for line in caplog.messages if "gone_nodes" in line and "permission denied" in line]) == 1
    assert any("gone_nodes" in line and "works again" in line for line in caplog.messages)


def test_a_conflict_does_not_start_the_count_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deadlock, or a snapshot that could not be kept, is no outage: it is tried again with what was seen."""
    run = begin()
    observer = silent(run)
    read, conflicts = orphans.running_heartbeats, [OperationalError()]
    conflicts[0].__cause__ = Exception(1213, "Deadlock found when trying to get lock")

    def meet_others(now: datetime) -> list[orphans.Heartbeat]:
        if conflicts:
            raise conflicts.pop()
        return read(now)

    monkeypatch.setattr(orphans, "running_heartbeats", meet_others)
    assert reconcile.reconcile_once(NOW, observer, LONG_SILENT).orphaned == 1
    assert (conflicts, status(run)) == ([], RunStatus.FAILED)


def test_an_outage_ends_the_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop hears of it and backs off."""
    monkeypatch.setattr(reconcile, "has_turn", lambda: True)

    def away(*_: Any) -> int:
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(nodes, "forget_gone", away)
    with pytest.raises(OperationalError):
        reconcile.reconcile_once(NOW, Observer(), 0.0)


@needs_row_locks
def test_a_routine_that_stands_still_because_of_a_held_row_is_named(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its state, or a run that waits: beats skip them in silence."""
    late, waits = service.create_routine("late", task=NOTE, every="1s"), routine("waits")
    run = ring(waits, send=False, publish_after=NOW - timedelta(minutes=1))
    RoutineRun.objects.filter(id=run.id).update(admitted_at=None, dispatched_at=None)
    late.state.next_run_at = NOW - timedelta(minutes=1)
    late.state.save()
    assert locked.tell_locked(NOW) == 0
    with held("routinestate", "routine_id", [late.pk]), held("routinerun", "id", [key_of(run.id)]):
        assert locked.tell_locked(NOW) == locked.tell_locked(NOW) == 2
    assert locked.tell_locked(NOW) == 0
    assert sorted(line.partition(":")[0] for line in caplog.messages) == ["routine late waits", "routine waits waits"]


@needs_postgresql
def test_a_node_whose_time_cannot_be_read_is_gone() -> None:
    """Whoever lives reports itself again."""
    node = Node.objects.create(name="beat@x:1", role="beat", host="x", pid=1, started_at=NOW, seen_at=NOW)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE routines_node SET seen_at = 'infinity' WHERE name = %s", [node.name])
    assert nodes.forget_gone(NOW) == 1


@needs_row_locks
def test_a_table_that_somebody_has_locked_ends_nobodys_life() -> None:
    """What keeps a beat from reading may keep workers from writing: the count begins anew."""
    if connection.vendor != "postgresql":
        pytest.skip("LOCK TABLE is a statement of PostgreSQL here")
    run = begin()
    observer = silent(run)
    with stranger() as other:
        with other.cursor() as cursor:
            cursor.execute("LOCK TABLE routines_routinerun IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(OperationalError):
            orphan_silent(observer, NOW, LONG_SILENT)
    assert orphan_silent(observer, NOW, LONG_SILENT + 1) == 0
    assert status(run) == RunStatus.RUNNING


def test_the_time_of_a_pass_is_shared_fairly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that could not be ended the last time come last."""
    bad, good = begin("bad"), begin("good")
    orphans._said.note(bad.id, "it failed")
    assert sorted([bad.id, good.id], key=orphans._left_before) == [good.id, bad.id]
    orphans._said.keep([])
