"""Pauses in a file: they travel as what somebody has decided.

An entry that says nothing about a pause leaves it as it is here: whoever has paused a routine in an incident does not
find it running because a file came in. `paused: false` resumes. A pause whose time is over is none.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from routines_app.core.errors import NotAllowed
from routines_app.core.said import said
from routines_app.core.words import RoutineStatus
from routines_app.models import Routine
from routines_app.verbs.exports.entries import is_paused, pause_entry
from routines_app.verbs.exports.fields import PAUSED
from routines_app.verbs.exports.plan_values import ANOTHER_SECRET, SECRET, FieldChange
from routines_app.verbs.exports.references import Hider
from routines_app.verbs.exports.wanted import Pause, Wanted


def new_pause(wanted: Wanted, now: datetime) -> Pause | None:
    """Of one that is to be created."""
    pause = wanted.pause
    return pause if isinstance(pause, Pause) and (pause.until is None or pause.until > now) else None


def planned_pause(pause: Pause | None, hider: Hider) -> dict[str, Any]:
    return {} if pause is None else {PAUSED: pause_entry(pause.reason, pause.until, hider)}


def pause_to_make(
    wanted: Wanted, stored: Routine, now: datetime, was: Hider, becomes: Hider
) -> tuple[Pause | bool | None, tuple[FieldChange, ...]]:
    """What is to be done about the pause of one that is there, and how it is told; nothing: None.

    `was` hides what is here, `becomes` what the file says.
    """
    here = is_paused(stored, now)
    before = pause_entry(stored.pause_reason, stored.paused_until, was) if here else None
    if wanted.pause is False:
        return (False, (_change(before, None),)) if here else (None, ())
    pause = new_pause(wanted, now)
    if pause is None:
        return None, ()
    if here and (stored.pause_reason, stored.paused_until) == (pause.reason, pause.until):
        return None, ()
    if stored.status == RoutineStatus.PARKED:
        raise NotAllowed(PAUSED, stored.status, said("a parked routine is reset first, or left as it is"))
    after = pause_entry(pause.reason, pause.until, becomes)
    return pause, (_change(before, after) if before != after else _change(SECRET, ANOTHER_SECRET),)


def _change(before: Any, after: Any) -> FieldChange:
    return FieldChange(field=PAUSED, before=before, after=after)
