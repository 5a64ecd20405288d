"""New runs of a claim, by each way: what is in the ledger afterwards, and which rows are said to be new."""

from __future__ import annotations

from typing import Any

import pytest

from routines_app.core.words import RunStatus
from routines_app.models import Pool, Routine, RoutineRun, new_run_id
from routines_app.protocol.claim import new_runs
from routines_app.protocol.claim.new_runs import NewRun, insert_runs
from tests.integration.protocol.conformance.rows import MOMENT, ODD_TEXT, SECOND, columns, make_routine

pytestmark = pytest.mark.django_db

MODULES = (new_runs,)

# What a row has that no claim has set.
UNSET = {
    "args": None,
    "kwargs": None,
    "publish_count": 0,
    "start_token": None,
    "orphan_seconds": None,
    "tell_after": None,
    "dispatched_at": None,
    "started_at": None,
    "heartbeat_at": None,
    "body_ended_at": None,
    "attempt": 1,
    "budget_used": 1,
    "own_retries": 0,
    "retry_of_id": None,
    "chain": None,
    "running_key": None,
    "fence": None,
    "worker": "",
    "requested_by": "",
    "requested_at": None,
    "rotation_id": None,
    "phase": "",
    "tick": None,
    "stop_requested_at": None,
    "stop_reason": "",
    "progress": None,
    "result": None,
    "error": "",
    "traceback": "",
}


def new(routine: Routine, key: str, **values: Any) -> NewRun:
    plain = {
        "id": new_run_id(),
        "routine_id": routine.pk,
        "status": RunStatus.PENDING.value,
        "reason": "",
        "trigger": "schedule",
        "source": "baseline-cron",
        "task": "some.task",
        "queue": "",
        "timeout_ms": 1_000,
        "pool_id": None,
        "scheduled_for": MOMENT,
        "next_planned_for": None,
        "eligible_at": MOMENT,
        "admitted_at": None,
        "publish_after": None,
        "completed_at": None,
        "idempotency_key": key,
        "scheduled_until": None,
        "occurrences": 1,
    }
    return NewRun(**plain | values)


def ledger() -> dict[Any, dict[str, Any]]:
    return {run.id: columns(run) for run in RoutineRun.objects.all()}


def written(*rows: NewRun) -> dict[Any, dict[str, Any]]:
    return {row.id: UNSET | row._asdict() for row in rows}


def test_every_column_is_written() -> None:
    """Of a row that has a value everywhere, and of one that has only what it must; no two times are the same."""
    pool = Pool.objects.create(name="pool", max_concurrent=1)
    routine = make_routine()
    full = new(
        routine,
        ODD_TEXT,
        status=RunStatus.SKIPPED.value,
        reason="misfire",
        trigger="catch_up",
        source="hint-interval",
        task=ODD_TEXT,
        queue="NULL",
        timeout_ms=2**40,
        pool_id=pool.pk,
        scheduled_for=MOMENT + 1 * SECOND,
        next_planned_for=MOMENT + 2 * SECOND,
        eligible_at=MOMENT + 3 * SECOND,
        admitted_at=MOMENT + 4 * SECOND,
        publish_after=MOMENT + 5 * SECOND,
        completed_at=MOMENT + 6 * SECOND,
        scheduled_until=MOMENT + 7 * SECOND,
        occurrences=1_000_000,
        blocked_by=new_run_id(),
        waits=ODD_TEXT,
    )
    plain = new(routine, "plain", timeout_ms=None)
    assert insert_runs([full, plain]) == {full.id, plain.id}
    assert ledger() == written(full, plain)


@pytest.mark.parametrize(
    ("there", "keys", "inserted"),
    [
        pytest.param([], ["a"], [0], id="one new row"),
        pytest.param([], ["a", "b", "c"], [0, 1, 2], id="all are new"),
        pytest.param(["a"], ["a"], [], id="the slot has a row"),
        pytest.param(["a", "b"], ["b", "a"], [], id="every slot has a row"),
        pytest.param(["b"], ["a", "b", "c"], [0, 2], id="some are new"),
        pytest.param([], ["a", "a", "b"], [0, 2], id="the same slot twice in one batch"),
        pytest.param(["a"], [], [], id="nothing to insert"),
    ],
)
def test_a_slot_gets_one_row_and_the_new_ones_are_named(there: list[str], keys: list[str], inserted: list[int]) -> None:
    """A row that is there already is left as it is."""
    routine = make_routine()
    old = [new(routine, key) for key in there]
    insert_runs(old)
    rows = [new(routine, key, task="another.task", queue="late") for key in keys]
    fresh = [rows[place] for place in inserted]
    assert insert_runs(rows) == {row.id for row in fresh}
    assert ledger() == written(*old, *fresh)
