"""Heartbeats, by each way: who is stamped, and what the process is told in return."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from routines_app.core.words import RunStatus
from routines_app.models import RoutineRun, new_run_id
from routines_app.protocol.run import heartbeat
from routines_app.protocol.run.heartbeat import Pulse, beat_heart
from tests.integration.holding import needs_row_locks, row_locked
from tests.integration.protocol.conformance.rows import MOMENT, ODD_TEXT, RECENT, columns, make_routine, make_run

pytestmark = pytest.mark.django_db

MODULES = (heartbeat,)


@pytest.mark.parametrize(
    ("status", "lives"),
    [
        (RunStatus.PENDING, False),
        (RunStatus.RUNNING, True),
        (RunStatus.SUCCESS, False),
        (RunStatus.FAILED, False),
        (RunStatus.SKIPPED, False),
        (RunStatus.CANCELLED, False),
    ],
)
@pytest.mark.parametrize("progress", [None, {"done": 2}])
def test_only_a_running_run_is_stamped(status: RunStatus, lives: bool, progress: dict[str, Any] | None) -> None:
    """Whoever is missing in the answer has lost its row, and changes nothing there."""
    run = make_run(make_routine(), status=status, heartbeat_at=MOMENT, progress={"done": 1})
    before = columns(run)
    answer = beat_heart({run.id: progress})
    assert answer == ({run.id: Pulse(None, "", stamped=True)} if lives else {})
    assert columns(run) == before | ({"heartbeat_at": RECENT, "progress": progress or {"done": 1}} if lives else {})


@pytest.mark.parametrize(
    ("held", "told", "kept"),
    [
        pytest.param(None, None, None, id="there is none"),
        pytest.param({"done": 1}, None, {"done": 1}, id="it has not changed"),
        pytest.param(None, {"done": 1, "note": ODD_TEXT}, {"done": 1, "note": ODD_TEXT}, id="the first one"),
        pytest.param(
            {"done": 1, "total": 3}, {"done": 2}, {"done": 2}, id="the new one takes the place of the old one"
        ),
        pytest.param({"done": 1}, {}, {}, id="an empty one is one"),
    ],
)
def test_progress_is_written_where_it_changed(held: Any, told: Any, kept: Any) -> None:
    """None stands for no change."""
    run = make_run(make_routine(), status=RunStatus.RUNNING, progress=held)
    beat_heart({run.id: told})
    assert columns(run)["progress"] == kept


@pytest.mark.parametrize(
    ("row", "pulse"),
    [
        pytest.param({}, Pulse(None, ""), id="goes on"),
        pytest.param({"fence": 2**40}, Pulse(2**40, ""), id="goes on with its fence"),
        pytest.param(
            {"stop_requested_at": MOMENT, "stop_reason": "replaced"}, Pulse(None, "replaced"), id="is asked to stop"
        ),
        pytest.param({"stop_requested_at": MOMENT}, Pulse(None, "cancelled"), id="is asked to stop without a reason"),
        pytest.param({"stop_reason": "replaced"}, Pulse(None, ""), id="a reason alone asks for nothing"),
    ],
)
def test_a_run_is_told_its_fence_and_whether_to_stop(row: dict[str, Any], pulse: Pulse) -> None:
    """The stamp changes neither."""
    run = make_run(make_routine(), status=RunStatus.RUNNING, **row)
    before = columns(run)
    assert beat_heart({run.id: None}) == {run.id: replace(pulse, stamped=True)}
    assert columns(run) == before | {"heartbeat_at": RECENT}


def test_the_runs_of_a_process_are_stamped_together() -> None:
    """Each with its own progress and its own answer; those of others are left alone."""
    routine = make_routine()
    quiet, busy, stopped, others = (make_run(routine, status=RunStatus.RUNNING) for _ in range(4))
    ended = make_run(routine, status=RunStatus.SUCCESS)
    RoutineRun.objects.filter(id=stopped.id).update(stop_requested_at=MOMENT, stop_reason="cancelled")
    before = {run.id: columns(run) for run in (quiet, busy, stopped, others, ended)}
    runs: dict[UUID, Any] = {
        stopped.id: {"step": 3},
        ended.id: {"step": 4},
        new_run_id(): {"step": 5},
        busy.id: {"step": 2},
        quiet.id: None,
    }
    assert beat_heart(runs) == {
        quiet.id: Pulse(None, "", stamped=True),
        busy.id: Pulse(None, "", stamped=True),
        stopped.id: Pulse(None, "cancelled", stamped=True),
    }
    stamped = {"heartbeat_at": RECENT}
    assert columns(quiet) == before[quiet.id] | stamped
    assert columns(busy) == before[busy.id] | stamped | {"progress": {"step": 2}}
    assert columns(stopped) == before[stopped.id] | stamped | {"progress": {"step": 3}}
    assert columns(others) == before[others.id]
    assert columns(ended) == before[ended.id]


def test_without_runs_there_is_nothing_to_say() -> None:
    """No run, no row, no answer."""
    run = make_run(make_routine(), status=RunStatus.RUNNING)
    before = columns(run)
    assert beat_heart({}) == {}
    assert columns(run) == before


@pytest.mark.django_db(transaction=True)
@needs_row_locks
def test_a_row_that_a_stranger_has_locked_is_read_and_the_others_are_stamped() -> None:
    """It is neither waited for nor taken for lost, and told what the ledger says of it."""
    routine = make_routine()
    locked, free = (make_run(routine, status=RunStatus.RUNNING, heartbeat_at=MOMENT) for _ in range(2))
    RoutineRun.objects.filter(id=locked.id).update(stop_requested_at=MOMENT, stop_reason="cancelled")
    before = columns(locked)
    with row_locked(locked.id):
        answer = beat_heart({locked.id: {"step": 1}, free.id: {"step": 2}})
    assert answer == {locked.id: Pulse(None, "cancelled"), free.id: Pulse(None, "", stamped=True)}
    assert columns(locked) == before
    assert (columns(free)["heartbeat_at"], columns(free)["progress"]) == (RECENT, {"step": 2})
