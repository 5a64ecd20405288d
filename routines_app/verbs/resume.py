"""Resuming a paused routine, and what that would release."""

from __future__ import annotations

from datetime import datetime

from routines_app.core.errors import NotAllowed, in_words
from routines_app.core.said import said
from routines_app.core.triggers import Span
from routines_app.core.words import CatchUpPolicy, RoutineStatus
from routines_app.models import Routine, RoutineState
from routines_app.protocol.ledger import clock
from routines_app.protocol.plan.end_of_pause import end_pause
from routines_app.protocol.plan.planning import fault_of
from routines_app.protocol.plan.unfired import unfired
from routines_app.protocol.rotate.left_out import bring_back
from routines_app.verbs.checking.lookup import RoutineRef, find_routine
from routines_app.verbs.checking.rules import Word
from routines_app.verbs.editing import editing

RELEASE = Word(CatchUpPolicy)
NEEDS_PAUSED = said("resume needs a PAUSED routine; reset a PARKED one")


def resume_routine(routine: RoutineRef, *, release: str = "SKIP", actor: str = "", reason: str = "") -> Routine:
    """Let a paused routine fire again; an ACTIVE one stays as it is. `release`: what happens to the pause's slots.

    SKIP: they become one SKIPPED row. LAST: the newest of them runs. ALL: each of them runs, oldest first.
    """
    policy = CatchUpPolicy(RELEASE("release", release))
    with editing(routine, actor=actor, reason=reason) as edit:
        if edit.routine.status == RoutineStatus.ACTIVE:
            return edit.routine
        if edit.routine.status != RoutineStatus.PAUSED:
            raise NotAllowed("status", edit.routine.status, NEEDS_PAUSED)
        if (refusal := refusal_of(edit.routine, edit.state, edit.now)) is not None:
            raise refusal
        end_pause(edit.routine, edit.state, edit.now, policy, actor=edit.actor, reason=edit.reason)
        if edit.routine.rotation_id is not None:
            bring_back([edit.routine.pk])
    return edit.routine


def refusal_of(routine: Routine, state: RoutineState, now: datetime) -> NotAllowed | None:
    """Why a paused routine cannot be resumed, if so."""
    fault = fault_of(routine, state, now)
    if fault is None:
        return None
    expected = said(
        "its next fire cannot be computed ({fault}): edit the schedule, then resume it", fault=in_words(fault)
    )
    return NotAllowed("routine", routine.name, expected)


def slots_to_release(routine: RoutineRef) -> Span | None:
    """The slots that a resume would release now: what a person wants to see before choosing. An instance counts as it
    is: a page shows many, and has read them at once."""
    found = routine if isinstance(routine, Routine) else find_routine(routine)
    state = getattr(found, "state", None)  # a plain insert may have left it out; the resume makes up for it
    return None if state is None else unfired(found, state, clock.now())
