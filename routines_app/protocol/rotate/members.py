"""Members' rows: which there are, and how they are locked.

A member's row comes after its routine's state and runs in the order of locks, and before its rotation's. A tick has the
rotation's row already, so it never waits for a member's: what somebody holds it leaves out.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from django.db import connections
from django.db.models import Case, Q, QuerySet, Value, When

from routines_app.core.rotation import AWAKE
from routines_app.core.words import MemberStatus
from routines_app.models import Rotation, RotationMember
from routines_app.protocol.ledger.arrays import AnyOf, array_literal
from routines_app.protocol.ledger.database import is_postgresql, ledger_alias, sql
from routines_app.protocol.ledger.locks import skipping_locked, waiting_locked

AT_ONCE = 1_000  # rows in one statement, where a caller may have any number
WRITTEN_AT_ONCE = 200  # portably: each row is a branch in each column of the statement, and all are gone through

_WRITTEN = ("status", "phase", "failures", "due_at", "retry_tick", "run", "attempted_at", "stale_since", "cycles")


def members() -> QuerySet[RotationMember]:
    return RotationMember.objects.using(ledger_alias())


def lock_members(routine_ids: Collection[int]) -> list[RotationMember]:
    """The rows of these, locked in the order of their ids. Waits."""
    return list(waiting_locked(_by_id(routine_ids))) if routine_ids else []


def lock_free_members(routine_ids: Collection[int], status: MemberStatus) -> list[RotationMember]:
    """Those that nobody else has locked and that are (still) in this status.

    By their ids alone, and compared then: MariaDB and MySQL would lock the entries of another index first.
    """
    if not routine_ids:
        return []
    return [member for member in skipping_locked(_by_id(routine_ids), keys=False) if member.status == status]


def _by_id(routine_ids: Collection[int]) -> QuerySet[RotationMember]:
    return members().filter(AnyOf("pk", routine_ids)).order_by("pk")


def write(rows: Sequence[RotationMember], changed: Sequence[str] = _WRITTEN) -> None:
    """Write where these are in their cycles, at least what has changed. They are locked, and were read behind that."""
    if rows and is_postgresql(ledger_alias()):
        columns = [[getattr(row, column) for row in rows] for column in ("pk", *_WRITTEN)]
        with connections[ledger_alias()].cursor() as cursor:
            cursor.execute(sql("rotate/update_members"), [array_literal(column) for column in columns])
        return
    for start in range(0, len(rows), WRITTEN_AT_ONCE):
        some = rows[start : start + WRITTEN_AT_ONCE]
        values = {column: _value_of(some, column) for column in changed}
        members().filter(AnyOf("pk", [row.pk for row in some])).update(**values)


def _value_of(rows: Sequence[RotationMember], column: str) -> Any:
    """What a statement sets the column to. Most say the same in every row, and then it is no branch for each."""
    values = [getattr(row, column) for row in rows]
    if all(value == values[0] for value in values):
        return values[0]
    kind: Any = RotationMember._meta.get_field(column)
    branches = [When(pk=row.pk, then=Value(value, kind)) for row, value in zip(rows, values, strict=True)]
    return Case(*branches, output_field=kind)


def wake(rotation_ids: Collection[int]) -> int:
    """Let rotations that idle look at their next tick again; how many did. Waits: call it after the last member's lock.

    Whoever has a rotation and then waits for a member meets an end that has the member and waits for the rotation.
    """
    rotations = _that_idle(rotation_ids)
    return rotations.update(**_AWAKE) if rotation_ids else 0


def wake_free(rotation_ids: Collection[int]) -> int:
    """The same for those that nobody else has locked."""
    if not rotation_ids:
        return 0
    free = [rotation.pk for rotation in skipping_locked(_that_idle(rotation_ids).order_by("pk"), keys=False)]
    return Rotation.objects.using(ledger_alias()).filter(pk__in=free).update(**_AWAKE) if free else 0


_AWAKE = {"idle_multiplier": AWAKE.multiplier, "skip_ticks": AWAKE.skip_ticks}


def _that_idle(rotation_ids: Collection[int]) -> QuerySet[Rotation]:
    idle = Q(idle_multiplier__gt=AWAKE.multiplier) | Q(skip_ticks__gt=AWAKE.skip_ticks)
    return Rotation.objects.using(ledger_alias()).filter(idle, pk__in=sorted(rotation_ids))
