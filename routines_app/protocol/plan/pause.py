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

from datetime import datetime

from routines_app.core.triggers import INSTANT
from routines_app.core.words import CatchUpPolicy, Reason, RoutineStatus
from routines_app.models import ChangeKind, Routine, RoutineState
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.plan.held import release_held_runs
from routines_app.protocol.plan.hints import plan_anew
from routines_app.protocol.plan.planning import slot_source_of
from routines_app.protocol.plan.unfired import skip_unfired
from routines_app.protocol.record import changes


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
    ended_at = end_of_pause(routine, now)
    before = {"status": routine.status, "paused_until": routine.paused_until}
    routine.status, routine.paused_until, routine.pause_reason = RoutineStatus.ACTIVE, None, ""
    routine.save(using=ledger_alias(), update_fields=["status", "paused_until", "pause_reason", "updated_at"])
    _release_slots(routine, state, ended_at, now, release)
    state.save(using=ledger_alias())
    release_held_runs(routine, now)
    changes.record(
        ChangeKind.RESUMED, routine, state, now, actor=actor, reason=reason, before=before, after={"release": release}
    )


def end_of_pause(routine: Routine, now: datetime) -> datetime:
    """A pause that ran out ended just before its end: a slot at that very moment fires, however late it is seen."""
    if routine.paused_until is not None and routine.paused_until <= now:
        return routine.paused_until - INSTANT
    return now


def _release_slots(
    routine: Routine, state: RoutineState, ended_at: datetime, now: datetime, release: CatchUpPolicy
) -> None:
    if release is CatchUpPolicy.SKIP:
        skip_unfired(routine, state, ended_at, Reason.PAUSED, now)
    if not leave_to_claim(routine, state, ended_at, now, release):
        plan_anew(routine, state, ended_at)


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
