"""Picking: the highest-ranked of the owed members, without reading all of them.

Members that differ in nothing but their last attempt are a class: a phase, a band, a depth and an emphasis. Within one,
rank is the order of the index `member_by_rank`, so the first few of each class are all that can be picked, and the core
chooses among these exactly as it would among all. Classes are found by steps along the index, the last phase and the
highest band first, and only until there are enough (to whoever asks for a picture of a few thousand members, the
database gives them sorted). Where a band has very many of them (each member has an emphasis of
its own, say) the database sorts that band by the same rank, and a few more than are wanted are read: the core has the
last word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from heapq import merge
from itertools import groupby
from typing import Any, NamedTuple

from django.db.models import (
    DateTimeField,
    DurationField,
    ExpressionWrapper,
    F,
    FloatField,
    IntegerField,
    Q,
    QuerySet,
    Value,
    Window,
)
from django.db.models.functions import FirstValue, Greatest, Least, Power

from routines_app.core.ranking import MAX_EXPONENT, MAX_LEVELS, NEVER_SECONDS
from routines_app.core.rotation import Owed, pick, rank_of
from routines_app.core.words import MemberStatus, RoutineStatus
from routines_app.models import Rotation, RotationMember
from routines_app.protocol.ledger.arrays import AnyOf
from routines_app.protocol.ledger.seconds import Seconds
from routines_app.protocol.rotate.counts import takes_part
from routines_app.protocol.rotate.members import members
from routines_app.protocol.rotate.promote import MOST, waited_enough

MANY_CLASSES = 30  # of one phase and band: beyond, one statement that sorts is cheaper than a step for each
FEW = 200  # members that may be picked: so many are read and ranked in no time
SORTED_AT_ONCE = 10_000  # members that the database sorts faster than it finds their classes
READ_AT_ONCE = 1_000
ROUNDS = 6  # as a tick has, for those that take no part and stand first
SPARE = 50  # of what the database has sorted: its powers may differ from ours in the last digit

_FIELDS = ("pk", "rank_phase", "band", "depth", "emphasis", "attempted_at")


def ranked(rotation: Rotation, most: int, now: datetime, *, counted: int | None = None) -> list[RotationMember]:
    """Whom the next tick would pick if it had room for so many. Nothing is locked, and nothing is written.

    What that tick would promote counts as owed, and a member whose routine is not ACTIVE does not. Few are read and
    ranked at once, in one statement; of very many only those that can be picked are read. Whoever has `counted`
    its members says so: where they are neither few nor very many, the database sorts them.
    """
    if counted is not None and FEW < counted <= SORTED_AT_ONCE and not _is_crowd(rotation, now):
        return _sorted_at_once(rotation, most, now)
    few = list(_may_be_picked(rotation, now).select_related("routine")[: FEW + 1])
    if len(few) > FEW:
        return _ranked_of_many(rotation, most, now)
    active = {each.pk: each for each in few if each.routine.status == RoutineStatus.ACTIVE}
    waiting = [_owed(*(getattr(each, field) for field in _FIELDS)) for each in active.values()]
    return [active[each.id] for each in pick(waiting, most, now, rotation.depth_weight)]


def _is_crowd(rotation: Rotation, now: datetime) -> bool:
    """Whether more wait to be promoted than a tick promotes."""
    return _may_be_picked(rotation, now).exclude(status=MemberStatus.OWED)[: MOST + 1].count() > MOST


def _sorted_at_once(rotation: Rotation, most: int, now: datetime) -> list[RotationMember]:
    """In two statements: who is first, and these. Within a few of the last digit of a power the core decides."""
    waiting = _may_be_picked(rotation, now).filter(takes_part([rotation.pk]))
    alike = [F("rank_phase"), F("band")]
    waiting = waiting.annotate(least=Window(FirstValue("depth"), partition_by=alike, order_by=F("depth").asc()))
    stalest = _staleness(F("least"), now, rotation.depth_weight).desc()
    rows = waiting.order_by("-rank_phase", "band", stalest, "attempted_at", "pk").values_list(*_FIELDS, "least")
    found = [(_owed(*fields), least) for *fields, least in rows[: most + SPARE]]
    found.sort(key=lambda each: rank_of(each[0], each[1], now, rotation.depth_weight))
    first = [each.id for each, _ in found[:most]]
    read = {each.pk: each for each in members().filter(AnyOf("pk", first)).select_related("routine")}
    return [read[pk] for pk in first if pk in read]


def _may_be_picked(rotation: Rotation, now: datetime) -> QuerySet[RotationMember]:
    """Nothing is asked of routines here: a database that has not counted its rows yet would join all with all."""
    waited = Q(status=MemberStatus.FRESH, due_at__lte=now) | Q(
        status=MemberStatus.FAILED, retry_tick__lte=rotation.ticks + 1
    )
    is_owed = Q(status__in=[MemberStatus.OWED, MemberStatus.LEFT_OUT]) | waited
    return members().filter(is_owed, rotation_id=rotation.pk)


def _ranked_of_many(rotation: Rotation, most: int, now: datetime) -> list[RotationMember]:
    kinds = waited_enough(rotation, rotation.ticks + 1, now, forgotten=True)
    waited = [each for kind in kinds for each in _read(kind[:MOST])]
    left_out: set[int] = set()
    active: list[RotationMember] = []
    for number in range(ROUNDS):
        read = min(max(READ_AT_ONCE, most), most * 8**number)
        owed = owed_of(rotation.pk).exclude(pk__in=left_out) if left_out else owed_of(rotation.pk)
        more = [each for each in waited if each.id not in left_out]
        first = [each.id for each in highest(owed, read, now, rotation.depth_weight, more)]
        found = {each.pk: each for each in members().filter(AnyOf("pk", first)).select_related("routine")}
        active = [found[pk] for pk in first if pk in found and found[pk].routine.status == RoutineStatus.ACTIVE]
        if len(active) >= most or len(first) < read:
            break
        left_out.update(set(first) - {member.pk for member in active})
    return active[:most]


def owed_of(rotation_id: int) -> QuerySet[RotationMember]:
    return members().filter(rotation_id=rotation_id, status=MemberStatus.OWED)


def highest(
    owed: QuerySet[RotationMember], most: int, now: datetime, depth_weight: float, more: Sequence[Owed] = ()
) -> list[Owed]:
    """The same as `core.rotation.pick` of all these, and of those `more` that are known already.

    The least depth of a band is that of its shallowest.
    """
    found: list[Owed] = []
    for phase, band in _all_bands(owed, more) if most > 0 else ():
        here = [each for each in more if (each.phase, each.band) == (phase, band)]
        found += _highest_in(owed.filter(rank_phase=phase, band=band), here, most - len(found), now, depth_weight)
        if len(found) >= most:
            break
    return found


def _all_bands(owed: QuerySet[RotationMember], more: Sequence[Owed]) -> Iterator[tuple[int, int]]:
    """As `_bands`, and those of the others in between."""
    others = sorted({(-each.phase, each.band) for each in more})
    for (phase, band), _ in groupby(merge(((-phase, band) for phase, band in _bands(owed)), others)):
        yield -phase, band


def _bands(owed: QuerySet[RotationMember]) -> Iterator[tuple[int, int]]:
    """Each phase that somebody is owed, the last one first, and in it each band, the highest first."""
    phase = _first(owed.order_by("-rank_phase"), "rank_phase")
    while phase is not None:
        band = _first(owed.filter(rank_phase=phase).order_by("band"), "band")
        while band is not None:
            yield phase, band
            band = _first(owed.filter(rank_phase=phase, band__gt=band).order_by("band"), "band")
        phase = _first(owed.filter(rank_phase__lt=phase).order_by("-rank_phase"), "rank_phase")


def _highest_in(
    band: QuerySet[RotationMember], here: Sequence[Owed], most: int, now: datetime, depth_weight: float
) -> list[Owed]:
    classes: list[_Class] = []
    for each in _classes(band):
        if len(classes) == MANY_CLASSES:
            return _sorted_by_the_database(band, classes[0].depth, here, most, now, depth_weight)
        classes.append(each)
    first = [owed for each in classes for owed in _longest_waiting(band.filter(**each._asdict()), most)]
    return pick([*first, *here], most, now, depth_weight)


class _Class(NamedTuple):
    depth: int
    emphasis: float


def _classes(band: QuerySet[RotationMember]) -> Iterator[_Class]:
    """The shallowest first."""
    depth = _first(band.order_by("depth"), "depth")
    while depth is not None:
        emphasis = _first(band.filter(depth=depth).order_by("emphasis"), "emphasis")
        while emphasis is not None:
            yield _Class(depth, emphasis)
            emphasis = _first(band.filter(depth=depth, emphasis__gt=emphasis).order_by("emphasis"), "emphasis")
        depth = _first(band.filter(depth__gt=depth).order_by("depth"), "depth")


def _first(rows: QuerySet[RotationMember], column: str) -> Any:
    return rows.values_list(column, flat=True).first()


def _longest_waiting(alike: QuerySet[RotationMember], most: int) -> list[Owed]:
    return _read(alike.order_by("attempted_at", "pk")[:most])


def _sorted_by_the_database(
    band: QuerySet[RotationMember],
    shallowest: int,
    here: Sequence[Owed],
    most: int,
    now: datetime,
    depth_weight: float,
) -> list[Owed]:
    least_depth = min([shallowest, *(each.depth for each in here)])
    order = _staleness(Value(least_depth), now, depth_weight).desc()
    found = [*_read(band.order_by(order, "attempted_at", "pk")[: most + SPARE]), *here]
    return sorted(found, key=lambda member: rank_of(member, least_depth, now, depth_weight))[:most]


def _staleness(least_depth: Any, now: datetime, depth_weight: float) -> ExpressionWrapper[Any]:
    """`core.ranking.effective_staleness` in SQL."""
    since = Value(now, output_field=DateTimeField()) - F("attempted_at")
    known = Seconds(ExpressionWrapper(since, DurationField()))
    stale = Greatest(_number(0.0), Least(_number(NEVER_SECONDS), known))
    below = ExpressionWrapper(F("depth") - least_depth, IntegerField())
    levels = ExpressionWrapper(Least(below, Value(MAX_LEVELS)) + _number(1.0), FloatField())
    weight = ExpressionWrapper(_number(depth_weight) * F("emphasis"), FloatField())
    exponent = Greatest(_number(-MAX_EXPONENT), Least(_number(MAX_EXPONENT), weight))
    return ExpressionWrapper(stale * Power(levels, exponent), FloatField())


def _number(value: float) -> Value:
    return Value(value, output_field=FloatField())


def _read(rows: QuerySet[RotationMember]) -> list[Owed]:
    found: Iterable[Sequence[Any]] = rows.values_list(*_FIELDS)
    return [_owed(*row) for row in found]


def _owed(pk: int, phase: int, band: int, depth: int, emphasis: float, attempted_at: datetime) -> Owed:
    return Owed(id=pk, phase=phase, band=band, depth=depth, emphasis=emphasis, attempted_at=attempted_at)
