"""Members that are IN_FLIGHT although their chain is over, or its rows are gone.

An end settles its member in its own transaction, but for an attempt whose chain a stop or an archive ended at that very
moment: should its process die then, or should somebody delete the rows, the member would be in flight for ever. So
would one whose routine had a run of its own when it was picked. What somebody holds is left for the next look.
"""

from __future__ import annotations

from datetime import datetime

from django.db.models import Exists, OuterRef

from routines_app.core.transitions import ACTIVE
from routines_app.core.words import MemberStatus
from routines_app.models import Rotation, RoutineRun
from routines_app.protocol.ledger.arrays import AnyOf
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.locks import lock_free_states
from routines_app.protocol.ledger.timeouts import bounded
from routines_app.protocol.rotate.members import AT_ONCE, lock_free_members, members
from routines_app.protocol.rotate.settle import settle


def settle_forgotten(now: datetime) -> int:
    """Settle one batch of them; how many. Members with an active run are not even read: their end comes here."""
    rotations = list(Rotation.objects.using(ledger_alias()).values_list("pk", flat=True))  # by which the index goes
    if not rotations:
        return 0
    active = RoutineRun.objects.using(ledger_alias()).filter(routine_id=OuterRef("pk"), status__in=sorted(ACTIVE))
    flying = members().filter(AnyOf("rotation_id", rotations), status=MemberStatus.IN_FLIGHT)
    with bounded():
        ids = list(flying.filter(~Exists(active)).order_by("pk").values_list("pk", flat=True)[:AT_ONCE])
    if not ids:
        return 0
    with bounded():
        free = lock_free_members(sorted(lock_free_states(ids)), MemberStatus.IN_FLIGHT)
        return settle([member.pk for member in free], now)
