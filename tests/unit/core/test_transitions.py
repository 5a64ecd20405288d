"""The moves of runs and routines."""

from __future__ import annotations

import pytest

from routines_app.core.transitions import ACTIVE, ALLOWED, ROUTINE_MOVES, TERMINAL, can_change
from routines_app.core.words import RoutineStatus, RunStatus


def test_every_status_has_its_moves() -> None:
    """A status that is added without moves is noticed here."""
    assert set(ALLOWED) == set(RunStatus)
    assert set(ROUTINE_MOVES) == set(RoutineStatus)


def test_a_run_is_either_active_or_ended() -> None:
    """PENDING and RUNNING are active; the rest is final."""
    assert frozenset({RunStatus.PENDING, RunStatus.RUNNING}) == ACTIVE
    assert set(RunStatus) == ACTIVE | TERMINAL
    assert not ACTIVE & TERMINAL
    assert not any(ALLOWED[ended] for ended in TERMINAL)


def test_only_a_run_that_started_succeeds_or_fails() -> None:
    """A PENDING run can start, be skipped or be cancelled; a running one is never PENDING again."""
    assert RunStatus.RUNNING in ALLOWED[RunStatus.PENDING]
    assert RunStatus.SKIPPED in ALLOWED[RunStatus.PENDING]
    assert RunStatus.SUCCESS not in ALLOWED[RunStatus.PENDING]
    assert RunStatus.FAILED not in ALLOWED[RunStatus.PENDING]
    assert RunStatus.PENDING not in ALLOWED[RunStatus.RUNNING]
    assert RunStatus.SKIPPED not in ALLOWED[RunStatus.RUNNING]


@pytest.mark.parametrize(
    ("before", "after", "possible"),
    [
        (RoutineStatus.ACTIVE, RoutineStatus.PAUSED, True),
        (RoutineStatus.ACTIVE, RoutineStatus.PARKED, True),
        (RoutineStatus.PAUSED, RoutineStatus.ACTIVE, True),
        (RoutineStatus.PAUSED, RoutineStatus.PARKED, True),
        (RoutineStatus.PARKED, RoutineStatus.ACTIVE, True),
        (RoutineStatus.PARKED, RoutineStatus.PAUSED, False),
        (RoutineStatus.PARKED, RoutineStatus.ARCHIVED, True),
        (RoutineStatus.ARCHIVED, RoutineStatus.ACTIVE, False),
        (RoutineStatus.ACTIVE, RoutineStatus.ACTIVE, False),
    ],
)
def test_a_routine_moves_where_that_makes_sense(before: RoutineStatus, after: RoutineStatus, possible: bool) -> None:
    """Parked routines are reset or archived; archived ones stay so."""
    assert can_change(before, after) is possible
