"""Promotion: members whose waiting is over are owed again. A tick does it before it picks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.db.models import QuerySet

from routines_app.core.words import MemberStatus, RoutineStatus
from routines_app.models import Rotation, RotationMember
from routines_app.protocol.ledger.arrays import AnyOf
from routines_app.protocol.rotate.members import lock_free_members, members

MOST = 1_000  # of each kind at one tick; those that have waited longest
FORGOTTEN_EVERY = 16  # ticks: who makes a routine ACTIVE brings its member back, but for an edit by plain SQL


def promote(rotation: Rotation, now: datetime) -> int:
    """Make owed what the tick that has just been counted finds; how many. What somebody holds waits for the next."""
    kinds = waited_enough(rotation, rotation.ticks, now, forgotten=_looks_for_forgotten(rotation))
    return sum(_promote(kind, rotation, now) for kind in kinds)


def waited_enough(
    rotation: Rotation, ticks: int, now: datetime, *, forgotten: bool
) -> Iterator[QuerySet[RotationMember]]:
    """What the tick of this number promotes: no longer fresh, waited enough ticks, or active again and forgotten.

    Of each kind MOST at one tick, in this order.
    """
    of = members().filter(rotation_id=rotation.pk)
    yield of.filter(status=MemberStatus.FRESH, due_at__lte=now).order_by("due_at")
    yield of.filter(status=MemberStatus.FAILED, retry_tick__lte=ticks).order_by("retry_tick")
    if forgotten:
        left_out = of.filter(status=MemberStatus.LEFT_OUT, routine__status=RoutineStatus.ACTIVE)
        yield left_out.order_by("attempted_at", "pk")


def _looks_for_forgotten(rotation: Rotation) -> bool:
    """Of so many ticks one. While the rotation idles, only one of `idle_multiplier` ticks comes here."""
    return rotation.ticks % FORGOTTEN_EVERY < rotation.idle_multiplier


def _promote(kind: QuerySet[RotationMember], rotation: Rotation, now: datetime) -> int:
    found = dict(kind.values_list("pk", "status")[:MOST])
    if not found:
        return 0
    free = lock_free_members(list(found), MemberStatus(next(iter(found.values()))))
    over = [member.pk for member in free if _is_over(member, rotation.ticks, now)]
    rows = members().filter(AnyOf("pk", over))
    return rows.update(status=MemberStatus.OWED, due_at=None, retry_tick=None) if over else 0


def _is_over(member: RotationMember, ticks: int, now: datetime) -> bool:
    """Asked again behind the lock: it may have run since, by hand, and wait anew."""
    if member.due_at is not None:
        return member.due_at <= now
    return member.retry_tick is None or member.retry_tick <= ticks
