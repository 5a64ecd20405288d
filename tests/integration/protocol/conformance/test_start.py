"""The start of a run, by each way: who may begin."""

from __future__ import annotations

import pytest

from routines_app.core.words import ConcurrencyPolicy, RoutineStatus, RunStatus, RunTrigger
from routines_app.models import Pool, RoutineRun, new_run_id
from routines_app.protocol.run import begin as module
from tests.integration.protocol.conformance.rows import MOMENT, make_routine, make_run
from tests.integration.protocol.conformance.starting import (
    EXCLUSIVE,
    FITTING,
    SHARED,
    assert_refused,
    begin,
    both_kinds,
    judge,
)

pytestmark = pytest.mark.django_db

MODULES = (module,)


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
@pytest.mark.parametrize("asked", [True, False], ids=["asked for", "by itself"])
@pytest.mark.parametrize(
    ("status", "starting"),
    [
        (RoutineStatus.ACTIVE, {True, False}),
        (RoutineStatus.PAUSED, {True}),
        (RoutineStatus.PARKED, {True}),
        (RoutineStatus.ARCHIVED, set()),
    ],
)
def test_the_routines_status_holds_back(kind: str, status: RoutineStatus, asked: bool, starting: set[bool]) -> None:
    """Paused and parked hold back all but what was asked for by hand, retries of it included; archived that as well."""
    for trigger in RunTrigger:
        routine = make_routine(concurrency_policy=FITTING[kind], status=status)
        judge(kind, make_run(routine, trigger=trigger, requested_at=MOMENT if asked else None), asked in starting)


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
