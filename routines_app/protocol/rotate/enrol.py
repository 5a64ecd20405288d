"""Enrolment: the routines that name a rotation have a member's row, and no others do."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from django.db.models import Case, F, Value, When

from routines_app.core.ranking import BANDS
from routines_app.core.words import MemberStatus, Priority
from routines_app.models import RotationMember, Routine
from routines_app.protocol.ledger.arrays import AnyOf
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.rotate.members import AT_ONCE, WRITTEN_AT_ONCE, lock_members, members, wake

_COPIES = ("band", "depth", "emphasis")


def enrol(routine_ids: Collection[int], now: datetime) -> None:
    """Make, move and remove the members' rows of these routines, and copy what rank asks for.

    Call it in the transaction that has changed the routines. Statements are counted by batches, not by routines.
    """
    ids, joined = sorted(set(routine_ids)), set[int]()
    for start in range(0, len(ids), AT_ONCE):
        joined |= _enrol(ids[start : start + AT_ONCE], now)
    wake(joined)


class _Wanted(NamedTuple):
    """What a routine says of its membership."""

    routine_id: int
    rotation_id: int
    band: int
    depth: int
    emphasis: float


def _enrol(routine_ids: Sequence[int], now: datetime) -> set[int]:
    """The rotations that have new members."""
    wanted = _wanted(routine_ids)
    there = {member.pk: member for member in lock_members(routine_ids)}
    _remove([routine_id for routine_id in there if routine_id not in wanted])
    missing = [each for routine_id, each in wanted.items() if routine_id not in there]
    _add(missing, now)
    moved = [there[pk] for pk, each in wanted.items() if pk in there and there[pk].rotation_id != each.rotation_id]
    _move(moved, wanted, now)
    _refresh([there[pk] for pk in wanted if pk in there], wanted)
    return {each.rotation_id for each in missing} | {member.rotation_id for member in moved}


def _wanted(routine_ids: Sequence[int]) -> dict[int, _Wanted]:
    routines = Routine.objects.using(ledger_alias()).filter(AnyOf("pk", routine_ids), rotation__isnull=False)
    found = routines.order_by("pk").values_list("pk", "rotation_id", "priority", "depth", "emphasis")
    return {
        pk: _Wanted(pk, rotation_id, _band(priority), depth, emphasis)
        for pk, rotation_id, priority, depth, emphasis in found
    }


def _band(priority: str) -> int:
    return BANDS[Priority(priority)]


def _remove(routine_ids: Collection[int]) -> None:
    if routine_ids:
        members().filter(AnyOf("pk", routine_ids)).delete()


def _add(missing: Collection[_Wanted], now: datetime) -> None:
    """Two that enrol the same routine at once hold its state; should one not, the first row counts."""
    rows = [RotationMember(**each._asdict(), stale_since=now) for each in missing]
    if rows:
        members().bulk_create(rows, ignore_conflicts=True)


def _move(moved: Sequence[RotationMember], wanted: dict[int, _Wanted], now: datetime) -> None:
    """In its new rotation it begins anew. What is in flight goes on, and is settled there."""
    by_rotation: dict[int, list[int]] = {}
    for member in moved:
        by_rotation.setdefault(wanted[member.pk].rotation_id, []).append(member.pk)
    anew = {"phase": 0, "failures": 0, "stale_since": now, "due_at": None, "retry_tick": None}
    status = Case(When(status=MemberStatus.IN_FLIGHT, then=F("status")), default=Value(MemberStatus.OWED.value))
    for rotation_id, ids in by_rotation.items():
        members().filter(AnyOf("pk", ids)).update(status=status, rotation_id=rotation_id, **anew)


def _refresh(there: Sequence[RotationMember], wanted: dict[int, _Wanted]) -> None:
    changed = [member for member in there if any(_differs(member, wanted[member.pk], field) for field in _COPIES)]
    for member in changed:
        for field in _COPIES:
            setattr(member, field, getattr(wanted[member.pk], field))
    if changed:
        members().bulk_update(changed, _COPIES, batch_size=WRITTEN_AT_ONCE)


def _differs(member: RotationMember, wanted: _Wanted, field: str) -> bool:
    return bool(getattr(member, field) != getattr(wanted, field))
