"""Faults 31 and 32: a stranger holds rows, or a verb is left uncommitted: only that routine waits, and is named."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from django.db import connection, transaction

from routines_app import service
from routines_app.models import RoutineRun
from tests.acceptance.conftest import StackFactory
from tests.acceptance.fault import NOTE, SLEEPY, Fault, ready_beats
from tests.acceptance.stack import Stack
from tests.processes import stretched

FAST = {"HEARTBEAT_SECONDS": 0.5, "ORPHAN_SECONDS": 2.0, "LEASE_SECONDS": 3.0, "RECONCILE_SECONDS": 1.0}
ON_TIME = 1.5  # seconds after its slot; a beat that waits for a lock is later
HELD_SLOTS = 6
TICKS = ["tick 0", "tick 1", "tick 2"]
DOOMED = ["stuck", "edited", "row"]


@contextmanager
def stranger(stack: Stack, *statements: str) -> Iterator[None]:
    """A session of somebody else, with a transaction that it leaves open."""
    with psycopg.connect(stack.database_url) as session:
        for statement in statements:
            session.execute(statement)
        yield
        session.rollback()


@contextmanager
def open_edit(name: str) -> Iterator[None]:
    """`atomic()` around a verb, by somebody who takes long to commit."""
    edited, over = threading.Event(), threading.Event()

    def edit() -> None:
        try:
            with transaction.atomic():
                service.update_routine(name, description="edited")
                edited.set()
                over.wait(120)
        finally:
            connection.close()

    thread = threading.Thread(target=edit)
    thread.start()
    assert edited.wait(stretched(10))
    try:
        yield
    finally:
        over.set()
        thread.join()


def row_of(table: str, column: str, name: str) -> str:
    routine = f"(SELECT id FROM routines_routine WHERE name = '{name}')"
    return f"SELECT 1 FROM routines_{table} WHERE {column} = {routine} FOR UPDATE"


def orphans_of_a_dead_worker(stack: Stack) -> None:
    """One RUNNING run of each of the routines, whose worker is gone."""
    worker = stack.worker(concurrency=len(DOOMED), queues="doomed")
    for name in DOOMED:
        service.create_routine(name, task=SLEEPY, args=[300], queue="doomed", max_attempts=2)
        service.run_now(name)
    running = RoutineRun.objects.filter(routine__name__in=DOOMED, status="RUNNING")
    stack.wait_until(lambda: running.count() == len(DOOMED), 30, "they did not start")
    worker.kill9()


@pytest.mark.slow
def test_fault_31_and_32_only_the_routine_whose_row_is_held_waits(make_stack: StackFactory, fault: Fault) -> None:
    """A routine's, a state's, a pool's and a run's row, and a verb left open; with runs of a dead worker among them."""
    stack = make_stack(settings={"ROUTINES": FAST})
    service.create_pool("narrow", max_concurrent=5)
    service.create_routine("held", task=NOTE, every="1s")
    service.create_routine("pooled", task=NOTE, every="1s", pool="narrow")
    service.create_routine("late", task=NOTE, every="1s")
    for name in TICKS:
        service.create_routine(name, task=NOTE, every="1s")
    beats = [stack.beat(), stack.beat()]
    stack.worker(pool="threads")  # its runs may be silent for longer: a note that a busy machine holds up is no orphan
    ready_beats(stack, 2)
    orphans_of_a_dead_worker(stack)
    orphan_of = {name: RoutineRun.objects.get(routine__name=name, attempt=1).pk for name in DOOMED}
    with ExitStack() as holding:
        holding.enter_context(
            stranger(
                stack,
                row_of("routine", "id", "held"),
                row_of("routinestate", "routine_id", "stuck"),
                row_of("routinestate", "routine_id", "late"),
                row_of("routinerun", "routine_id", "row"),
                "SELECT 1 FROM routines_pool FOR UPDATE",
            )
        )
        holding.enter_context(open_edit("edited"))
        began = datetime.now(UTC)
        ticked = RoutineRun.objects.filter(routine__name__in=TICKS, scheduled_for__gt=began + timedelta(seconds=1))
        wanted = HELD_SLOTS * len(TICKS)
        stack.wait_until(lambda: ticked.exclude(started_at=None).count() >= wanted, 30, "the others stand still")
        waits = ["held", "pooled", "stuck", "late", "edited", "row"]

        def named() -> list[str]:
            said = "\n".join(line for beat in beats for line in beat.log().splitlines() if "WARNING" in line)
            return [name for name in waits if f" {name}" not in said]

        stack.wait_until(lambda: not named(), 10, f"not named in any log: {named()}")
        assert RoutineRun.objects.filter(pk__in=orphan_of.values(), status="RUNNING").count() == len(DOOMED)
    freed = datetime.now(UTC)

    late = max(run.dispatched_at - run.scheduled_for for run in ticked.exclude(dispatched_at=None))
    fault.recovered(late.total_seconds(), ON_TIME, "31: others' slots while rows are held, at the latest")
    assert not ticked.filter(status="SKIPPED").exists()
    assert not any("is away" in beat.log() for beat in beats)

    gone_on = RoutineRun.objects.filter(routine__name__in=["held", "pooled", "late"], scheduled_for__gt=freed)
    on = lambda: set(gone_on.values_list("routine__name", flat=True)) == {"held", "pooled", "late"}  # noqa: E731
    stack.wait_until(on, 10, "free again, and does not fire")
    for name in ("held", "pooled", "late"):  # its routine's row, its pool's, its state's
        skipped = RoutineRun.objects.filter(routine__name=name, scheduled_for__lt=freed).latest("id")
        story = service.why(name, skipped.scheduled_for)
        assert "somebody held the routine's row" in str(story), f"{name}: {story}"
    retried = RoutineRun.objects.filter(retry_of_id__in=orphan_of.values())
    stack.wait_until(lambda: retried.count() == len(DOOMED), 15, "the orphans were never found")
    fault.balances(stack, until=freed)
