"""Decisions of one claim: routines that differ in nothing but their identity get the same one, with ids of their own.

A thousand routines that are due at the same full hour are decided once, and the rest of them copied.
"""

from __future__ import annotations

from datetime import datetime
from operator import itemgetter
from typing import Any

from routines_app.core.admission import ActiveRun
from routines_app.core.keys import slot_key
from routines_app.models import new_run_id
from routines_app.protocol.claim.decide import Claimed, decide
from routines_app.protocol.claim.due import DueRow, NewState
from routines_app.protocol.claim.firings import Firings
from routines_app.protocol.claim.new_runs import NewRun

_IDENTITY = frozenset({"routine_id", "name", "priority", "created_at"})
_facts = itemgetter(*(at for at, field in enumerate(DueRow._fields) if field not in _IDENTITY))


class Decisions:
    """What one claim has decided so far."""

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._firings = Firings(now)
        self._known: dict[tuple[Any, ...], Claimed] = {}

    def of(self, row: DueRow, active: list[ActiveRun]) -> Claimed:
        """Decide what is due. Raises whatever a broken schedule raises."""
        # Jitter depends on the identity, and the creation counts until there is a slot to count from.
        if active or row.jitter_ms or row.last_slot is None:
            return decide(row, active, self._now, self._firings)
        facts = _facts(row)
        alike = self._known.get(facts)
        if alike is not None:
            return _copied(alike, row.routine_id)
        decided = decide(row, active, self._now, self._firings)
        if _can_be_copied(decided):
            self._known[facts] = decided
        return decided


def _can_be_copied(decided: Claimed) -> bool:
    """Nothing in it names a run."""
    return not (decided.stop or decided.cancel or decided.extend or decided.state.open_skip or decided.replanned)


def _copied(alike: Claimed, routine_id: int) -> Claimed:
    state = NewState(routine_id, *alike.state[1:])
    return Claimed(state=state, runs=tuple([_copied_run(run, routine_id) for run in alike.runs]))


def _copied_run(run: NewRun, routine_id: int) -> NewRun:
    key = slot_key(routine_id, run.scheduled_for, 1)
    return run._replace(id=new_run_id(), routine_id=routine_id, idempotency_key=key)
