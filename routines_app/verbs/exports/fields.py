"""What travels: the fields of an entry, in the order in which they are written.

They are called as the verbs call them, but for durations, which are text (`5m`) and lose the `_ms` of their column.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Any, NamedTuple

from routines_app.core.words import ConcurrencyPolicy, TriggerKind
from routines_app.models import Rotation, Routine
from routines_app.verbs.checking.membership import OF_A_ROTATION
from routines_app.verbs.checking.validation import default_timezone

FORMAT = 1
POOLS, ROTATIONS, ROUTINES = "pools", "rotations", "routines"
SECTIONS = (POOLS, ROTATIONS, ROUTINES)
KINDS = {POOLS: "pool", ROTATIONS: "rotation", ROUTINES: "routine"}
TICKS_EVERY_MS = 1_800_000  # as `create_rotation` has it


class Kind(Enum):
    PLAIN = auto()
    DURATION = auto()
    """Text in the file, milliseconds in the column."""
    MOMENT = auto()
    FREE = auto()
    """Whatever a person has put there: secrets too."""
    REFERENCE = auto()
    """The name of a pool, a rotation or another routine."""


class Field(NamedTuple):
    name: str
    column: str
    kind: Kind = Kind.PLAIN
    of_rotation: bool = False
    """A column of the rotation, not of its own routine."""


def _duration(name: str) -> Field:
    return Field(name, f"{name}_ms", Kind.DURATION)


_SCHEDULE = [
    Field("cron", "cron"),
    Field("every", "interval_ms", Kind.DURATION),
    Field("timezone", "timezone"),
    Field("start_at", "start_at", Kind.MOMENT),
    Field("end_at", "end_at", Kind.MOMENT),
    _duration("jitter"),
]
_RUNNING = [
    Field("queue", "queue"),
    Field("options", "options", Kind.FREE),
    Field("priority", "priority"),
    Field("emphasis", "emphasis"),
    Field("parent", "parent", Kind.REFERENCE),
    Field("pool", "pool", Kind.REFERENCE),
    Field("concurrency_policy", "concurrency_policy"),
    Field("catch_up_policy", "catch_up_policy"),
    _duration("misfire_grace"),
    _duration("catch_up_window"),
    Field("catch_up_limit", "catch_up_limit"),
    _duration("timeout"),
    _duration("expires"),
    Field("max_attempts", "max_attempts"),
    _duration("retry_delay"),
    _duration("retry_max_delay"),
    Field("retry_jitter", "retry_jitter"),
    Field("retry_for", "retry_for"),
    Field("no_retry_for", "no_retry_for"),
    Field("park_after", "park_after"),
    _duration("min_interval"),
    _duration("max_interval"),
    Field("keep_result", "keep_result"),
]
_ABOUT = [Field("description", "description", Kind.FREE), Field("group", "group"), Field("tags", "tags")]

OF_ROUTINES = [
    *_ABOUT,
    Field("task", "task"),
    Field("args", "args", Kind.FREE),
    Field("kwargs", "kwargs", Kind.FREE),
    Field("at", "once_at", Kind.MOMENT),
    *_SCHEDULE,
    *_RUNNING,
    Field("rotation", "rotation", Kind.REFERENCE),
    Field("phases", "phases", Kind.FREE),
]
OF_ROTATIONS = [
    *_ABOUT,
    Field("budget", "budget", of_rotation=True),
    Field("max_in_flight", "max_in_flight", of_rotation=True),
    Field("fresh_for", "fresh_for_ms", Kind.DURATION, of_rotation=True),
    Field("depth_weight", "depth_weight", of_rotation=True),
    Field("task", "member_task", of_rotation=True),
    Field("phases", "phases", Kind.FREE, of_rotation=True),
    Field("seed", "seed", of_rotation=True),
    Field("archive_vanished", "archive_vanished", of_rotation=True),
    *_SCHEDULE,
    *(field for field in _RUNNING if field.column not in OF_A_ROTATION),
]
OF_POOLS = {"max_concurrent": "max_concurrent", "default": "is_default"}
# What no column says by itself; these come last.
PAUSED, ARCHIVED, DECLARED_IN = "paused", "archived", "declared_in"
BESIDES = (PAUSED, ARCHIVED, DECLARED_IN)

FIELDS = {ROUTINES: OF_ROUTINES, ROTATIONS: OF_ROTATIONS}
KNOWN = {section: [*(field.name for field in fields), *BESIDES] for section, fields in FIELDS.items()}
KNOWN[POOLS] = list(OF_POOLS)

_ROUTINE, _ROTATION = Routine(), Rotation()


def default_of(field: Field, *, section: str, is_member: bool = False, has_cron: bool = False) -> Any:
    """What a routine has there that says nothing about it. As many are in flight as the budget allows: None."""
    if field.column == "timezone":
        return default_timezone()
    if field.column == "concurrency_policy":
        return (ConcurrencyPolicy.FORBID if is_member else ConcurrencyPolicy.ALLOW).value
    if field.column == "max_in_flight":
        return None
    if field.column == "interval_ms" and section == ROTATIONS and not has_cron:
        return TICKS_EVERY_MS
    return getattr(_ROTATION if field.of_rotation else _ROUTINE, field.column)


def is_always_written(field: Field, *, section: str, trigger_kind: str) -> bool:
    """What reads otherwise in another project, or is looked for by whoever reads a rotation."""
    if field.column == "timezone":
        return trigger_kind == TriggerKind.CRON
    return field.column == "interval_ms" and section == ROTATIONS and trigger_kind != TriggerKind.CRON


def file_name(section: str, column: str) -> str:
    """What a column is called in a file: errors of the verbs are about columns, or parts of them (`phases[0].task`)."""
    head = column.split(".", 1)[0].split("[", 1)[0]
    names = {field.column: field.name for field in FIELDS.get(section, ())} | {"trigger_kind": "cron"}
    if section == POOLS:
        names = {stored: name for name, stored in OF_POOLS.items()}
    return names.get(head, head) + column[len(head) :]
