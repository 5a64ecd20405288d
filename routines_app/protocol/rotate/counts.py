"""How rotations stand, in numbers: for those who ask, and for the samples that their charts are drawn from."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any

from django.db.models import Count, F, Min, Q, QuerySet

from routines_app.core.words import MemberStatus, RoutineStatus
from routines_app.models import RotationMember, Routine
from routines_app.protocol.ledger.database import ledger_alias

_IN_FLIGHT = Q(status=MemberStatus.IN_FLIGHT)


def standings(ticks: Any, now: datetime, takes: Q) -> dict[str, Q]:
    """Where a member can stand, each as a condition: every member meets exactly one of them.

    `ticks` are the rotation's, as a number or an expression; `takes` says that a member's routine is ACTIVE.
    """
    waited = Q(status=MemberStatus.FRESH, due_at__lte=now) | Q(status=MemberStatus.FAILED, retry_tick__lte=ticks + 1)
    return {
        "owed": takes & (Q(status__in=[MemberStatus.OWED, MemberStatus.LEFT_OUT]) | waited),
        "in_flight": _IN_FLIGHT,
        "fresh": takes & Q(status=MemberStatus.FRESH, due_at__gt=now),
        "failing": takes & Q(status=MemberStatus.FAILED, retry_tick__gt=ticks + 1),
        "left_out": ~takes & ~_IN_FLIGHT,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Every member counts once: as owed, in flight, fresh, failing or left out."""

    members: int = 0
    owed: int = 0
    """Those too that the next tick would make owed before it looks."""
    in_flight: int = 0
    fresh: int = 0
    failing: int = 0
    """Failed, and waiting for a later tick than the next one."""
    left_out: int = 0
    """Paused, parked or archived, and not in flight."""
    stale_since: datetime | None = None
    """Of the stalest: its last whole cycle, or when it became a member; None: all are left out, and do not count."""


def counts_of_many(rotation_ids: Collection[int], now: datetime) -> dict[int, Tally]:
    """By rotation, in one statement that reads each member once; one without members is not in it."""
    members = RotationMember.objects.using(ledger_alias()).filter(rotation_id__in=list(rotation_ids)).order_by()
    takes = takes_part(rotation_ids)
    stalest = Min("stale_since", filter=takes | _IN_FLIGHT)
    found = members.values("rotation_id").annotate(**_each_counted(now, takes), oldest=stalest)
    rows: list[dict[str, Any]] = [dict(row) for row in found]
    return {row.pop("rotation_id"): Tally(stale_since=row.pop("oldest"), **row) for row in rows}


def takes_part(rotation_ids: Collection[int]) -> Q:
    """Its routine is ACTIVE: whoever is paused, parked or archived is left out, whenever a tick comes to note it.

    No join: a database that has not counted its rows yet may go through all members for each of the routines. What is
    not in a list it looks up once for all.
    """
    routines = Routine.objects.using(ledger_alias()).filter(rotation_id__in=list(rotation_ids))
    return ~Q(pk__in=routines.exclude(status=RoutineStatus.ACTIVE).values("pk"))


def _each_counted(now: datetime, takes: Q) -> dict[str, Count]:
    where = standings(F("rotation__ticks"), now, takes)
    return {"members": Count("pk")} | {name: Count("pk", filter=stands) for name, stands in where.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """As a `Tally`, with the staleness of the stalest and of the one in the middle."""

    members: int
    owed: int
    in_flight: int
    fresh: int
    failing: int
    left_out: int
    stalest_seconds: float | None
    """Since its last whole cycle, or since it became a member; None: all are left out, and those do not count."""
    median_seconds: float | None
    stalest_id: int | None
    stalest_name: str | None


def counts_of(rotation_id: int, now: datetime) -> Counts:
    """Reads each member once, by indexes, in two statements, and a third for the median."""
    members = RotationMember.objects.using(ledger_alias()).filter(rotation_id=rotation_id)
    takes = takes_part([rotation_id])
    found = members.aggregate(**_each_counted(now, takes))
    by_age = members.filter(takes | _IN_FLIGHT).order_by("stale_since", "pk")
    stalest = by_age.values_list("pk", "stale_since", "routine__name").first()
    middle = _middle(by_age, found["members"] - found["left_out"])
    return Counts(
        **found,
        stalest_id=None if stalest is None else stalest[0],
        stalest_name=None if stalest is None else stalest[2],
        stalest_seconds=None if stalest is None else _age(stalest[1], now),
        median_seconds=median(_age(since, now) for since in middle) if middle else None,
    )


def _middle(by_age: QuerySet[RotationMember], count: int) -> list[datetime]:
    """The one or two in the middle: none where others have left since they were counted."""
    if count == 0:
        return []
    return list(by_age.values_list("stale_since", flat=True)[(count - 1) // 2 : count // 2 + 1])


def _age(since: datetime, now: datetime) -> float:
    return max(0.0, (now - since).total_seconds())
