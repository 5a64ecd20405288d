"""Running what waited longest: for a success, or, in a rotation, for an attempt."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q, QuerySet

from routines_app.core.errors import InvalidValue, NotFound
from routines_app.core.rotation import TICK_TASK
from routines_app.core.said import said
from routines_app.core.transitions import ACTIVE
from routines_app.core.words import MemberStatus, RoutineStatus
from routines_app.models import Pool, Rotation, RotationMember, Routine, RoutineRun
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.publish.ranked import band, staleness
from routines_app.protocol.rotate.picking import ranked
from routines_app.verbs.checking.lookup import RotationRef, find_pool, find_rotation
from routines_app.verbs.editing import editing
from routines_app.verbs.run_now import Request, ask, checked_request

READ_AT_ONCE = 20  # others who ask at the same moment may have taken the first ones


def run_stalest(
    of: Pool | Rotation | int | str | None = None,
    *,
    pool: Pool | int | str | None = None,
    rotation: RotationRef | None = None,
    requested_by: object = None,
) -> RoutineRun | None:
    """`run_now` for the idle routine that ranks first by band and staleness: of a pool, or of all. None: all are busy.

    Idle is an ACTIVE routine without an active run; a rotation's own routine, which only ticks, is none. Of a rotation
    it is the member that the next tick would pick first; None: nothing is owed. `of` is a pool or a rotation, or the
    name of either.
    """
    request = checked_request(None, None, None, requested_by)
    pool, rotation = _meant(of, pool, rotation)
    if rotation is not None:
        return _of_rotation(find_rotation(rotation), request)
    return _of_pool(None if pool is None else find_pool(pool), request)


def _meant(
    of: Pool | Rotation | int | str | None, pool: Pool | int | str | None, rotation: RotationRef | None
) -> tuple[Pool | int | str | None, RotationRef | None]:
    if sum(given is not None for given in (of, pool, rotation)) > 1:
        raise InvalidValue("of", of, said("give a pool or a rotation, one of them"))
    if of is None:
        return pool, rotation
    if isinstance(of, Rotation):
        return None, of
    if not isinstance(of, str):
        return of, None
    return _named(of)


def _named(name: str) -> tuple[str | None, str | None]:
    """A name is that of a pool or of a rotation; where it is both, only the caller knows."""
    is_pool = Pool.objects.using(ledger_alias()).filter(name=name).exists()
    is_rotation = Rotation.objects.using(ledger_alias()).filter(routine__name=name).exists()
    if is_pool and is_rotation:
        raise InvalidValue("of", name, said("a pool and a rotation have that name: give it as pool or as rotation"))
    if not is_pool and not is_rotation:
        raise NotFound("of", name, said("neither a pool nor a rotation has that name"))
    return (name, None) if is_pool else (None, name)


def _of_pool(pool: Pool | None, request: Request) -> RoutineRun | None:
    tried: set[int] = set()
    while first := list(_by_rank(_idle(pool).exclude(pk__in=tried))[:READ_AT_ONCE]):
        for routine_id in first:
            with editing(routine_id) as edit:
                # Asked again behind the lock, or two who ask at once would run the same one.
                if _idle(pool).filter(pk=routine_id).exists():
                    return ask(edit.routine, request, edit.now)
        tried.update(first)
    return None


def _idle(pool: Pool | None) -> QuerySet[Routine]:
    runs = RoutineRun.objects.filter(routine_id=OuterRef("pk"), status__in=sorted(ACTIVE))
    routines = Routine.objects.using(ledger_alias()).filter(~Exists(runs), status=RoutineStatus.ACTIVE)
    routines = routines.exclude(task=TICK_TASK)
    if pool is None:
        return routines
    return routines.filter(Q(pool=pool) | Q(pool=None) if pool.is_default else Q(pool=pool))


def _by_rank(routines: QuerySet[Routine]) -> QuerySet[Routine, int]:
    stalest_first = routines.order_by(band(""), staleness(clock.now(), "").desc(), "created_at", "pk")
    return stalest_first.values_list("pk", flat=True)


def _of_rotation(rotation: Rotation, request: Request) -> RoutineRun | None:
    for owed in ranked(rotation, READ_AT_ONCE, clock.now()):
        with editing(owed.pk) as edit:
            if _is_idle_member(rotation, edit.routine):
                return ask(edit.routine, request, edit.now)
    return None


def _is_idle_member(rotation: Rotation, routine: Routine) -> bool:
    """Asked again behind the lock: a tick may have picked it since."""
    members = RotationMember.objects.using(ledger_alias()).filter(pk=routine.pk, rotation=rotation)
    in_flight = members.filter(status=MemberStatus.IN_FLIGHT).exists()
    return members.exists() and not in_flight and routine.status == RoutineStatus.ACTIVE
