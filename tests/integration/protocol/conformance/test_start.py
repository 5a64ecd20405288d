"""The start of a run, by each way: who may begin, what the row and the fence become, what the worker is told."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from routines_app.core.expiry import FOREVER_MS
from routines_app.core.retry import RetryRule
from routines_app.core.words import ConcurrencyPolicy, RoutineStatus, RunStatus, RunTrigger
from routines_app.models import Pool, Routine, RoutineRun, new_run_id
from routines_app.protocol.record.facts import RunFacts
from routines_app.protocol.run import begin as module
from routines_app.protocol.run.begin import Starter
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

MODULES = (module,)

SHARED, EXCLUSIVE = "shared", "exclusive"
FITTING = {SHARED: ConcurrencyPolicy.ALLOW, EXCLUSIVE: ConcurrencyPolicy.FORBID}
both_kinds = pytest.mark.parametrize("kind", [SHARED, EXCLUSIVE])


STARTER = Starter(worker="me@here", token=uuid4(), orphan_seconds=300)


def begin(kind: str, run: RoutineRun, routine_id: int | None = None) -> RunFacts | None:
    return module.begin(run.id, STARTER, None if kind == SHARED else routine_id or run.routine_id)


def assert_starts(kind: str, run: RoutineRun) -> RunFacts:
    """PENDING -> RUNNING, and nothing else changes but the fence, by one, when it is exclusive."""
    before, state = columns(run), state_columns(run.routine)
    fence = state["fence"] + 1 if kind == EXCLUSIVE else None
    found = begin(kind, run)
    after = columns(run)
    assert after == before | {
        "status": RunStatus.RUNNING,
        "reason": "",
        "started_at": RECENT,
        "heartbeat_at": after["started_at"],
        "worker": "me@here",
        "start_token": STARTER.token,
        "orphan_seconds": 300,
        "publish_after": None,
        "running_key": None if fence is None else run.routine_id,
        "fence": fence,
    }
    assert state_columns(run.routine) == state | ({} if fence is None else {"fence": fence})
    assert found is not None
    assert (found.id, found.started_at, found.fence) == (run.id, after["started_at"], fence)
    return found


def assert_refused(kind: str, run: RoutineRun, routine_id: int | None = None) -> None:
    """No row of the ledger changes."""
    before, states = columns(run), [state_columns(routine) for routine in Routine.objects.order_by("pk")]
    assert begin(kind, run, routine_id) is None
    assert columns(run) == before
    assert [state_columns(routine) for routine in Routine.objects.order_by("pk")] == states


def judge(kind: str, run: RoutineRun, starts: bool) -> None:
    if starts:
        assert_starts(kind, run)
    else:
        assert_refused(kind, run)


@both_kinds
@pytest.mark.parametrize(
    ("status", "starts"),
    [
        (RunStatus.PENDING, True),
        (RunStatus.RUNNING, False),
        (RunStatus.SUCCESS, False),
        (RunStatus.FAILED, False),
        (RunStatus.SKIPPED, False),
        (RunStatus.CANCELLED, False),
    ],
)
def test_only_a_pending_run_starts(kind: str, status: RunStatus, starts: bool) -> None:
    """A message whose row is not PENDING does nothing."""
    judge(kind, make_run(make_routine(concurrency_policy=FITTING[kind]), status=status), starts)


@both_kinds
@pytest.mark.parametrize("trigger", list(RunTrigger))
@pytest.mark.parametrize(
    ("status", "starting"),
    [
        (RoutineStatus.ACTIVE, set(RunTrigger)),
        (RoutineStatus.PAUSED, {RunTrigger.MANUAL}),
        (RoutineStatus.PARKED, {RunTrigger.MANUAL}),
        (RoutineStatus.ARCHIVED, set()),
    ],
)
def test_the_routines_status_holds_back(
    kind: str, status: RoutineStatus, trigger: RunTrigger, starting: set[RunTrigger]
) -> None:
    """Paused and parked hold back all but what was asked for by hand; archived holds back that as well."""
    routine = make_routine(concurrency_policy=FITTING[kind], status=status)
    judge(kind, make_run(routine, trigger=trigger), trigger in starting)


@both_kinds
@pytest.mark.parametrize(
    ("in_pool", "admitted", "starts"),
    [
        pytest.param(True, True, True, id="let through by its pool"),
        pytest.param(True, False, False, id="still held by its pool"),
        pytest.param(False, True, True, id="let through without a pool"),
        pytest.param(False, False, True, id="without a pool there is nothing to wait for"),
    ],
)
def test_a_pool_lets_through(kind: str, in_pool: bool, admitted: bool, starts: bool) -> None:
    """An old message does not take a place that the pool has not given."""
    pool = Pool.objects.create(name="pool", max_concurrent=1) if in_pool else None
    routine = make_routine(concurrency_policy=FITTING[kind], pool=pool)
    judge(kind, make_run(routine, admitted_at=MOMENT if admitted else None), starts)


@both_kinds
@pytest.mark.parametrize(
    ("trigger", "slot_age", "eligible_age", "expires_ms", "starts"),
    [
        pytest.param("schedule", 10**6, 10**6, None, True, id="without a limit nothing expires"),
        pytest.param("schedule", 30, 30, 60_000, True, id="younger than the limit"),
        pytest.param("schedule", 60, 60, 60_000, False, id="as old as the limit"),
        pytest.param("schedule", 90, 0, 60_000, False, id="the age counts from the slot, however late it may run"),
        pytest.param("schedule", 30, 90, 60_000, True, id="the age counts from the slot alone"),
        pytest.param("manual", 60, 60, 60_000, False, id="what was asked for by hand expires too"),
        pytest.param("catch_up", 60, 60, 60_000, False, id="a catch-up expires"),
        pytest.param("retry", 90, 90, 60_000, True, id="a retry does not expire"),
        pytest.param("backfill", 10**6, 30, 60_000, True, id="a backfill counts from when it may run"),
        pytest.param("backfill", 10**6, 60, 60_000, False, id="a backfill that waited as long as the limit"),
        pytest.param("schedule", 0, 0, 0, False, id="a limit of nothing is reached at once"),
        pytest.param("schedule", 10**6, 0, FOREVER_MS * 50, True, id="a limit beyond the calendar is for ever"),
    ],
)
def test_an_old_run_has_expired(
    kind: str, trigger: str, slot_age: int, eligible_age: int, expires_ms: int | None, starts: bool
) -> None:
    """As `core/expiry.py` says, by the clock of the database."""
    now = datetime.now(UTC)
    routine = make_routine(concurrency_policy=FITTING[kind], expires_ms=expires_ms)
    times = {"scheduled_for": now - slot_age * SECOND, "eligible_at": now - eligible_age * SECOND}
    judge(kind, make_run(routine, trigger=trigger, **times), starts)


@both_kinds
@pytest.mark.parametrize("trigger", list(RunTrigger))
@pytest.mark.parametrize(
    ("early", "starts"),
    [
        pytest.param(0, True, id="its time has come"),
        pytest.param(0.8, True, id="in less than a second"),
        pytest.param(3, False, id="in more than a second"),
        pytest.param(3600, False, id="in an hour"),
    ],
)
def test_no_run_starts_before_its_time(kind: str, trigger: RunTrigger, early: float, starts: bool) -> None:
    """Whoever sent the message: nobody of ours has."""
    routine = make_routine(concurrency_policy=FITTING[kind])
    judge(kind, make_run(routine, trigger=trigger, eligible_at=datetime.now(UTC) + early * SECOND), starts)


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


@pytest.mark.parametrize(
    ("kind", "policy", "starts"),
    [
        (SHARED, ConcurrencyPolicy.ALLOW, True),
        (SHARED, ConcurrencyPolicy.FORBID, False),
        (SHARED, ConcurrencyPolicy.REPLACE, False),
        (EXCLUSIVE, ConcurrencyPolicy.ALLOW, False),
        (EXCLUSIVE, ConcurrencyPolicy.FORBID, True),
        (EXCLUSIVE, ConcurrencyPolicy.REPLACE, True),
    ],
)
def test_the_policy_of_the_routine_decides_how_a_run_starts(kind: str, policy: ConcurrencyPolicy, starts: bool) -> None:
    """Whatever the message has hinted."""
    judge(kind, make_run(make_routine(concurrency_policy=policy)), starts)


@pytest.mark.parametrize(
    ("kind", "status", "same_routine", "starts"),
    [
        pytest.param(SHARED, "RUNNING", True, True, id="shared runs overlap"),
        pytest.param(EXCLUSIVE, "RUNNING", True, False, id="one exclusive run at a time"),
        pytest.param(EXCLUSIVE, "RUNNING", False, True, id="another routine's run is nothing to it"),
        pytest.param(EXCLUSIVE, "PENDING", True, True, id="one that waits does not exclude"),
        pytest.param(EXCLUSIVE, "SUCCESS", True, True, id="one that has ended does not exclude"),
    ],
)
def test_another_run_excludes(kind: str, status: str, same_routine: bool, starts: bool) -> None:
    """Also one that began while the policy was another, and so has no running key."""
    routine = make_routine(concurrency_policy=FITTING[kind])
    make_run(routine if same_routine else make_routine(), status=status)
    judge(kind, make_run(routine), starts)


def test_a_wrong_routine_id_starts_nothing() -> None:
    """The lease that came before is another routine's."""
    other = make_routine(concurrency_policy=ConcurrencyPolicy.FORBID)
    run = make_run(make_routine(concurrency_policy=ConcurrencyPolicy.FORBID))
    assert_refused(EXCLUSIVE, run, other.pk)
    assert_refused(EXCLUSIVE, run, other.pk + 1000)


@both_kinds
def test_an_unknown_run_starts_nothing(kind: str) -> None:
    """Its row may have been pruned."""
    routine = make_routine(concurrency_policy=FITTING[kind])
    assert begin(kind, RoutineRun(id=new_run_id(), routine=routine)) is None


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
    chain = {"trigger": "retry", "attempt": 3, "budget_used": 2, "chain": new_run_id()}
    asked = {"source": "baseline-cron", "timeout_ms": 2_000, "requested_by": "ann", "scheduled_for": MOMENT}
    run = make_run(routine, **chain, **asked, **own)
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
            max_attempts=7,
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
        **given,
    )
