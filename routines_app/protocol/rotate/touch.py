"""Touching members: they are owed now, however fresh they are."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from routines_app.core.words import MemberStatus
from routines_app.protocol.ledger.arrays import AnyOf
from routines_app.protocol.rotate.members import AT_ONCE, lock_members, members, wake

_WAITING = frozenset({MemberStatus.FRESH, MemberStatus.FAILED})


def touch_members(routine_ids: Collection[int], now: datetime) -> int:  # noqa: ARG001 # as every act is told it
    """Make those of the members owed that are fresh or wait after a failure; how many. Inside a transaction.

    What is in flight or left out stays so: the first comes to its end, and the other is owed when it is active again.
    """
    ids, woken = sorted(set(routine_ids)), set[int]()
    touched = sum(_touch(ids[start : start + AT_ONCE], woken) for start in range(0, len(ids), AT_ONCE))
    wake(woken)
    return touched


def _touch(routine_ids: Collection[int], woken: set[int]) -> int:
    waiting = [member for member in lock_members(routine_ids) if member.status in _WAITING]
    if not waiting:
        return 0
    ids = [member.pk for member in waiting]
    woken.update(member.rotation_id for member in waiting)
    return members().filter(AnyOf("pk", ids)).update(status=MemberStatus.OWED, due_at=None, retry_tick=None)
