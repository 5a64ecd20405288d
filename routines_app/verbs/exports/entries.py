"""From what is stored to what an export says of it: only what differs from the defaults, in a fixed order."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from routines_app.core.durations import format_duration
from routines_app.core.errors import InvalidValue
from routines_app.core.said import said
from routines_app.core.words import RoutineStatus
from routines_app.models import Pool, Rotation, Routine
from routines_app.models.json_field import Unread
from routines_app.verbs.checking.membership import is_rotation
from routines_app.verbs.checking.validation import is_same
from routines_app.verbs.exports.fields import (
    ARCHIVED,
    DECLARED_IN,
    FIELDS,
    OF_POOLS,
    PAUSED,
    ROTATIONS,
    ROUTINES,
    Field,
    Kind,
    default_of,
    is_always_written,
)
from routines_app.verbs.exports.references import Hider

PHASE = ("name", "task", "args", "kwargs")


def section_of(routine: Routine) -> str:
    return ROTATIONS if is_rotation(routine) else ROUTINES


def entry_of_pool(pool: Pool) -> dict[str, Any]:
    """Its ceiling is the one that it has when it is open: draining it is no decision for another place."""
    found = {name: getattr(pool, column) for name, column in OF_POOLS.items()} | {"max_concurrent": pool.ceiling}
    return {name: value for name, value in found.items() if name == "max_concurrent" or value}


def entry_of(routine: Routine, rotation: Rotation | None, hider: Hider) -> dict[str, Any]:
    """What people have decided about a routine. `rotation`: the one that it is the clock of, if it is one's."""
    section = ROUTINES if rotation is None else ROTATIONS
    is_member, entry = routine.rotation is not None, {}
    for field in FIELDS[section]:
        value = stored_value(field, routine, rotation)
        default = default_of(field, section=section, is_member=is_member, has_cron=bool(routine.cron))
        always = is_always_written(field, section=section, trigger_kind=routine.trigger_kind)
        if always or not is_same(value, default):
            entry[field.name] = written(field, value, hider)
    return entry


def stored_value(field: Field, routine: Routine, rotation: Rotation | None) -> Any:
    """Of the column. As many in flight as the budget allows is what nobody has to say."""
    if field.of_rotation and rotation is not None:
        if field.column == "max_in_flight" and rotation.max_in_flight == rotation.budget:
            return None
        return getattr(rotation, field.column)
    value = getattr(routine, field.column)
    if field.column == "phases" and (value is None or routine.rotation is None):
        return []  # left over from a rotation that it was a member of, they say nothing
    return value


def written(field: Field, value: Any, hider: Hider) -> Any:
    """As a file has it."""
    if isinstance(value, Unread):
        raise InvalidValue(f"{hider.owner}: {field.name}", str(value), said("mend what plain SQL has put there first"))
    if value is None:
        return None
    match field.kind:
        case Kind.DURATION:
            return format_duration(value)
        case Kind.MOMENT:
            return moment_text(value)
        case Kind.REFERENCE:
            return value.name
        case Kind.FREE:
            hidden = hider.hidden(value, field.name)
            return _in_order(hidden) if field.name == "phases" else hidden
        case _:
            return list(value) if isinstance(value, list) else value


def moment_text(value: datetime) -> str:
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def besides(routine: Routine, hider: Hider, now: datetime) -> dict[str, Any]:
    """What is said last: that somebody has paused or archived it, or that it is the code's."""
    told: dict[str, Any] = {}
    if routine.status == RoutineStatus.ARCHIVED:
        told[ARCHIVED] = True
    elif is_paused(routine, now):
        told[PAUSED] = pause_entry(routine.pause_reason, routine.paused_until, hider)
    if routine.is_declared_in_code:
        told[DECLARED_IN] = routine.declared_in
    return told


def is_paused(routine: Routine, now: datetime) -> bool:
    """A pause whose time is over is none, also where no beat has looked yet."""
    return routine.status == RoutineStatus.PAUSED and (routine.paused_until is None or routine.paused_until > now)


def pause_entry(reason: str, until: datetime | None, hider: Hider) -> Any:
    """`true`, if there is nothing more to say."""
    told: dict[str, Any] = {"reason": hider.hidden(reason, f"{PAUSED}.reason")} if reason else {}
    return told | ({"until": moment_text(until)} if until is not None else {}) or True


def _in_order(phases: Any) -> Any:
    if not isinstance(phases, list):
        return phases
    return [{key: each[key] for key in PHASE if key in each} if isinstance(each, dict) else each for each in phases]
