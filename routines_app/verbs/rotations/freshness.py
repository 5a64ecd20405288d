"""Members that are fresh, when it has changed how long they stay so.

Each batch is a transaction of its own: ends of runs and ticks wait for none of them longer than for each other.
"""

from __future__ import annotations

from datetime import timedelta

from django.db.models import F, QuerySet

from routines_app.core.words import MemberStatus
from routines_app.models import Rotation, RotationMember
from routines_app.protocol.ledger.arrays import AnyOf
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.locks import waiting_locked
from routines_app.protocol.rotate.members import lock_members, members
from routines_app.verbs.held_rows import verb_transaction
from routines_app.verbs.rotations import finding
from routines_app.verbs.rotations.writing import Progress


def stay_fresh(rotation: Rotation, progress: Progress) -> None:
    """Let those that are fresh be so from their last cycle on, for the time that the rotation says.

    Those that are right already are not touched, so whoever was interrupted calls it again.
    """
    last = 0
    while batch := _to_mend(rotation, last):
        with verb_transaction("rotation", rotation.name):
            _mend(rotation, batch)
        progress.add(len(batch))
        last = batch[-1]


def _to_mend(rotation: Rotation, after: int) -> list[int]:
    due = F("stale_since") + timedelta(milliseconds=rotation.fresh_for_ms)
    wrong = _fresh(rotation).filter(pk__gt=after).exclude(due_at=due)
    return list(wrong.order_by("pk").values_list("pk", flat=True)[: finding.BATCH])


def _mend(rotation: Rotation, routine_ids: list[int]) -> None:
    """Members first, then their rotation, as ends do. Behind both locks: another change may have come in between."""
    still = [member.pk for member in lock_members(routine_ids) if member.status == MemberStatus.FRESH]
    stored = waiting_locked(Rotation.objects.using(ledger_alias()).filter(pk=rotation.pk)).first()
    if stored is not None:
        due = F("stale_since") + timedelta(milliseconds=stored.fresh_for_ms)
        _fresh(stored).filter(AnyOf("pk", still)).update(due_at=due)


def _fresh(rotation: Rotation) -> QuerySet[RotationMember]:
    return members().filter(rotation_id=rotation.pk, status=MemberStatus.FRESH)
