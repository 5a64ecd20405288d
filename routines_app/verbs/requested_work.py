"""What a request by hand runs."""

from __future__ import annotations

from typing import Any, NamedTuple

from routines_app.models import Routine
from routines_app.protocol.rotate.by_hand import Turn, lock_turn


class Work(NamedTuple):
    """What a run of the routine does now: its own task, or a member's next phase."""

    task: str
    args: Any
    kwargs: Any
    has_arguments: bool = False
    """Its arguments are not the routine's."""
    turn: Turn | None = None


def work_of(routine: Routine) -> Work:
    """Inside `editing`: a member's row is locked, and stays so."""
    turn = lock_turn(routine)
    if turn is None:
        return Work(routine.task, routine.args, routine.kwargs)
    phase = turn.phase
    return Work(phase.task, phase.args, phase.kwargs, phase.has_arguments, turn)
