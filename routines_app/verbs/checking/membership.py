"""Rotations and their members: what the routines of both are, and what they cannot be."""

from __future__ import annotations

from typing import Any

from routines_app.core.errors import InvalidValue, NotAllowed
from routines_app.core.rotation import TICK_TASK
from routines_app.core.said import said
from routines_app.core.words import CatchUpPolicy, ConcurrencyPolicy, RoutineStatus, TriggerKind
from routines_app.models import Rotation, Routine

# What every rotation's own routine has: its slots are ticks, and what it does on a worker is to seed.
OF_A_ROTATION: dict[str, Any] = {
    "task": TICK_TASK,
    "args": [],
    "kwargs": {},
    "concurrency_policy": ConcurrencyPolicy.ALLOW,
    "max_attempts": 1,
    "rotation": None,
    "phases": [],
}


def is_rotation(routine: Routine) -> bool:
    """Whether it is a rotation's own routine."""
    return routine.task == TICK_TASK


def refuse_on_rotation(cleaned: dict[str, Any]) -> None:
    """The routine is a rotation's own: refuse what would make it something else."""
    for field, own in OF_A_ROTATION.items():
        if field in cleaned and cleaned[field] != own:
            expected = said(
                "a rotation's own routine has {own!r} there: what concerns members is changed by update_rotation",
                own=own,
            )
            raise NotAllowed(field, cleaned[field], expected)
    if cleaned.get("once_at") is not None:
        raise InvalidValue("once_at", cleaned["once_at"], said("a rotation ticks again and again: give cron or every"))
    if cleaned.get("catch_up_policy") == CatchUpPolicy.ALL:
        expected = said("give SKIP or LAST: a tick that was missed picks nothing that the next one would not")
        raise InvalidValue("catch_up_policy", cleaned["catch_up_policy"], expected)


def membership(cleaned: dict[str, Any], routine: Routine) -> dict[str, Any]:
    """What membership in a rotation brings along; refuses what no member can be. The routine is as it was before."""
    rotation = cleaned.get("rotation")
    if rotation is None and ("rotation" in cleaned or routine.rotation_id is None):
        _refuse_phases_of_nobody(cleaned, routine)
        return {}
    if rotation is not None and rotation.pk != routine.rotation_id:
        refuse_archived_rotation(rotation)
    if cleaned["trigger_kind"] != TriggerKind.MANUAL:
        given = "trigger_kind" if rotation is None else "rotation"
        value = cleaned["trigger_kind"] if rotation is None else rotation.name
        raise InvalidValue(
            given, value, said("only a routine that fires by hand is a member: give none of cron, every and at")
        )
    policy = cleaned.get("concurrency_policy", ConcurrencyPolicy.FORBID)
    if policy != ConcurrencyPolicy.FORBID:
        raise InvalidValue("concurrency_policy", policy, said("a rotation's members have FORBID: one phase at a time"))
    return {"concurrency_policy": ConcurrencyPolicy.FORBID.value}


def refuse_archived_rotation(rotation: Rotation) -> None:
    if rotation.routine.status == RoutineStatus.ARCHIVED:
        raise NotAllowed("rotation", rotation.name, said("it is archived and takes no members"))


def _refuse_phases_of_nobody(cleaned: dict[str, Any], routine: Routine) -> None:
    """Those that it has from a rotation it has left stay, unless they are changed."""
    if cleaned.get("phases") and cleaned["phases"] != routine.phases:
        raise InvalidValue(
            "phases", cleaned["phases"], said("only a rotation's member has phases: give its rotation too")
        )
