"""Pausing and resuming routines that somebody has chosen one by one, in pieces as a batch is, and without being one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from routines_app.coordination.wakeups import wake_beats
from routines_app.core.errors import InvalidValue, NotAllowed, NotFound, RoutineError
from routines_app.core.said import said
from routines_app.core.words import CatchUpPolicy, RoutineStatus
from routines_app.models import RoutineState
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import on_commit
from routines_app.protocol.ledger.locks import lock_or_make_states
from routines_app.verbs.batches.pieces import PIECE, Pause, pause_piece, resume_piece
from routines_app.verbs.checking.rules import moment
from routines_app.verbs.held_rows import verb_transaction
from routines_app.verbs.pause import NEEDS_ACTIVE
from routines_app.verbs.resume import NEEDS_PAUSED, RELEASE
from routines_app.verbs.rotations.writing import By, Pair, routines_of


class ChosenDone(NamedTuple):
    """What became of those that were chosen, by their ids."""

    done: set[int]
    refused: dict[int, RoutineError]
    """Why not; those that are neither here nor there were as wanted already."""


def pause_routines(
    routine_ids: Sequence[int], *, until: datetime | str | None = None, reason: str = "", actor: str = ""
) -> ChosenDone:
    """Pause these, each as `pause_routine` does, in pieces of 500: each piece is one transaction."""
    by, ends = By.checked(actor, reason), None if until is None else moment("until", until)

    def act(found: Sequence[Pair], now: datetime) -> dict[int, RoutineError]:
        if ends is not None and ends <= now:
            raise InvalidValue("until", ends, said("give a time in the future (now it is {now})", now=now))
        kept = {RoutineStatus.ACTIVE, RoutineStatus.PAUSED}
        pause_piece([pair for pair in found if pair[0].status in kept], Pause(ends, by), now)
        return _refused(found, kept, NEEDS_ACTIVE)

    return _in_pieces(routine_ids, act)


def resume_routines(
    routine_ids: Sequence[int], *, release: str = "SKIP", actor: str = "", reason: str = ""
) -> ChosenDone:
    """Resume those of these that are paused, each as `resume_routine` does, in pieces of 500."""
    policy, by = CatchUpPolicy(RELEASE("release", release)), By.checked(actor, reason)

    def act(found: Sequence[Pair], now: datetime) -> dict[int, RoutineError]:
        paused = [pair for pair in found if pair[0].status == RoutineStatus.PAUSED]
        refused = _refused(found, {RoutineStatus.ACTIVE, RoutineStatus.PAUSED}, NEEDS_PAUSED)
        was_active.update(routine.pk for routine, _ in found if routine.status == RoutineStatus.ACTIVE)
        return refused | {routine.pk: why for routine, why in resume_piece(paused, policy, by, now)}

    was_active: set[int] = set()
    result = _in_pieces(routine_ids, act)
    return ChosenDone(result.done - was_active, result.refused)


def _in_pieces(
    routine_ids: Sequence[int], act: Callable[[Sequence[Pair], datetime], dict[int, RoutineError]]
) -> ChosenDone:
    """In the order of the ids, in which states are locked."""
    result, ids = ChosenDone(set(), {}), sorted(set(routine_ids))
    for begin in range(0, len(ids), PIECE):
        piece = ids[begin : begin + PIECE]
        with verb_transaction("routines", f"{len(piece)} of them"):
            states: list[RoutineState] = lock_or_make_states(piece)
            found = routines_of(states)
            refused = act(found, clock.now())
            on_commit(wake_beats)
        gone = set(piece) - {routine.pk for routine, _ in found}
        result.refused.update(refused | {pk: NotFound("routine", pk, said("no routine has that id")) for pk in gone})
        result.done.update(set(piece) - gone - refused.keys())
    return result


def _refused(found: Sequence[Pair], kept: set[RoutineStatus], why: str) -> dict[int, RoutineError]:
    return {routine.pk: NotAllowed("status", routine.status, why) for routine, _ in found if routine.status not in kept}
