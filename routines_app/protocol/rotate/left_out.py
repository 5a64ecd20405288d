"""Members that are left out, because their routine is not ACTIVE, and back when it is.

A tick leaves them out, so that no later one reads them again. Whoever makes a routine ACTIVE brings its member back in
the same transaction: it changes the routine and then locks the member's row, and the tick asks for the routine's status
behind that lock, so one of the two sees the other. What an edit by plain SQL has made ACTIVE, a tick finds now and then
(`promote.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from routines_app.core.words import MemberStatus, RoutineStatus
from routines_app.models import RotationMember, Routine
from routines_app.protocol.ledger.arrays import AnyOf
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.rotate.members import lock_free_members, lock_members, members, wake, wake_free
from routines_app.protocol.rotate.picking import owed_of

AT_ONCE = 5_000  # of a tick


def active_of(routine_ids: Collection[int]) -> set[int]:
    """Those of the routines that are ACTIVE."""
    rows = Routine.objects.using(ledger_alias()).filter(AnyOf("pk", routine_ids), status=RoutineStatus.ACTIVE)
    return set(rows.values_list("pk", flat=True)) if routine_ids else set()


def leave_out_owed(rotation_id: int) -> int:
    """Leave many out at once that are owed and whose routine is not ACTIVE; how many. What is held stays owed."""
    # No join, which a database that has not counted its rows yet may multiply.
    routines = (
        Routine.objects.using(ledger_alias()).filter(rotation_id=rotation_id).exclude(status=RoutineStatus.ACTIVE)
    )
    idle = owed_of(rotation_id).filter(pk__in=routines.values("pk"))
    free = [
        member.pk for member in lock_free_members(list(idle.values_list("pk", flat=True)[:AT_ONCE]), MemberStatus.OWED)
    ]
    active = active_of(free)
    return leave_out([pk for pk in free if pk not in active])


def leave_out(routine_ids: Collection[int]) -> int:
    """Leave these out, whose rows are locked and owed."""
    rows = members().filter(AnyOf("pk", routine_ids))
    return rows.update(status=MemberStatus.LEFT_OUT) if routine_ids else 0


def leave_out_archived(routine_ids: Collection[int]) -> int:
    """Leave those of these out that are owed: their routines have just been archived.

    Waits for none: the caller has members' rows already, in no order. What is held a tick leaves out.
    """
    return leave_out([member.pk for member in lock_free_members(routine_ids, MemberStatus.OWED)])


def bring_back(routine_ids: Collection[int]) -> int:
    """The routines are ACTIVE again: those of them that were left out are owed, and their rotation is awake. Waits."""
    back = [member for member in lock_members(routine_ids) if member.status == MemberStatus.LEFT_OUT]
    if back:
        _owe(back)
        wake({member.rotation_id for member in back})
    return len(back)


def bring_back_free(routine_ids: Collection[int]) -> int:
    """The same for a claim, which may have a rotation's row and waits for none: what is held comes back with a tick."""
    back = lock_free_members(routine_ids, MemberStatus.LEFT_OUT)
    if back:
        _owe(back)
        wake_free({member.rotation_id for member in back})
    return len(back)


def _owe(back: Sequence[RotationMember]) -> None:
    members().filter(AnyOf("pk", [member.pk for member in back])).update(status=MemberStatus.OWED)
