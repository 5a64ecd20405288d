"""Ticks: the slots of a rotation's own routine. Nothing is sent for one; it picks members, in the claim's transaction.

The protocol, for one tick:

1. The claim has the state of the rotation's routine (SKIP LOCKED) and inserts the tick's row by its slot key, as it
   does with every slot. The rotation's row is locked too, skipping: it has the counters.
2. The tick is counted. While the rotation idles, that is all (`idle`).
3. Otherwise it looks. Where there is something to seed by, a run of the rotation's own routine goes to a worker, beside
   the tick. Members whose waiting is over become owed (`rotate/promote.py`); the highest-ranked of the owed are picked,
   as many as the budget and what is in flight leave room for (`rotate/picking.py`, `rotate/member_runs.py`).
4. The members' runs, their rows, the rotation's counters and the tick's row (`picked`, `idle`, `full`, and in `result`
   what it saw) are written. After the commit the runs are the outbox, like any others.

Who dies where, and what meets what:

* a beat before the commit: nothing has happened, and the next beat does the same tick;
* a beat after it: the members' runs are PENDING rows with `publish_after`, and any beat sends them;
* two beats at one tick: the state's lock keeps them apart. Should a slot come a second time (a state that was set
  back), its key has a row already, and a tick without a row of its own does nothing;
* the rotation's row is held by somebody: its routine is left out and tried by itself (`set_aside.py`). It is gone: the
  routine is parked with the reason;
* a member's row, state, routine or pool is held (an edit, an end, a deletion): the next one is picked in its place, and
  it is owed still. An edit that comes after the commit finds the run and does with it what it does with any;
* a request by hand (`run_now`) and a tick: both write the member behind its row's lock, so the second finds it
  IN_FLIGHT;
* a worker between the end of a member's run and the settling: they are one transaction, but for a chain that an archive
  or a stop has ended; the upkeep settles that (`upkeep/unsettled.py`);
* the rotation is paused or archived while members are in flight: their runs end as they do, and settle; no tick picks;
* a member is paused while its run waits: the run is held, and does not count as in flight; archived: the run is
  cancelled, which settles it, and the next tick leaves it out;
* phases, or the rotation of a member, change in the middle of a cycle: the run that is under way is judged by its
  phase's name in the list as it is then; one that is no phase any more begins the cycle anew (`rotate/settle.py`);
* the rotation's routine is deleted: members' rows go with it, their routines stay, and runs that are under way just
  end.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from routines_app.core.errors import NotAllowed
from routines_app.core.keys import rotation_key, unkeyed_key
from routines_app.core.rotation import AWAKE, MOST_BUDGET, SEEDING, TICK_TASK, Idle, idle_after, room
from routines_app.core.said import said
from routines_app.core.transitions import ACTIVE
from routines_app.core.words import Reason, RoutineStatus, RunStatus, RunTrigger
from routines_app.models import Rotation, Routine, RoutineRun, RoutineState
from routines_app.protocol.ledger.arrays import AnyOf
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.locks import lock_state, skipping_locked, waiting_locked
from routines_app.protocol.publish import outbox
from routines_app.protocol.record.events import tell
from routines_app.protocol.rotate.member_runs import Picked, in_flight, in_its_pool, pick_members, stand
from routines_app.protocol.rotate.picking import owed_of
from routines_app.protocol.rotate.promote import promote

WRITTEN_AT_ONCE = 200  # runs in one statement
COUNTED_AT_MOST = 1_000  # of what is owed: a tick's row says how many there were at least
STILL_RUNNING = "still running"


@dataclass(slots=True)
class Ticked:
    """What a tick came to."""

    status: RunStatus
    reason: Reason
    saw: dict[str, Any]
    runs: list[RoutineRun] = field(default_factory=list)
    """Of members, and of the seeding: written, and for the caller to send."""


def lock_free_rotations(routine_ids: Collection[int]) -> dict[int, Rotation]:
    """Those of the rotations whose rows nobody else has locked, by id. Their states are locked by the caller."""
    rows = Rotation.objects.using(ledger_alias()).filter(AnyOf("pk", routine_ids)).order_by("pk")
    return {rotation.pk: rotation for rotation in skipping_locked(rows, keys=False)}


def rotations_there(routine_ids: Collection[int]) -> set[int]:
    """Those of the routines that have a rotation's row, whoever holds it."""
    rows = Rotation.objects.using(ledger_alias()).filter(AnyOf("pk", routine_ids))
    return set(rows.values_list("pk", flat=True))


