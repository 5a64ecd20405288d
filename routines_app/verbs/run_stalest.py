"""Running what waited longest for a success."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q, QuerySet

from routines_app.core.transitions import ACTIVE
from routines_app.core.words import RoutineStatus
from routines_app.models import Pool, Routine, RoutineRun
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.publish.ranked import band, staleness
from routines_app.verbs.checking.lookup import find_pool
from routines_app.verbs.editing import editing
from routines_app.verbs.run_now import ask, checked_request

READ_AT_ONCE = 20  # others who ask at the same moment may have taken the first ones


def run_stalest(pool: Pool | int | str | None = None, *, requested_by: object = None) -> RoutineRun | None:
    """`run_now` for the idle routine that ranks first by band and staleness: of a pool, or of all. None: all are busy.

    Idle is an ACTIVE routine without an active run.
    """
    request = checked_request(None, None, None, requested_by)
    found = None if pool is None else find_pool(pool)
    tried: set[int] = set()
    while first := list(_by_rank(_idle(found).exclude(pk__in=tried))[:READ_AT_ONCE]):
        for routine_id in first:
            with editing(routine_id) as edit:
                # Asked again behind the lock, or two who ask at once would run the same one.
                if _idle(found).filter(pk=routine_id).exists():
                    return ask(edit.routine, request, edit.now)
        tried.update(first)
    return None


def _idle(pool: Pool | None) -> QuerySet[Routine]:
    runs = RoutineRun.objects.filter(routine_id=OuterRef("pk"), status__in=sorted(ACTIVE))
    routines = Routine.objects.using(ledger_alias()).filter(~Exists(runs), status=RoutineStatus.ACTIVE)
    if pool is None:
        return routines
    return routines.filter(Q(pool=pool) | Q(pool=None) if pool.is_default else Q(pool=pool))


def _by_rank(routines: QuerySet[Routine]) -> QuerySet[Routine, int]:
    stalest_first = routines.order_by(band(""), staleness(clock.now(), "").desc(), "created_at", "pk")
    return stalest_first.values_list("pk", flat=True)
