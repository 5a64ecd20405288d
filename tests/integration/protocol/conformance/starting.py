"""The start of a run by the way that is judged, and what every start and every refusal comes to."""

from __future__ import annotations

from uuid import uuid4

import pytest

from routines_app.core.words import ConcurrencyPolicy, RunStatus
from routines_app.models import RoutineRun, RoutineState
from routines_app.protocol.record.facts import RunFacts
from routines_app.protocol.run import begin as module
from routines_app.protocol.run.begin import Starter
from tests.integration.protocol.conformance.rows import RECENT, columns, state_columns

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
    runs, states = RoutineRun.objects.order_by("pk").values(), RoutineState.objects.order_by("pk").values()
    before = list(runs), list(states)
    assert begin(kind, run, routine_id) is None
    assert (list(runs.all()), list(states.all())) == before


def judge(kind: str, run: RoutineRun, starts: bool) -> None:
    if starts:
        assert_starts(kind, run)
    else:
        assert_refused(kind, run)