def tick(rotation: Rotation, tick_id: UUID, now: datetime, *, by_hand: bool = False) -> Ticked:
    """Do the tick whose row has just been inserted, and write what it came to. The rotation's row is locked."""
    rotation.ticks += 1
    if rotation.skip_ticks > 0 and not by_hand:
        rotation.skip_ticks -= 1
        done = Ticked(RunStatus.SKIPPED, Reason.IDLE, _saw(rotation))
    else:
        done = _look(rotation, tick_id, now, by_hand=by_hand)
    rotation.save(using=ledger_alias(), update_fields=["ticks", "skip_ticks", "idle_multiplier"])
    _write(rotation.pk, tick_id, done, now)
    return done


def _look(rotation: Rotation, tick_id: UUID, now: datetime, *, by_hand: bool) -> Ticked:
    seeding = _seeding(rotation, tick_id, now)
    promote(rotation, now)
    flying = in_flight(rotation.pk)
    most = room(budget=rotation.budget, max_in_flight=rotation.max_in_flight, in_flight=flying)
    owed = owed_of(rotation.pk)[:COUNTED_AT_MOST].count()
    picked = pick_members(rotation, most, tick_id, now) if most and owed else Picked()
    if most and picked.is_nobody and not by_hand:
        _idle(rotation, idle_after(rotation.idle_multiplier))
    saw = _saw(rotation, owed=owed, in_flight=flying, picked=_shown(picked.runs))
    if picked.adopted:
        saw["adopted"] = picked.adopted
    saw["seeding"] = STILL_RUNNING if seeding is None and rotation.seed else seeding and str(seeding.pk)
    runs = [*picked.runs, *([seeding] if seeding is not None else [])]
    _insert(runs)
    if picked.runs:
        return Ticked(RunStatus.SUCCESS, Reason.PICKED, saw, runs)
    return Ticked(RunStatus.SKIPPED, Reason.IDLE if most > picked.takes else Reason.FULL, saw, runs)


def _insert(runs: Collection[RoutineRun]) -> None:
    RoutineRun.objects.using(ledger_alias()).bulk_create(runs, batch_size=WRITTEN_AT_ONCE)


def _idle(rotation: Rotation, idle: Idle) -> None:
    rotation.idle_multiplier, rotation.skip_ticks = idle.multiplier, idle.skip_ticks


def _saw(rotation: Rotation, **facts: Any) -> dict[str, Any]:
    """What the tick's row keeps: with it a person, and the audit, can say why it picked these."""
    return {
        "picked": [],
        "budget": rotation.budget,
        "max_in_flight": rotation.max_in_flight,
        "idle_multiplier": rotation.idle_multiplier,
        "seeding": None,
    } | facts


def _shown(runs: Collection[RoutineRun]) -> list[dict[str, Any]]:
    return [{"routine": run.routine_id, "name": run.routine.name, "phase": run.phase} for run in runs]


def _seeding(rotation: Rotation, tick_id: UUID, now: datetime) -> RoutineRun | None:
    """The run that seeds beside this tick, unless there is nothing to seed by, or the last one has not ended."""
    if not rotation.seed:
        return None
    own = RoutineRun.objects.using(ledger_alias()).filter(routine_id=rotation.pk, status__in=sorted(ACTIVE))
    if own.filter(rotation_id=rotation.pk, phase=SEEDING).exists():
        return None
    ready = in_its_pool(Routine.objects.using(ledger_alias()).get(pk=rotation.pk))
    run = RoutineRun.of(
        ready.routine,
        trigger=RunTrigger.ROTATION,
        rotation=rotation,
        phase=SEEDING,
        tick=tick_id,
        pool_id=ready.pool_id,
        scheduled_for=now,
        eligible_at=now,
        idempotency_key=rotation_key(tick_id, rotation.pk, SEEDING),
    )
    stand(run, now, outside=ready.outside)
    return run


def _write(routine_id: int, tick_id: UUID, done: Ticked, now: datetime) -> None:
    has_picked = done.status == RunStatus.SUCCESS
    RoutineRun.objects.using(ledger_alias()).filter(pk=tick_id).update(
        status=done.status,
        reason=done.reason,
        started_at=now if has_picked else None,
        completed_at=now,
        result=done.saw,
    )
    if has_picked:
        states = RoutineState.objects.using(ledger_alias()).filter(pk=routine_id)
        states.update(last_run_at=now, last_success_at=now)


