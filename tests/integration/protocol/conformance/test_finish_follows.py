"""The end of a run, by each way: the next attempt, the catch-up that goes on, the replacement that may go."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from routines_app.core.words import Reason, RunStatus
from routines_app.models import Pool, Routine, RoutineRun, RoutineState, new_run_id
from routines_app.protocol.end import finish
from routines_app.protocol.end.transaction import NextAttempt, Recorded
from routines_app.protocol.ledger import clock
from routines_app.protocol.record import facts
from routines_app.protocol.record.outcome import Outcome, cancelled, failed, succeeded
from tests.integration.protocol.conformance.rows import (
    MOMENT,
    ODD_TEXT,
    RECENT,
    SECOND,
    columns,
    make_routine,
    make_run,
    state_columns,
)

pytestmark = pytest.mark.django_db

MODULES = (finish,)

BROKEN = failed(Reason.EXCEPTION, "ValueError: no")
AT = MOMENT + 90 * SECOND
TICK = UUID(int=7)


def end(run: RoutineRun, outcome: Outcome, attempt: NextAttempt | None = None) -> Recorded | None:
    found = facts.load(run.id)
    assert found is not None
    return finish._end(found, outcome, attempt, clock.now())


def attempt_of(**values: Any) -> NextAttempt:
    return NextAttempt(**{"id": new_run_id(), "at": AT, "budget_used": 4, "key": "the next key:6"} | values)


@pytest.mark.parametrize("named", [True, False], ids=["with a pool", "without one"])
def test_the_next_attempt_without_a_pool_belongs_to_the_default_one(named: bool) -> None:
    """A pool that the routine names comes first."""
    own = Pool.objects.create(name="own", max_concurrent=1)
    default = Pool.objects.create(name="default", max_concurrent=1, is_default=True)
    run = make_run(make_routine(pool=own if named else None), status=RunStatus.RUNNING)
    attempt = attempt_of()
    end(run, BROKEN, attempt)
    assert RoutineRun.objects.get(id=attempt.id).pool_id == (own if named else default).pk


@pytest.mark.parametrize("outcome", [BROKEN, cancelled(Reason.INTERRUPTED)], ids=["failed", "interrupted"])
@pytest.mark.parametrize("first", [True, False], ids=["of the chain's first run", "of a later run"])
def test_every_column_of_the_next_attempt(outcome: Outcome, first: bool) -> None:
    """What was asked for stays, in the pool that the routine has now; nothing of how the last attempt went."""
    before, now = (Pool.objects.create(name=name, max_concurrent=1) for name in ("before", "now"))
    routine = make_routine(pool=now, queue="now", timeout_ms=9_000, task="now.task")
    chain = None if first else new_run_id()
    run = make_run(
        routine,
        status=RunStatus.RUNNING,
        trigger="hint",
        source="hint-oneshot",
        task="then.task",
        queue="then",
        timeout_ms=2_000,
        args=[ODD_TEXT, None],
        kwargs={"a": {"b": 1}},
        pool_id=before.pk,
        scheduled_for=MOMENT,
        next_planned_for=MOMENT + SECOND,
        publish_count=3,
        dispatched_at=MOMENT,
        heartbeat_at=MOMENT,
        attempt=5,
        budget_used=3,
        chain=chain,
        worker="me@here",
        requested_by="ann",
        requested_at=MOMENT - SECOND,
        rotation_id=routine.pk + 1,
        phase="plan",
        tick=TICK,
        progress={"done": 1},
        error="said before",
    )
    attempt = attempt_of(own_retries=2)
    end(run, outcome, attempt)
    assert columns(RoutineRun(id=attempt.id)) == {
        "id": attempt.id,
        "routine_id": routine.pk,
        "status": "PENDING",
        "reason": "not_yet",
        "trigger": "retry",
        "source": "hint-oneshot",
        "task": "then.task",
        "queue": "then",
        "timeout_ms": 2_000,
        "args": [ODD_TEXT, None],
        "kwargs": {"a": {"b": 1}},
        "pool_id": now.pk,
        "scheduled_for": MOMENT,
        "next_planned_for": None,
        "eligible_at": AT,
        "admitted_at": None,
        "publish_after": AT,
        "publish_count": 0,
        "dispatched_at": None,
        "started_at": None,
        "completed_at": None,
        "heartbeat_at": None,
        "body_ended_at": None,
        "attempt": 6,
        "budget_used": 4,
        "own_retries": 2,
        "retry_of_id": run.id,
        "chain": chain or run.id,
        "rotation_id": routine.pk + 1,
        "phase": "plan",
        "tick": TICK,
        "idempotency_key": "the next key:6",
        "running_key": None,
        "fence": None,
        "worker": "",
        "start_token": None,
        "orphan_seconds": None,
        "tell_after": None,
        "requested_by": "ann",
        "requested_at": MOMENT - SECOND,
        "blocked_by": None,
        "waits": None,
        "stop_requested_at": None,
        "stop_reason": "",
        "progress": None,
        "result": None,
        "error": "",
        "traceback": "",
        "scheduled_until": None,
        "occurrences": 1,
    }


@pytest.mark.parametrize(
    ("own", "asked", "given"),
    [
        pytest.param({}, {}, (None, None), id="the routine's, as they will be"),
        pytest.param({"args": [1], "kwargs": {"a": 1}}, {}, ([1], {"a": 1}), id="the run's own"),
        pytest.param({"args": [1]}, {"args": [2], "kwargs": {"b": 2}}, ([2], {"b": 2}), id="what the task asked for"),
        pytest.param({"args": [1], "kwargs": {"a": 1}}, {"args": [2]}, ([2], {"a": 1}), id="one of each"),
        pytest.param(
            {"args": [1], "kwargs": {"a": 1}},
            {"args": [], "kwargs": {}},
            ([], {}),
            id="what it asked for, though empty",
        ),
    ],
)
def test_the_arguments_of_the_next_attempt(own: dict[str, Any], asked: dict[str, Any], given: tuple[Any, Any]) -> None:
    """Celery's `self.retry(args=…)` may change them."""
    run = make_run(make_routine(args=[0]), status=RunStatus.RUNNING, **own)
    attempt = attempt_of(**asked)
    end(run, BROKEN, attempt)
    retry = columns(RoutineRun(id=attempt.id))
    assert (retry["args"], retry["kwargs"]) == given


