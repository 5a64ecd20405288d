"""The start of a run, by each way: what the row forgets, and what the worker is told."""

from __future__ import annotations

from typing import Any

import pytest

from routines_app.core.retry import RetryRule
from routines_app.models import Pool, RoutineRun, new_run_id
from routines_app.protocol.record.facts import RunFacts
from routines_app.protocol.run import begin as module
from routines_app.protocol.run.begin import Starter
from tests.integration.protocol.conformance.rows import MOMENT, ODD_TEXT, RECENT, columns, make_routine, make_run
from tests.integration.protocol.conformance.starting import EXCLUSIVE, FITTING, STARTER, assert_starts, both_kinds

pytestmark = pytest.mark.django_db

MODULES = (module,)


@both_kinds
def test_only_its_starter_is_told_once_more(kind: str) -> None:
    """The answer was lost; the heart begins to beat when the row is taken over."""
    run = make_run(make_routine(concurrency_policy=FITTING[kind]))
    found = assert_starts(kind, run)
    RoutineRun.objects.filter(id=run.id).update(heartbeat_at=MOMENT)
    before = columns(run)
    assert module.own(run.id, Starter(worker="me@here")) is None
    assert columns(run) == before
    assert module.own(run.id, STARTER) == found
    assert columns(run) == before | {"heartbeat_at": RECENT}


@both_kinds
def test_what_held_a_run_back_before_is_forgotten(kind: str) -> None:
    """The fence goes on from where it was, and the reason of the last refusal is over."""
    routine = make_routine({"fence": 41}, concurrency_policy=FITTING[kind])
    assert_starts(kind, make_run(routine, reason="lease_held", publish_count=3, dispatched_at=MOMENT))


@both_kinds
@pytest.mark.parametrize(
    ("own", "given"),
    [
        pytest.param({}, {"args": [1, ODD_TEXT], "kwargs": {"a": None}}, id="the routine's arguments"),
        pytest.param({"args": [5], "kwargs": {"b": 1}}, {"args": [5], "kwargs": {"b": 1}}, id="the run's own"),
        pytest.param({"args": [], "kwargs": {}}, {"args": [], "kwargs": {}}, id="the run's own, though empty"),
        pytest.param({"args": [5]}, {"args": [5], "kwargs": {"a": None}}, id="one of each"),
    ],
)
def test_the_worker_is_told_everything(kind: str, own: dict[str, Any], given: dict[str, Any]) -> None:
    """All facts, each of its own type."""
    pool = Pool.objects.create(name="pool", max_concurrent=2)
    routine = make_routine(
        {"fence": 6, "failure_count": 2, "next_source": "ended"},
        args=[1, ODD_TEXT],
        kwargs={"a": None},
        queue="slow",
        pool=pool,
        concurrency_policy=FITTING[kind],
        max_attempts=7,
        retry_delay_ms=1_500,
        retry_max_delay_ms=9_000,
        retry_jitter=0.25,
        retry_for=["KeyError"],
        no_retry_for=["ValueError", "os.error"],
        keep_result=False,
    )
    chain = {"trigger": "retry", "attempt": 3, "budget_used": 2, "own_retries": 4, "chain": new_run_id()}
    of = {"rotation_id": routine.pk + 1, "phase": "plan", "tick": new_run_id()}
    asked = {"source": "baseline-cron", "timeout_ms": 2_000, "requested_by": "ann", "scheduled_for": MOMENT}
    run = make_run(routine, **chain, **asked, **of, **own)
    assert assert_starts(kind, run) == RunFacts(
        id=run.id,
        routine_id=routine.pk,
        routine_name=routine.name,
        task=routine.task,
        queue="slow",
        pool_id=pool.pk,
        started_at=RECENT,
        idempotency_key=run.idempotency_key,
        fence=7 if kind == EXCLUSIVE else None,
        worker="me@here",
        start_token=STARTER.token,
        policy=FITTING[kind],
        retry=RetryRule(
            max_attempts=1,  # its rotation's ticks come again, whatever the routine says
            delay_ms=1_500,
            max_delay_ms=9_000,
            jitter=0.25,
            retry_for=("KeyError",),
            no_retry_for=("ValueError", "os.error"),
        ),
        keep_result=False,
        failure_count=2,
        next_source="ended",
        **chain,
        **asked,
        **of,
        **given,
    )
