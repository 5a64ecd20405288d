"""Letting runs through, by each way: which ones, in which order, with which messages."""

from __future__ import annotations

from typing import Any

import pytest

from routines_app.coordination.envelope import Message
from routines_app.core.waits import entry, stamp
from routines_app.core.words import ConcurrencyPolicy, RunStatus
from routines_app.models import Pool, Routine, RoutineRun, new_run_id
from routines_app.protocol.publish import pools
from tests.integration.protocol.conformance.rows import (
    MOMENT,
    ODD_TEXT,
    SECOND,
    columns,
    make_routine,
    make_run,
)

pytestmark = pytest.mark.django_db

MODULES = (pools,)

NOW = MOMENT + 60 * SECOND
ADMITTED = {"admitted_at": NOW, "publish_after": NOW + 1.5 * SECOND, "reason": ""}


def pooled(**values: Any) -> Routine:
    pool, _ = Pool.objects.get_or_create(name="pool", defaults={"max_concurrent": 9})
    return make_routine(pool=pool, **values)


def held(routine: Routine, **values: Any) -> RoutineRun:
    waiting = {"admitted_at": None, "publish_after": None, "reason": "ceiling"}
    return make_run(routine, **waiting | values)


@pytest.mark.parametrize(
    ("row", "admitted"),
    [
        pytest.param({}, True, id="held"),
        pytest.param({"publish_after": MOMENT, "reason": "not_yet"}, True, id="held for whatever reason"),
        pytest.param({"admitted_at": MOMENT}, False, id="let through before"),
        pytest.param({"status": RunStatus.RUNNING}, False, id="running"),
        pytest.param({"status": RunStatus.SUCCESS}, False, id="succeeded"),
        pytest.param({"status": RunStatus.FAILED}, False, id="failed"),
        pytest.param({"status": RunStatus.SKIPPED}, False, id="skipped"),
        pytest.param({"status": RunStatus.CANCELLED}, False, id="cancelled while it was held"),
    ],
)
def test_only_what_is_held_is_let_through(row: dict[str, Any], admitted: bool) -> None:
    """Somebody else may have been faster: that row gets no second message."""
    run = held(pooled(), **row)
    before = columns(run)
    messages = pools._let_through([run.id], NOW)
    assert [message.run_id for message in messages] == ([str(run.id)] if admitted else [])
    assert columns(run) == before | (ADMITTED if admitted else {})


def test_the_wait_for_room_ends() -> None:
    """What it has waited for is kept, and has its end; who never waited has nothing, and what was over stays so."""
    routine = pooled()
    waiting, over, never = (
        held(routine, waits=entry("ceiling", MOMENT)),
        held(routine, waits=entry("paused", MOMENT), reason=""),
        held(routine),
    )
    pools._let_through([waiting.id, over.id, never.id], NOW)
    assert columns(waiting)["waits"] == entry("ceiling", MOMENT)[:-13] + stamp(NOW)
    assert columns(over)["waits"] == entry("paused", MOMENT)
    assert columns(never)["waits"] is None


def test_the_messages_are_in_the_order_of_rank() -> None:
    """Not in the order of the rows; what is not let through leaves no gap, and what was not named is left alone."""
    routine = pooled()
    first, second, third, unnamed = (held(routine) for _ in range(4))
    ended = held(routine, status=RunStatus.CANCELLED)
    messages = pools._let_through([third.id, ended.id, first.id, new_run_id(), second.id], NOW)
    assert [message.run_id for message in messages] == [str(run.id) for run in (third, first, second)]
    assert columns(unnamed)["admitted_at"] is None
    assert columns(ended)["admitted_at"] is None


@pytest.mark.parametrize(
    ("policy", "exclusive"),
    [(ConcurrencyPolicy.ALLOW, False), (ConcurrencyPolicy.FORBID, True), (ConcurrencyPolicy.REPLACE, True)],
)
def test_a_message_says_how_to_reach_the_task(policy: ConcurrencyPolicy, exclusive: bool) -> None:
    """Task, queue and time-out are the run's, name, priority, policy and options the routine's; arguments either's."""
    said = {"options": {"priority": 4}, "args": [1], "kwargs": {"of": "the routine"}}
    routine = pooled(name=ODD_TEXT, priority="HIGH", concurrency_policy=policy, queue="late", timeout_ms=9_000, **said)
    run = held(routine, task="then.task", queue="then", timeout_ms=2_000, kwargs={"of": "the run"})
    assert pools._let_through([run.id], NOW) == [
        Message(
            run_id=str(run.id),
            routine=ODD_TEXT,
            task="then.task",
            queue="then",
            priority="HIGH",
            timeout_ms=2_000,
            exclusive=routine.pk if exclusive else 0,
            args_json="[1]",
            kwargs_json='{"of": "the run"}',
            options='{"priority": 4}',
        )
    ]


def test_without_runs_there_is_nothing_to_let_through() -> None:
    """No room was taken."""
    run = held(pooled())
    before = columns(run)
    assert pools._let_through([], NOW) == []
    assert columns(run) == before
