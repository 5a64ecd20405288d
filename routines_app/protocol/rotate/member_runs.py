"""The runs of members that a tick picks: who may be picked, and what its run is to do.

The rows of the highest-ranked are locked, then the states of their routines, all skipping what somebody holds: a tick
waits for nobody, and in the place of one that is being edited goes the next. Behind these locks
* a routine that is not ACTIVE makes its member LEFT_OUT: it is not read again until it is active;
* a routine with an active run (from before it was a member, say) makes its member IN_FLIGHT with that run;
* the others get their run, and are IN_FLIGHT with it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Exists, OuterRef

from routines_app.conf import get_settings
from routines_app.core.admission import Hold, Publish, standing
from routines_app.core.keys import rotation_key
from routines_app.core.transitions import ACTIVE
from routines_app.core.waits import first_wait
from routines_app.core.words import MemberStatus, Reason, RoutineStatus, RunStatus, RunTrigger
from routines_app.models import Pool, Rotation, RotationMember, Routine, RoutineRun
from routines_app.protocol.ledger.arrays import AnyOf
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.default_pool import pool_or_default
from routines_app.protocol.ledger.locks import free_keys, lock_free_states
from routines_app.protocol.plan.held import HELD_BY_STATUS
from routines_app.protocol.rotate.left_out import active_of, leave_out, leave_out_owed
from routines_app.protocol.rotate.members import lock_free_members, members, write
from routines_app.protocol.rotate.phases import WORK_FIELDS, Phase, number_of, phases_of
from routines_app.protocol.rotate.picking import highest, owed_of

READ_AT_ONCE = 1_000
ROUNDS = 6  # in each of which eight times as many are read

_NEEDED = (*WORK_FIELDS, "name", "queue", "timeout_ms", "pool")


@dataclass(slots=True)
class Picked:
    """What a tick has picked. The runs are not written yet, the members are."""

    runs: list[RoutineRun] = field(default_factory=list)
    held: int = 0
    """Members that were passed over because somebody holds a row that they need."""
    left_out: int = 0
    adopted: list[int] = field(default_factory=list)
    """Members whose routine had an active run already. They are in flight with it, and take room as the others do."""

    @property
    def takes(self) -> int:
        return len(self.runs) + len(self.adopted)

    @property
    def is_nobody(self) -> bool:
        """Nobody was owed. Behind those that are held or left out others may be."""
        return not (self.takes or self.held or self.left_out)


def in_flight(rotation_id: int) -> int:
    """How many members are under way; not those whose run a pause or a parking holds back."""
    flying = members().filter(rotation_id=rotation_id, status=MemberStatus.IN_FLIGHT)
    runs = RoutineRun.objects.using(ledger_alias()).filter(routine_id=OuterRef("pk"), status=RunStatus.PENDING)
    return flying.exclude(Exists(runs.filter(HELD_BY_STATUS))).count()


def pick_members(rotation: Rotation, most: int, tick: UUID, now: datetime, *, without: Collection[int] = ()) -> Picked:
    """Take the highest-ranked that are owed, at most so many, but none of those `without`.

    The rotation's row is locked by the caller, who writes the runs.
    """
    picked, tried = Picked(), set(without)
    for number in range(ROUNDS):
        wanted = most - picked.takes
        if wanted <= 0:
            break
        owed = owed_of(rotation.pk).exclude(pk__in=tried) if tried else owed_of(rotation.pk)
        read = min(max(READ_AT_ONCE, wanted), wanted * 8**number)
        found = [each.id for each in highest(owed, read, now, rotation.depth_weight)]
        if not found:
            break
        tried.update(_take(picked, rotation, found, wanted, tick, now))
    return picked


def _take(
    picked: Picked, rotation: Rotation, found: Sequence[int], wanted: int, tick: UUID, now: datetime
) -> Collection[int]:
    """Those of the found, in this order, that are done with: picked, left out, or passed over."""
    free = {member.pk: member for member in lock_free_members(found, MemberStatus.OWED)}
    is_active = active_of(free)
    _leave_out(picked, rotation, [pk for pk in free if pk not in is_active])
    first = [pk for pk in found if pk in is_active][:wanted]
    ready = _behind_their_locks(first)
    others = _active_chains(ready)
    taken = [free[pk] for pk in first if pk in ready]
    for member in taken:
        if (chain := others.get(member.pk)) is not None:
            member.status, member.run = MemberStatus.IN_FLIGHT, chain
            picked.adopted.append(member.pk)
        else:
            picked.runs.append(_fly(member, rotation, ready[member.pk], tick, now))
    write(taken, ["status", "phase", "run"])
    picked.held += len(found) - len(free) + len(first) - len(taken)
    return {*first, *(pk for pk in found if pk not in is_active)}


def _leave_out(picked: Picked, rotation: Rotation, routine_ids: Collection[int]) -> None:
    """These, and with the first of them the others like them: thousands may stand before the next one to be picked."""
    if routine_ids:
        is_first = not picked.left_out
        picked.left_out += leave_out(routine_ids)
        if is_first:
            picked.left_out += leave_out_owed(rotation.pk)


class Ready(NamedTuple):
    """A routine behind its lock, and the pool that a run of it belongs to."""

    routine: Routine
    pool_id: int | None
    outside: bool
    """It belongs to the default pool, and somebody holds that: a look at the outbox takes the run in."""


def _behind_their_locks(routine_ids: Sequence[int]) -> dict[int, Ready]:
    """Those of the routines that nobody edits and to which a run can refer, as they are then."""
    free = free_keys(Routine, lock_free_states(routine_ids))
    if not free:
        return {}
    # Nothing more than is needed: a time that is none, say, concerns its own routine and not the tick.
    rows = Routine.objects.using(ledger_alias()).filter(AnyOf("pk", free), status=RoutineStatus.ACTIVE).only(*_NEEDED)
    routines = list(rows.annotate(in_pool=pool_or_default("pool_id")))
    pools = free_keys(Pool, {routine.in_pool for routine in routines if routine.in_pool is not None})
    ready = {}
    for routine in routines:
        is_held = routine.in_pool is not None and routine.in_pool not in pools
        if not is_held or routine.pool_id is None:
            ready[routine.pk] = Ready(routine, None if is_held else routine.in_pool, outside=is_held)
    return ready


def in_its_pool(routine: Routine) -> Ready:
    """The same for one routine whose own pool, if it has one, is known to be free, or is waited for."""
    if routine.pool_id is not None:
        return Ready(routine, routine.pool_id, outside=False)
    default = Pool.objects.using(ledger_alias()).filter(is_default=True).values_list("pk", flat=True).first()
    is_held = default is not None and not free_keys(Pool, [default])
    return Ready(routine, None if is_held else default, outside=is_held)


def _active_chains(routine_ids: Iterable[int]) -> dict[int, UUID]:
    """Of routines that have an active run: its chain."""
    ids = list(routine_ids)
    if not ids:
        return {}
    runs = RoutineRun.objects.using(ledger_alias()).filter(AnyOf("routine_id", ids), status__in=sorted(ACTIVE))
    return {routine_id: chain or run_id for routine_id, run_id, chain in runs.values_list("routine_id", "id", "chain")}


def _fly(member: RotationMember, rotation: Rotation, ready: Ready, tick: UUID, now: datetime) -> RoutineRun:
    phases = phases_of(rotation, ready.routine)
    member.phase = number_of(phases, member.phase)
    run = run_of(ready.routine, phases[member.phase], rotation, now, pool_id=ready.pool_id)
    run.trigger, run.tick = RunTrigger.ROTATION, tick
    run.idempotency_key = rotation_key(tick, member.pk, run.phase)
    stand(run, now, outside=ready.outside)
    member.status, member.run = MemberStatus.IN_FLIGHT, run.pk
    return run


def run_of(routine: Routine, phase: Phase, rotation: Rotation, now: datetime, *, pool_id: int | None) -> RoutineRun:
    """A run of one phase of a member; who asks for it says by what, and where it stands."""
    own: dict[str, Any] = {"args": phase.args, "kwargs": phase.kwargs} if phase.has_arguments else {}
    run = RoutineRun.of(
        routine,
        rotation=rotation,
        phase=phase.name,
        pool_id=pool_id,
        scheduled_for=now,
        eligible_at=now,
        **own,
    )
    run.task = phase.task
    return run


def stand(run: RoutineRun, now: datetime, *, outside: bool = False) -> None:
    """Nothing holds it but, perhaps, its pool; `outside` of it the run is looked at at once."""
    if outside:
        run.publish_after = now
        return
    retry = timedelta(seconds=get_settings().publish_retry_seconds)
    decided = Hold(Reason.CEILING) if run.pool_id is not None else Publish()
    run.admitted_at, run.publish_after, run.reason = standing(
        decided, eligible_at=run.eligible_at, now=now, publish_retry=retry
    )
    run.waits = first_wait(run.reason, now)