def tick_by_hand(
    routine: Routine, state: RoutineState, requested_by: str, now: datetime, *, key: str | None = None
) -> RoutineRun:
    """A tick that somebody asks for: it looks also while the rotation idles. The state is locked by the caller.

    Returns the tick's row. The runs go out when the transaction commits.
    """
    rotation = _lock_rotation(routine.pk)
    if rotation is None:
        raise NotAllowed("routine", routine.name, said("its rotation is gone: archive it"))
    run = RoutineRun.of(
        routine,
        trigger=RunTrigger.MANUAL,
        status=RunStatus.SKIPPED,
        reason=Reason.IDLE,
        completed_at=now,
        scheduled_for=now,
        eligible_at=now,
        idempotency_key=key or unkeyed_key(routine.pk, secrets.token_hex(8), 1),
        requested_by=requested_by,
        requested_at=now,
    )
    run.save(using=ledger_alias(), force_insert=True)
    done = tick(rotation, run.pk, now, by_hand=True)
    outbox.after_commit(*done.runs)
    run.refresh_from_db(using=ledger_alias())
    if run.status == RunStatus.SUCCESS:
        state.last_run_at = state.last_success_at = now
    tell([run])
    return run


def fill(tick_id: UUID, now: datetime) -> int:
    """Let a tick that had less to pick than its budget pick the rest, since its seeding has found more; how many.

    Asked again it does nothing more than is left. When the next tick has come, that one has picked.
    """
    with transaction.atomic(using=ledger_alias()):
        run = RoutineRun.objects.using(ledger_alias()).filter(pk=tick_id, task=TICK_TASK).first()
        if run is None or lock_state(run.routine_id) is None:
            return 0
        rotation = _lock_rotation(run.routine_id)
        if rotation is None or rotation.routine.status != RoutineStatus.ACTIVE or not _is_the_last(run):
            return 0
        return _fill(rotation, run.pk, now)


def _lock_rotation(routine_id: int) -> Rotation | None:
    """Waits. Members may still be added meanwhile."""
    return waiting_locked(Rotation.objects.using(ledger_alias()).filter(pk=routine_id), keys=False).first()


def _is_the_last(run: RoutineRun) -> bool:
    ticks = RoutineRun.objects.using(ledger_alias()).filter(routine_id=run.routine_id, rotation=None)
    return not ticks.filter(pk__gt=run.pk).exists()


def _left_of(rotation: Rotation, saw: dict[str, Any], spent: int) -> int:
    """What a tick that has taken so many may take still: by what is true now, and by what it saw and wrote down."""
    flying = in_flight(rotation.pk)
    left: int = min(
        room(budget=rotation.budget - spent, max_in_flight=rotation.max_in_flight, in_flight=flying),
        min(saw.get("budget", 0), MOST_BUDGET) - spent,
        saw.get("max_in_flight", 0) - saw.get("in_flight", 0) - spent,
    )
    return left


def _fill(rotation: Rotation, tick_id: UUID, now: datetime) -> int:
    fired = RoutineRun.objects.using(ledger_alias()).filter(tick=tick_id, trigger=RunTrigger.ROTATION)
    before = set(fired.exclude(routine_id=rotation.pk).values_list("routine_id", flat=True))
    row = RoutineRun.objects.using(ledger_alias()).get(pk=tick_id)
    saw = row.result if isinstance(row.result, dict) else _saw(rotation)
    most = _left_of(rotation, saw, len(before) + len(saw.get("adopted", [])))
    picked = pick_members(rotation, most, tick_id, now, without=before) if most > 0 else Picked()
    if not picked.takes:
        return 0
    if picked.adopted:
        saw["adopted"] = [*saw.get("adopted", []), *picked.adopted]
    if not picked.runs:
        RoutineRun.objects.using(ledger_alias()).filter(pk=tick_id).update(result=saw)
        return 0
    _insert(picked.runs)
    saw["picked"] = [*saw.get("picked", []), *_shown(picked.runs)]
    saw["owed"] = max(saw.get("owed", 0), len(saw["picked"]))  # those too that its seeding has found
    _idle(rotation, AWAKE)
    rotation.save(using=ledger_alias(), update_fields=["skip_ticks", "idle_multiplier"])
    _write(rotation.pk, tick_id, Ticked(RunStatus.SUCCESS, Reason.PICKED, saw), now)
    if row.status != RunStatus.SUCCESS:  # it was told as one that picked nobody
        row.refresh_from_db(using=ledger_alias())
        tell([row])
    outbox.after_commit(*picked.runs)
    return len(picked.runs)