CRON = {"trigger_kind": "CRON", "cron": "* * * * *"}
INTERVAL = {"trigger_kind": "INTERVAL", "interval_ms": 60_000}
CATCHING_UP = {"next_source": "catching-up", "next_slot": MOMENT, "last_slot": MOMENT - SECOND}


@pytest.mark.parametrize("known", [True, False], ids=["known at the start", "not known at the start"])
@pytest.mark.parametrize(
    ("trigger", "outcome", "retry", "other_active", "moved"),
    [
        pytest.param(CRON, succeeded(None), False, False, "baseline-cron", id="a cron goes on"),
        pytest.param(INTERVAL, succeeded(None), False, False, "baseline-interval", id="an interval goes on"),
        pytest.param(INTERVAL, succeeded(None), False, False, "hint-interval", id="a hinted moment goes on as such"),
        pytest.param(CRON, cancelled(Reason.CANCELLED), False, False, "baseline-cron", id="after a cancellation too"),
        pytest.param(CRON, BROKEN, False, False, "baseline-cron", id="after the last failure too"),
        pytest.param(CRON, BROKEN, True, False, None, id="the chain has not ended"),
        pytest.param(CRON, succeeded(None), False, True, None, id="another run is active"),
    ],
)
def test_the_end_of_a_chain_lets_a_catch_up_go_on(
    trigger: dict[str, Any], outcome: Outcome, retry: bool, other_active: bool, moved: str | None, known: bool
) -> None:
    """Slot by slot, whether the worker knew of the catch-up when it began or not."""
    routine = make_routine(CATCHING_UP if known else {}, **trigger)
    run = make_run(routine, status=RunStatus.RUNNING)
    at_start = facts.load(run.id)
    assert at_start is not None
    RoutineState.objects.filter(pk=routine.pk).update(slot_source=moved or "", **CATCHING_UP)
    if other_active:
        make_run(routine)
    attempt = attempt_of() if retry else None

    recorded = finish._end(at_start, outcome, attempt, clock.now())

    assert recorded is not None
    assert recorded.catching_up
    state = state_columns(routine)
    assert (state["next_slot"], state["last_slot"]) == (MOMENT, MOMENT - SECOND)
    expected = (RECENT, moved) if moved else (None, "catching-up")
    assert (state["next_run_at"], state["next_source"]) == expected


@pytest.mark.parametrize("known", [True, False], ids=["known at the start", "not known at the start"])
def test_the_first_success_gives_an_interval_its_rhythm_back(known: bool) -> None:
    """Failures had made it wait longer."""
    anchor = datetime.now(UTC).replace(microsecond=0)
    planned = {
        "last_slot": anchor,
        "grid_from": anchor,
        "next_slot": anchor + 4 * 3600 * SECOND,
        "next_run_at": anchor + 4 * 3600 * SECOND,
    }
    routine = make_routine(
        {"next_source": "baseline-interval", "slot_source": "baseline-interval", "failure_count": 2 * known} | planned,
        trigger_kind="INTERVAL",
        interval_ms=3_600_000,
    )
    run = make_run(routine, status=RunStatus.RUNNING)
    at_start = facts.load(run.id)
    assert at_start is not None
    RoutineState.objects.filter(pk=routine.pk).update(failure_count=2)
    before = state_columns(routine)
    recorded = finish._end(at_start, succeeded(None), None, clock.now())
    assert recorded == Recorded(status=RunStatus.SUCCESS, reason="", recovered=True)
    hour = anchor + 3600 * SECOND
    counted = {"last_run_at": RECENT, "last_success_at": RECENT, "failure_count": 0}
    assert state_columns(routine) == before | counted | {"next_slot": hour, "next_run_at": hour}


def waiting(routine: Routine, **values: Any) -> RoutineRun:
    later = datetime.now(UTC) + 3600 * SECOND
    return make_run(routine, **{"admitted_at": None, "publish_after": later, "reason": "replacing"} | values)


@pytest.mark.parametrize("outcome", [succeeded(None), BROKEN, cancelled(Reason.REPLACED)], ids=lambda o: o.status)
@pytest.mark.parametrize(
    ("values", "goes"),
    [
        pytest.param({}, True, id="waits for the one that it replaces"),
        pytest.param({"reason": "overdue"}, True, id="waits for a body that could not be stopped"),
        pytest.param({"reason": "not_yet"}, False, id="waits for something else"),
        pytest.param({"dispatched_at": MOMENT}, False, id="is in the broker"),
    ],
)
def test_the_end_lets_the_replacement_go(values: dict[str, Any], goes: bool, outcome: Outcome) -> None:
    """It is looked at now, not when its grace is over."""
    routine = make_routine(concurrency_policy="REPLACE")
    run = make_run(routine, status=RunStatus.RUNNING, fence=1, running_key=routine.pk)
    next_run, others = waiting(routine, **values), waiting(make_routine(concurrency_policy="REPLACE"))
    before, of_others = columns(next_run), columns(others)
    end(run, outcome)
    assert columns(next_run) == before | ({"publish_after": RECENT} if goes else {})
    assert columns(others) == of_others
