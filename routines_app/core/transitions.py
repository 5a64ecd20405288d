"""The moves that the statuses of runs and routines may make."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from routines_app.core.words import RoutineStatus, RunStatus

ALLOWED: Mapping[RunStatus, frozenset[RunStatus]] = MappingProxyType(
    {
        RunStatus.PENDING: frozenset({RunStatus.RUNNING, RunStatus.SKIPPED, RunStatus.CANCELLED}),
        RunStatus.RUNNING: frozenset({RunStatus.SUCCESS, RunStatus.FAILED, RunStatus.CANCELLED}),
        RunStatus.SUCCESS: frozenset(),
        RunStatus.FAILED: frozenset(),
        RunStatus.SKIPPED: frozenset(),
        RunStatus.CANCELLED: frozenset(),
    }
)
TERMINAL = frozenset(status for status, moves in ALLOWED.items() if not moves)
ACTIVE = frozenset(RunStatus) - TERMINAL

ROUTINE_MOVES: Mapping[RoutineStatus, frozenset[RoutineStatus]] = MappingProxyType(
    {
        RoutineStatus.ACTIVE: frozenset({RoutineStatus.PAUSED, RoutineStatus.PARKED, RoutineStatus.ARCHIVED}),
        # A run that was running when its routine was paused may still fail, and that may park it.
        RoutineStatus.PAUSED: frozenset({RoutineStatus.ACTIVE, RoutineStatus.PARKED, RoutineStatus.ARCHIVED}),
        RoutineStatus.PARKED: frozenset({RoutineStatus.ACTIVE, RoutineStatus.ARCHIVED}),
        RoutineStatus.ARCHIVED: frozenset(),
    }
)


def can_change(before: RoutineStatus, after: RoutineStatus) -> bool:
    return after in ROUTINE_MOVES[before]
