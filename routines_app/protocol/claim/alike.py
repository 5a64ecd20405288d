"""Routines that are alike are decided once: a thousand that are due at the same full hour cost little more than one.

Deciding is pure. Routines on the same schedule with the same slots fire alike, whatever they run; those that also run
the same in the same way get the same decision, with ids of their own.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any

from routines_app.core.admission import ActiveRun
from routines_app.core.firing import Firing
from routines_app.core.keys import EPOCH, slot_key
from routines_app.core.words import Source, TriggerKind
from routines_app.models import new_run_id
from routines_app.protocol.claim.claimed import Claimed
from routines_app.protocol.claim.decide import decide, firing_of
from routines_app.protocol.claim.due import DueRow, NewState
from routines_app.protocol.claim.new_runs import NewRun
from routines_app.protocol.plan.planning import grid_of

# Whose slots they are; what is sent, and how; and everything else is which slots they are.
_IDENTITY = frozenset({"routine_id", "name", "priority", "created_at", "grid_from", "args", "kwargs", "options"})
_WORK = frozenset({"task", "queue", "timeout_ms", "jitter_ms", "concurrency_policy", "shadow", "pool_id"})


def _facts(fields: Collection[str]) -> itemgetter[Any]:
    return itemgetter(*(at for at, field in enumerate(DueRow._fields) if field in fields))


_schedule_of = _facts(frozenset(DueRow._fields) - _IDENTITY - _WORK)
_work_of = _facts(_WORK)


class Decisions:
    """What one claim has decided so far."""

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._firings: dict[Any, Firing] = {}
        self._decided: dict[Any, Claimed] = {}

    def of(self, row: DueRow, active: list[ActiveRun]) -> Claimed:
        """Decide what is due. Raises whatever a broken schedule raises."""
        # The creation counts only until there is a slot to count from; of a grid, where its slots are.
        schedule = (_schedule_of(row), None if row.last_slot is not None else row.created_at, _grid_of(row))
        if active or row.jitter_ms:  # both are the routine's own
            return self._decide(row, active, schedule)
        alike = (schedule, _work_of(row))
        found = self._decided.get(alike)
        if found is not None:
            return _copied(found, row.routine_id)
        decided = self._decide(row, active, schedule)
        if _can_be_copied(decided):
            self._decided[alike] = decided
        return decided

    def _decide(self, row: DueRow, active: list[ActiveRun], schedule: object) -> Claimed:
        def fires(row: DueRow, next_slot: datetime) -> Firing:
            found = self._firings.get(schedule)
            if found is None:
                found = self._firings[schedule] = firing_of(row, next_slot, self._now)
            return found

        return decide(row, active, self._now, fires)


def _grid_of(row: DueRow) -> timedelta | None:
    """The place of the grid within its interval: two that began at other times may have the same slots."""
    planned_by_it = row.slot_source == Source.BASELINE_INTERVAL  # the slot itself says where the grid is
    if planned_by_it or row.trigger_kind != TriggerKind.INTERVAL or not row.interval_ms:
        return None
    return (grid_of(row, row) - EPOCH) % timedelta(milliseconds=row.interval_ms)


def _can_be_copied(decided: Claimed) -> bool:
    """Nothing in it names a run or has to be told in the history."""
    return not (decided.stop or decided.cancel or decided.supersede or decided.replanned or decided.moved)


def _copied(alike: Claimed, routine_id: int) -> Claimed:
    state = NewState(routine_id, *alike.state[1:])
    runs = tuple([_copied_run(run, routine_id) for run in alike.runs])
    return Claimed(state=state, runs=runs, drops=alike.drops, expired=alike.expired)


def _copied_run(run: NewRun, routine_id: int) -> NewRun:
    key = slot_key(routine_id, run.scheduled_for, 1)
    return run._replace(id=new_run_id(), routine_id=routine_id, idempotency_key=key)
