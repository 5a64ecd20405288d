"""Rotations and members as plain rows, for tests of what reads them."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import uuid4

from routines_app.core.rotation import TICK_TASK
from routines_app.core.words import ConcurrencyPolicy, MemberStatus, RoutineStatus, TriggerKind
from routines_app.models import Rotation, RotationMember, Routine, RoutineState
from tests.integration.conftest import MONDAY, NOTE


def rotation_row(name: str = "feeds", **values: Any) -> Rotation:
    """A rotation that ticks every half hour, and whose next tick nobody has planned."""
    routine = Routine.objects.create(
        name=name, task=TICK_TASK, trigger_kind=TriggerKind.INTERVAL, interval_ms=1_800_000, max_attempts=1
    )
    RoutineState.objects.create(routine=routine)
    return Rotation.objects.create(routine=routine, **values)


def member_row(
    rotation: Rotation,
    name: str,
    status: MemberStatus = MemberStatus.OWED,
    *,
    routine_status: RoutineStatus = RoutineStatus.ACTIVE,
    stale_since: datetime = MONDAY,
    **values: Any,
) -> RotationMember:
    routine = Routine.objects.create(
        name=name,
        task=NOTE,
        rotation=rotation,
        status=routine_status,
        concurrency_policy=ConcurrencyPolicy.FORBID,
    )
    RoutineState.objects.create(routine=routine)
    if status == MemberStatus.IN_FLIGHT:
        values.setdefault("run", uuid4())
    return RotationMember.objects.create(
        routine=routine, rotation=rotation, status=status, stale_since=stale_since, **values
    )
