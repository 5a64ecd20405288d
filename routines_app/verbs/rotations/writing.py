"""Writing many members at once: batches, each a transaction of its own.

One transaction for ten thousand would keep their rows locked for seconds. Bad input is found before the first of them;
whoever is cut off in between has done some, and the same call again does the rest. Statements are counted by batches,
never by routines.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from django.db import IntegrityError, connections, transaction
from django.db.models import F

from routines_app.core.errors import DuplicateName, NotAllowed, NotFound
from routines_app.core.said import said
from routines_app.core.transitions import ACTIVE
from routines_app.core.words import ConcurrencyPolicy, RoutineStatus, RunStatus, Source
from routines_app.models import ChangeKind, Rotation, Routine, RoutineRun, RoutineState, ScheduleChange
from routines_app.protocol.end.line import look_at_all
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.arrays import AnyOf
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.locks import keep_keys, lock_states
from routines_app.protocol.plan.end_of_pause import NOT_PAUSED
from routines_app.protocol.plan.planning import replan
from routines_app.protocol.record import changes
from routines_app.protocol.rotate.enrol import enrol
from routines_app.protocol.rotate.left_out import leave_out_archived
from routines_app.protocol.upkeep.archived import cancel_waiting
from routines_app.verbs.editing import REASON, actor_name
from routines_app.verbs.held_rows import verb_transaction
from routines_app.verbs.rotations.finding import There, batches, by_name, refuse_joining
from routines_app.verbs.rotations.sorting import New

Told = Callable[[int], None]
LIVING = frozenset(RoutineStatus) - {RoutineStatus.ARCHIVED}


class By(NamedTuple):
    """Who asks, and why."""

    actor: str
    reason: str

    @classmethod
    def checked(cls, actor: object, reason: str) -> By:
        return cls(actor_name(actor), REASON("reason", reason))


class Progress:
    """How many are done; whoever asked for it is told after each batch."""

    def __init__(self, told: Told | None) -> None:
        self.done, self._told = 0, told

    def add(self, count: int) -> None:
        self.done += count
        if self._told is not None:
            self._told(self.done)


def create_members(rotation: Rotation, new: Sequence[New], by: By, progress: Progress) -> int:
    """Create those routines with their states and history, parents first; how many."""
    ids: dict[str, int] = {}
    for level in _levels(new):
        for batch in batches(level):
            ids |= _create_batch(rotation, batch, ids, by)
            progress.add(len(batch))
    return len(new)


def _levels(new: Sequence[New]) -> list[list[New]]:
    """A batch never holds a routine and its parent: the parent's id is not known before it is written."""
    levels: dict[int, list[New]] = {}
    for each in new:
        levels.setdefault(each.depth, []).append(each)
    return [levels[depth] for depth in sorted(levels)]


def _create_batch(rotation: Rotation, batch: Sequence[New], ids: dict[str, int], by: By) -> dict[str, int]:
    with verb_transaction("rotation", rotation.name):
        if not keep_keys(Rotation, [rotation.pk]):
            raise NotFound("rotation", rotation.name, said("it was deleted meanwhile"))
        now = clock.now()
        routines = [_routine(each, ids, created_at=now) for each in batch]
        insert_routines(routines)
        states = [RoutineState(routine=routine) for routine in routines]
        for routine, state in zip(routines, states, strict=True):
            replan(routine, state, now)
        RoutineState.objects.using(ledger_alias()).bulk_create(states)
        told = [
            each.wanted.values | {"parent": routine.parent_id} for each, routine in zip(batch, routines, strict=True)
        ]
        record(ChangeKind.CREATED, routines, states, by, after=told)
        enrol([routine.pk for routine in routines], now)
    return {routine.name: routine.pk for routine in routines}


def _routine(new: New, ids: dict[str, int], **values: Any) -> Routine:
    parent_id = new.parent_id or ids.get(new.wanted.parent or "")
    return Routine(**new.wanted.values, parent_id=parent_id, depth=new.depth, **values)


def insert_routines(routines: Sequence[Routine]) -> None:
    """With their ids, also where a database does not tell them."""
    try:
        with transaction.atomic(using=ledger_alias()):
            Routine.objects.using(ledger_alias()).bulk_create(routines)
    except IntegrityError:
        _refuse_taken(routines)
        raise
    if not connections[ledger_alias()].features.can_return_rows_from_bulk_insert:
        there = by_name([routine.name for routine in routines])
        for routine in routines:
            routine.pk = there[routine.name].id


def _refuse_taken(routines: Sequence[Routine]) -> None:
    """Somebody else took a name between the look and the insert; anything else is not ours to explain."""
    names = [routine.name for routine in routines]
    taken = Routine.objects.using(ledger_alias()).filter(name__in=names).values_list("name", flat=True).first()
    if taken is not None:
        raise DuplicateName("name", taken, said("somebody else has just taken it: try again"))


def join_members(rotation: Rotation, routine_ids: Sequence[int], by: By, progress: Progress) -> int:
    """Let routines that are there name the rotation; how many."""
    joined = 0
    for batch in batches(routine_ids):
        joined += _join_batch(rotation, batch, by)
        progress.add(len(batch))
    return joined


