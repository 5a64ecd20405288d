"""The end of a pause, by a person or because its time is over.

During a pause the plan stands still: `next_slot` stays at the first slot that the pause kept from firing. When the
pause ends, the slots since then are released in one of three ways:

* SKIP: they become one SKIPPED row (`paused`).
* LAST, ALL: they are treated like missed slots. The state remembers `release_policy` and `release_until`, and the
  claim accounts for the slots up to that moment by that policy, with no grace, before it follows the routine's own.

The moment of a hint that the pause kept back has a row of its own; the slots after it are released by the claim in the
same way. Runs that were held because of the pause may go on.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from datetime import datetime
from typing import Any, NamedTuple

from routines_app.core.triggers import INSTANT
from routines_app.core.words import CatchUpPolicy, Reason, RoutineStatus
from routines_app.models import ChangeKind, Routine, RoutineState
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.plan.held import release_held_runs
from routines_app.protocol.plan.hints import move_plan, record_expired
from routines_app.protocol.plan.planning import slot_source_of
from routines_app.protocol.plan.unfired import Left, leave_unfired, pass_over, write_left
from routines_app.protocol.record import changes

NOT_PAUSED: dict[str, Any] = {"paused_until": None, "pause_reason": "", "pause_batch": None}
"""The columns of a pause where there is none."""


class Step(NamedTuple):
    """What a plan has left behind on its way out of a pause, and the state as it was planned then."""

    at: datetime
    state: RoutineState
    left: list[Left]
    expired: dict[str, Any]
    """The hints that were dropped because their time was over, by column."""


class Ended(NamedTuple):
    """What there is to write when a pause ends, besides the routine and its state."""

    routine: Routine
    before: dict[str, Any]
    """The pause, as the history has it."""
    steps: list[Step]


def end_pause(
    routine: Routine,
    state: RoutineState,
    now: datetime,
    release: CatchUpPolicy = CatchUpPolicy.SKIP,
    *,
    actor: str = "",
    reason: str = "",
) -> None:
    """Make a PAUSED routine ACTIVE, account for the pause, and save both. The state is locked by the caller."""
    ended = leave_pause(routine, state, now, release)
    routine.save(using=ledger_alias(), update_fields=["status", *NOT_PAUSED, "updated_at"])
    write_steps([ended])
    state.save(using=ledger_alias())
    release_held_runs([routine.pk], now)
    before, after = ended.before, {"release": release}
    changes.record(ChangeKind.RESUMED, routine, state, now, actor=actor, reason=reason, before=before, after=after)


def leave_pause(routine: Routine, state: RoutineState, now: datetime, release: CatchUpPolicy) -> Ended:
    """Make a PAUSED routine ACTIVE and plan it; the caller saves both and writes the rest. Nothing is written."""
    ended_at = end_of_pause(routine, now)
    before = {"status": routine.status, "paused_until": routine.paused_until}
    routine.status = RoutineStatus.ACTIVE
    for column, value in NOT_PAUSED.items():
        setattr(routine, column, value)
    return Ended(routine, before, _release_slots(routine, state, ended_at, now, release))


def write_steps(ended: Iterable[Ended]) -> None:
    """Write what the plans of many have left behind, and which hints are over: those of one moment at once.

    Slots within a millisecond are told apart by which was written first: of a routine that is the order of its steps.
    """
    by_moment: dict[datetime, list[tuple[Routine, Step]]] = {}
    for each in ended:
        for step in each.steps:
            by_moment.setdefault(step.at, []).append((each.routine, step))
    for at, steps in by_moment.items():
        write_left([(routine, step.state, step.left) for routine, step in steps], at)
        record_expired([(routine, step.state, step.expired) for routine, step in steps], at)


def end_of_pause(routine: Routine, now: datetime) -> datetime:
    """A pause that ran out ended just before its end: a slot at that very moment fires, however late it is seen."""
    if routine.paused_until is not None and routine.paused_until <= now:
        return routine.paused_until - INSTANT
    return now


def _release_slots(
    routine: Routine, state: RoutineState, ended_at: datetime, now: datetime, release: CatchUpPolicy
) -> list[Step]:
    steps: list[Step] = []
    if release is CatchUpPolicy.SKIP:
        left = leave_unfired(routine, state, ended_at, Reason.PAUSED)
        steps.append(Step(now, copy(state), left, {}))
    if not leave_to_claim(routine, state, ended_at, now, release):
        expired, left = move_plan(routine, state, ended_at)
        steps.append(Step(ended_at, copy(state), left, expired))
        steps += _past_the_end(routine, state, now)
    return steps


def _past_the_end(routine: Routine, state: RoutineState, now: datetime) -> list[Step]:
    """A hint or a clamp has left nothing to plan before the schedule's end, and the pause's end is seen late: nobody
    will come to the slots of a cron between the two."""
    span = pass_over(routine, state, now) if state.next_slot is None else None
    return [] if span is None else [Step(now, copy(state), [Left(span)], {})]


def leave_to_claim(
    routine: Routine, state: RoutineState, ended_at: datetime, now: datetime, release: CatchUpPolicy
) -> bool:
    """Whether slots are due that the claim takes; the state then says how. Nothing is written."""
    if state.next_slot is None or state.next_slot > now:
        return False
    if state.next_slot <= ended_at:
        state.release_policy, state.release_until = release, ended_at
    # Otherwise the end of the pause is seen late, and a slot after it is due by now: it stays due, and fires.
    state.next_run_at, state.next_source = now, slot_source_of(routine, state)
    return True
