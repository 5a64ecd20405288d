"""Plans that move before a look: a pause that ends, the schedules of another policy. In thought: nothing is written.

Each leaves slots behind that will not fire, and a routine as a claim would meet it afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from routines_app.core.holding import HELD_AS
from routines_app.core.words import TRIGGER_FIELDS, CatchUpPolicy, Reason, RoutineStatus
from routines_app.models import Routine, RoutineState
from routines_app.protocol.claim.due import DueRow
from routines_app.protocol.plan.end_of_pause import end_of_pause, leave_to_claim
from routines_app.protocol.plan.hints import move_plan
from routines_app.protocol.plan.leaving import is_unknown
from routines_app.protocol.plan.planning import fingerprint_of, replan
from routines_app.protocol.plan.unfired import Left, move_past_planned, move_past_unfired, pass_over
from routines_app.verbs.leases.what_if import WhatIf
from routines_app.verbs.update import counted_from

_SCHEDULE = (*TRIGGER_FIELDS, "status", "paused_until")  # what moves of a routine itself
_ROUTINE = [field.attname for field in Routine._meta.concrete_fields if field.attname in DueRow._fields]
_STATE = [field.attname for field in RoutineState._meta.concrete_fields if field.attname in DueRow._fields]


class Moved(NamedTuple):
    """A routine as a claim would meet it, and the slots that are left behind, one for each row."""

    row: DueRow
    left: tuple[Left, ...] = ()
    resumed_at: datetime | None = None
    """From when on the runs that a pause held back may go."""


def moved(row: DueRow, what_if: WhatIf, *, since: datetime, now: datetime) -> Moved:
    """The routine after what becomes of it until the look: the policy's changes at `since`, pauses that run out."""
    pk = row.routine_id
    row = row._replace(
        priority=what_if.priorities.get(pk, row.priority),
        concurrency_policy=what_if.concurrency.get(pk, row.concurrency_policy),
    )
    if row.status == RoutineStatus.ACTIVE and not (pk in what_if.paused or pk in what_if.schedules):
        return Moved(row)
    move = _Move(row)
    if pk in what_if.paused:
        move.pause(since)
    elif pk in what_if.resumed:
        move.end_pause(since)
    if pk in what_if.schedules:
        move.reschedule(what_if.schedules[pk], since)
    if (until := move.routine.paused_until) is not None and until <= now:
        move.end_pause(max(since, until))  # beats are on time from the present on
    return move.made()


class _Move:
    """A routine on its way, by the steps of the verbs and of a beat; what those write as rows is collected here."""

    def __init__(self, row: DueRow) -> None:
        values = row._asdict()
        self.routine = Routine(pk=row.routine_id, **{name: values[name] for name in _ROUTINE})
        self._row = row
        self._state = RoutineState(**{name: values[name] for name in _STATE})
        self._left: list[Left] = []
        self._resumed_at: datetime | None = None

    def made(self) -> Moved:
        of_routine = {name: getattr(self.routine, name) for name in _SCHEDULE}
        of_state = {name: getattr(self._state, name) for name in _STATE}
        return Moved(self._row._replace(**of_routine, **of_state), tuple(self._left), self._resumed_at)

    def pause(self, now: datetime) -> None:
        """As `verbs/pause.py` does it, for good; what is parked stays so."""
        if self.routine.status in (RoutineStatus.ACTIVE, RoutineStatus.PAUSED):
            self.routine.status, self.routine.paused_until = RoutineStatus.PAUSED.value, None
            replan(self.routine, self._state, now)

    def end_pause(self, now: datetime) -> None:
        """As `plan/end_of_pause.py` does it: the pause's slots are skipped, and what it held back may go."""
        routine, state = self.routine, self._state
        if routine.status != RoutineStatus.PAUSED:
            return
        ended_at = end_of_pause(routine, now)
        routine.status, routine.paused_until = RoutineStatus.ACTIVE.value, None
        self._leave(move_past_unfired(routine, state, ended_at, Reason.PAUSED))
        if not leave_to_claim(routine, state, ended_at, now, CatchUpPolicy.SKIP):
            self._plan(ended_at)
        self._resumed_at = now

    def reschedule(self, trigger: Mapping[str, Any], now: datetime) -> None:
        """As an edit does it: what the old schedule owes is left behind, and the new one counts from then on."""
        routine, state = self.routine, self._state
        if fingerprint_of(self._row._replace(**trigger)) == fingerprint_of(self._row):
            return  # an edit that changes nothing leaves everything as it is
        self._leave_behind(now)
        for field, value in trigger.items():
            setattr(routine, field, value)
        state.last_slot, state.grid_from = counted_from(routine, state, moved=True)
        self._plan(now, changed=True)

    def _leave_behind(self, now: datetime) -> None:
        """As `plan/leaving.py` does it."""
        routine, state = self.routine, self._state
        reason = HELD_AS.get(routine.status, Reason.SUPERSEDED)
        if is_unknown(routine, state, now):
            self._leave([Left(span, reason) for span in move_past_planned(state, now)])
            return
        while left := move_past_unfired(routine, state, now, reason):
            self._leave(left)
        self._pass_over(now)

    def _pass_over(self, until: datetime) -> None:
        if (span := pass_over(self.routine, self._state, until)) is not None:
            self._leave([Left(span)])

    def _leave(self, left: Sequence[Left]) -> None:
        self._left += left

    def _plan(self, now: datetime, *, changed: bool = False) -> None:
        _, left = move_plan(self.routine, self._state, now, changed=changed)
        self._leave(left)