def _join_batch(rotation: Rotation, routine_ids: Sequence[int], by: By) -> int:
    with verb_transaction("rotation", rotation.name):
        states, now = lock_states(routine_ids), clock.now()
        found = routines_of(states)
        for routine, state in found:
            _refuse_joining_now(rotation, routine, state.fresh_hints(now))
        others = [routine for routine, _ in found if routine.concurrency_policy != ConcurrencyPolicy.FORBID]
        before = [{"rotation": None, "concurrency_policy": routine.concurrency_policy} for routine, _ in found]
        joined = {"rotation": rotation.pk, "concurrency_policy": ConcurrencyPolicy.FORBID.value}
        update(found, now, rotation=rotation, concurrency_policy=ConcurrencyPolicy.FORBID)
        record(ChangeKind.UPDATED, *split(found), by, before=before, after=[joined] * len(found))
        for routine_id in with_runs([routine.pk for routine in others], sorted(ACTIVE)):
            look_at_all(routine_id, now)
        enrol([routine.pk for routine, _ in found], now)
    return len(found)


def _refuse_joining_now(rotation: Rotation, routine: Routine, hints: Sequence[Any]) -> None:
    """Behind the lock: it may have become something else since it was looked at."""
    there = There(*(getattr(routine, "pk" if field == "id" else field) for field in There._fields))
    refuse_joining(there, "members", rotation)
    if hints:
        expected = said("a rotation's members take no hints, and it has some: clear its hints first")
        raise NotAllowed("members", routine.name, expected)


def leave_rotation(rotation: Rotation, routine_ids: Sequence[int], by: By, progress: Progress) -> int:
    """They name it no longer, and are MANUAL routines; how many. What runs goes on."""
    left = 0
    for batch in batches(routine_ids):
        with verb_transaction("rotation", rotation.name):
            states, now = lock_states(batch), clock.now()
            found = [pair for pair in routines_of(states) if pair[0].rotation_id == rotation.pk]
            update(found, now, rotation=None)
            before = [{"rotation": rotation.pk}] * len(found)
            record(ChangeKind.UPDATED, *split(found), by, before=before, after=[{"rotation": None}] * len(found))
            enrol([routine.pk for routine, _ in found], now)
        left += len(found)
        progress.add(len(batch))
    return left


def archive_members(
    rotation: Rotation,
    routine_ids: Sequence[int],
    by: By,
    progress: Progress,
    *,
    statuses: Collection[str] = LIVING,
) -> int:
    """Archive those of the members that are in one of these statuses; how many. As `archive_routine`, for many."""
    archived = 0
    for batch in batches(routine_ids):
        with verb_transaction("rotation", rotation.name):
            archived += _archive_batch(rotation, batch, by, statuses)
        progress.add(len(batch))
    return archived


def _archive_batch(rotation: Rotation, routine_ids: Sequence[int], by: By, statuses: Collection[str]) -> int:
    states, now = lock_states(routine_ids), clock.now()
    found = [pair for pair in routines_of(states) if pair[0].rotation_id == rotation.pk]
    found = [pair for pair in found if pair[0].status in statuses]
    ids = [routine.pk for routine, _ in found]
    before = [{"status": routine.status} for routine, _ in found]
    update(found, now, versioned=False, status=RoutineStatus.ARCHIVED, **NOT_PAUSED)
    RoutineState.objects.using(ledger_alias()).filter(AnyOf("pk", ids)).update(
        next_slot=None,
        slot_source="",
        next_run_at=None,
        next_source=Source.ARCHIVED,
        release_policy="",
        release_until=None,
    )
    for routine_id in with_runs(ids, [RunStatus.PENDING]):
        cancel_waiting(routine_id, now)
    leave_out_archived(ids)
    after = [{"status": RoutineStatus.ARCHIVED.value}] * len(found)
    record(ChangeKind.ARCHIVED, *split(found), by, before=before, after=after)
    return len(found)


Pair = tuple[Routine, RoutineState]


def routines_of(states: Sequence[RoutineState]) -> list[Pair]:
    """Read behind the locks."""
    routines = Routine.objects.using(ledger_alias()).filter(AnyOf("pk", [state.pk for state in states]))
    by_id = {routine.pk: routine for routine in routines}
    return [(by_id[state.pk], state) for state in states if state.pk in by_id]


def split(found: Sequence[Pair]) -> tuple[list[Routine], list[RoutineState]]:
    return [routine for routine, _ in found], [state for _, state in found]


def update(found: Sequence[Pair], now: Any, *, versioned: bool = True, **values: Any) -> None:
    """Whoever edits one of them by its older version is refused, but where only its status changes."""
    routines = Routine.objects.using(ledger_alias()).filter(AnyOf("pk", [routine.pk for routine, _ in found]))
    version = {"version": F("version") + 1} if versioned else {}
    routines.update(**values, **version, updated_at=now)


def with_runs(routine_ids: Sequence[int], statuses: Sequence[str]) -> list[int]:
    if not routine_ids:
        return []
    runs = RoutineRun.objects.using(ledger_alias()).filter(AnyOf("routine_id", routine_ids), status__in=statuses)
    return sorted(set(runs.values_list("routine_id", flat=True)))


def record(
    kind: ChangeKind,
    routines: Sequence[Routine],
    states: Sequence[RoutineState],
    by: By,
    *,
    before: Sequence[dict[str, Any]] | None = None,
    after: Sequence[dict[str, Any]],
) -> None:
    now = clock.now()
    nothing: list[dict[str, Any]] = [{}] * len(routines)
    rows = zip(routines, states, before or nothing, after, strict=True)
    ScheduleChange.objects.using(ledger_alias()).bulk_create(
        changes.new(kind, routine, state, now, actor=by.actor, reason=by.reason, before=was, after=becomes)
        for routine, state, was, becomes in rows
    )
