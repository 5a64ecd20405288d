"""Pausing and resuming some hundreds of routines in one transaction, by a fixed number of statements.

What becomes of each is what `pause_routine` and `resume_routine` would make of it: the same decisions
(`protocol/plan/end_of_pause.py`), the same rows in the ledger and in the history. The caller has locked the states, in
the order of their ids; here follow their routines, the runs, then members and rotations, as the lock order says.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from routines_app.core.errors import NotAllowed, in_words
from routines_app.core.said import said
from routines_app.core.words import CatchUpPolicy, HintKind, RoutineStatus
from routines_app.models import ChangeKind, PauseBatch, Routine, RoutineState, ScheduleChange, no_hint
from routines_app.protocol.claim.due import NewState, write_states
from routines_app.protocol.ledger.arrays import AnyOf
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.plan.end_of_pause import NOT_PAUSED, Ended, leave_pause, write_steps
from routines_app.protocol.plan.held import hold_runs, release_held_runs
from routines_app.protocol.plan.planning import replan
from routines_app.protocol.record import changes
from routines_app.protocol.rotate.left_out import bring_back
from routines_app.verbs.resume import refusal_of
from routines_app.verbs.rotations.writing import By, Pair

PIECE = 500  # routines in one transaction: beats pass their states by meanwhile


class Pause(NamedTuple):
    """One pause, for many."""

    until: datetime | None
    by: By
    batch: PauseBatch | None = None


def pause_piece(found: Sequence[Pair], pause: Pause, now: datetime) -> None:
    """Pause these, which are ACTIVE or PAUSED."""
    if not found:
        return
    before = [{"status": routine.status, "paused_until": routine.paused_until} for routine, _ in found]
    paused: dict[str, Any] = {"status": RoutineStatus.PAUSED, "paused_until": pause.until}
    _save(found, now, pause_reason=pause.by.reason, pause_batch=pause.batch, **paused)
    for routine, state in found:
        replan(routine, state, now)
    one = found[0][1]  # as all the others: the pause alone says when a beat looks again
    _states(_ids(found)).update(next_run_at=one.next_run_at, next_source=one.next_source)
    hold_runs(_ids(found), now)
    after = paused | _told(pause.batch)
    _record(ChangeKind.PAUSED, [(*pair, was) for pair, was in zip(found, before, strict=True)], after, pause.by, now)


def resume_piece(
    found: Sequence[Pair], release: CatchUpPolicy, by: By, now: datetime, batch: PauseBatch | None = None
) -> list[tuple[Routine, NotAllowed]]:
    """Resume these, which are PAUSED; those that cannot be resumed, and why. They stay as they are."""
    hints = {state.pk: {kind for kind in HintKind if state.hint(kind)} for _, state in found}
    found, ended, refused = _leave_pauses(found, release, now)
    if not found:
        return refused
    _save(found, now, status=RoutineStatus.ACTIVE, **NOT_PAUSED)
    write_steps(ended)
    _drop_hints(found, hints)
    write_states([NewState(*(getattr(state, column) for column in _PLAN)) for _, state in found])
    release_held_runs(_ids(found), now)
    _record(ChangeKind.RESUMED, _with_pause(found, ended), {"release": release} | _told(batch), by, now)
    bring_back([routine.pk for routine, _ in found if routine.rotation_id is not None])
    return refused


def _leave_pauses(
    found: Sequence[Pair], release: CatchUpPolicy, now: datetime
) -> tuple[list[Pair], list[Ended], list[tuple[Routine, NotAllowed]]]:
    """Plan each without its pause. One that cannot be planned must not keep the others from it."""
    planned: list[Pair] = []
    ended: list[Ended] = []
    refused: list[tuple[Routine, NotAllowed]] = []
    for routine, state in found:
        why = refusal_of(routine, state, now)
        try:
            if why is None:
                ended.append(leave_pause(routine, state, now, release))
                planned.append((routine, state))
        except (ArithmeticError, ValueError) as error:
            why = NotAllowed(
                "routine",
                routine.name,
                said("its slots cannot be released ({error}): edit the schedule", error=in_words(error)),
            )
        if why is not None:
            refused.append((routine, why))
    return planned, ended, refused


_PLAN = ["pk" if column == "routine_id" else column for column in NewState._fields]


def _save(found: Sequence[Pair], now: datetime, **values: Any) -> None:
    """As each instance says already, or is made to; an edit by an older version is not refused for it, as of one."""
    for routine, _ in found:
        for column, value in values.items():
            setattr(routine, column, value)
    routines = Routine.objects.using(ledger_alias()).filter(AnyOf("pk", _ids(found)))
    routines.update(updated_at=now, **values)


def _drop_hints(found: Sequence[Pair], had: dict[int, set[HintKind]]) -> None:
    """The hints that are over: the statement that moves plans on knows nothing of them."""
    for kind in HintKind:
        over = [state.pk for _, state in found if kind in had[state.pk] and state.hint(kind) is None]
        if over:
            _states(over).update(**no_hint(kind))


def _with_pause(found: Sequence[Pair], ended: Sequence[Ended]) -> list[tuple[Routine, RoutineState, dict[str, Any]]]:
    return [(*pair, each.before) for pair, each in zip(found, ended, strict=True)]


def _record(
    kind: ChangeKind,
    found: Sequence[tuple[Routine, RoutineState, dict[str, Any]]],
    after: dict[str, Any],
    by: By,
    now: datetime,
) -> None:
    ScheduleChange.objects.using(ledger_alias()).bulk_create(
        changes.new(kind, routine, state, now, actor=by.actor, reason=by.reason, before=before, after=after)
        for routine, state, before in found
    )


def _told(batch: PauseBatch | None) -> dict[str, Any]:
    return {} if batch is None else {"batch": batch.name}


def _ids(found: Sequence[Pair]) -> list[int]:
    return [routine.pk for routine, _ in found]


def _states(routine_ids: Collection[int]) -> Any:
    return RoutineState.objects.using(ledger_alias()).filter(AnyOf("pk", routine_ids))
