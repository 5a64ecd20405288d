"""Rotations and members as their verbs leave them, for tests of the machinery."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from routines_app import service
from routines_app.core.rotation import TICK_TASK
from routines_app.core.words import CatchUpPolicy, ConcurrencyPolicy
from routines_app.models import Rotation, RotationMember, Routine, RoutineRun, RoutineState
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.end.finish import finish
from routines_app.protocol.record.facts import RunFacts
from routines_app.protocol.record.outcome import Outcome
from routines_app.protocol.rotate.enrol import enrol
from routines_app.protocol.run.start import Started, start
from tests.integration.conftest import MONDAY, NOTE


def a_rotation(
    name: str = "feeds", every: str = "1m", policies: dict[str, Any] | None = None, **fields: Any
) -> Rotation:
    """A rotation that ticks every minute."""
    values: dict[str, Any] = {"catch_up_policy": CatchUpPolicy.SKIP, "max_attempts": 1}
    routine = service.create_routine(name=name, task=NOTE, every=every, **(values | (policies or {})))
    Routine.objects.filter(pk=routine.pk).update(task=TICK_TASK)
    routine.refresh_from_db()
    return Rotation.objects.create(routine=routine, **fields)


def members_of(rotation: Rotation, count: int, prefix: str = "m", **fields: Any) -> list[Routine]:
    """So many members, owed and never attempted."""
    values = {"task": NOTE, "trigger_kind": "MANUAL", "concurrency_policy": ConcurrencyPolicy.FORBID} | fields
    names = [f"{rotation.name}-{prefix}{number}" for number in range(count)]
    Routine.objects.bulk_create([Routine(name=name, rotation=rotation, **values) for name in names])
    routines = list(Routine.objects.filter(name__in=names).order_by("pk"))
    RoutineState.objects.bulk_create([RoutineState(routine=routine) for routine in routines])
    with transaction.atomic():
        enrol([routine.pk for routine in routines], MONDAY)
    return routines


def member(routine: Routine | int) -> RotationMember:
    return RotationMember.objects.get(pk=routine if isinstance(routine, int) else routine.pk)


def set_member(routine: Routine, **values: Any) -> None:
    RotationMember.objects.filter(pk=routine.pk).update(**values)


def tick_of(rotation: Rotation) -> RoutineRun:
    """Claim the rotation's next tick at its time; its row. The claim's clock goes on by a minute each time."""
    state = RoutineState.objects.get(pk=rotation.pk)
    assert state.next_slot is not None
    claim_due(state.next_slot)
    return RoutineRun.objects.get(routine_id=rotation.pk, scheduled_for=state.next_slot, rotation=None)


def runs_of(tick: RoutineRun) -> list[RoutineRun]:
    """What the tick has fired, without what seeds."""
    return list(RoutineRun.objects.filter(tick=tick.pk).exclude(routine_id=tick.routine_id).order_by("id"))


def begun(run: RoutineRun) -> RunFacts:
    """The run in the middle of its body."""
    if run.pool_id is None:
        RoutineRun.objects.filter(pk=run.pk).update(eligible_at=MONDAY)
    found = start(run.pk, "worker", exclusive=run.routine_id, lease=False)
    assert isinstance(found, Started), found
    return found.facts


def ended(run: RoutineRun, outcome: Outcome) -> RoutineRun:
    """The run as it is when its body has ended like this."""
    finish(begun(run), outcome)
    return RoutineRun.objects.get(pk=run.pk)


def idle_of(rotation: Rotation) -> tuple[int, int, int]:
    rotation.refresh_from_db()
    return rotation.ticks, rotation.idle_multiplier, rotation.skip_ticks
