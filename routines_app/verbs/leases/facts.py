"""What the plan of leases reads: everything that a look would meet, in a few statements, whatever their sizes.

Nothing is locked. A beat may do some of it between two of these statements: a plan is a picture of a moment.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Case, Count, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce
from django.db.models.lookups import In

from routines_app.conf import get_settings
from routines_app.core.admission import ActiveRun
from routines_app.core.rotation import TICK_TASK
from routines_app.core.transitions import ACTIVE
from routines_app.core.words import ConcurrencyPolicy, RunStatus, is_exclusive
from routines_app.models import Pool, RoutineRun
from routines_app.protocol.claim.decide import needs_active_runs
from routines_app.protocol.claim.due import DueRow, look_at_due
from routines_app.protocol.end.overlap import active_runs
from routines_app.protocol.ledger.arrays import AnyOf
from routines_app.protocol.ledger.database import fast_rows, ledger_alias
from routines_app.protocol.ledger.default_pool import IN_FLIGHT_WITHOUT_A_POOL, pool_or_default
from routines_app.protocol.ledger.moments import readable
from routines_app.protocol.plan.held import HELD_BY_STATUS
from routines_app.protocol.publish.ranked import in_rank_order

READ_AT_MOST = 20_000  # of each kind: far more than anybody reads
READ_FOR_EACH = 3  # decision that is asked for: what is not shown takes room from what is
WAITING_AT_LEAST = 180  # runs: they are read in the order of their rank


class DueSlot(NamedTuple):
    """A routine that a claim would take, and what ranks its slots."""

    row: DueRow
    emphasis: float
    depth: int
    last_success_at: datetime | None


class WaitingRun(NamedTuple):
    """A PENDING run that is not in the broker."""

    id: UUID
    routine_id: int
    own_pool_id: int | None
    """NULL beside a default pool: a look takes it in before it judges it."""
    pool_id: int | None
    """Its own, or the default pool."""
    trigger: str
    requested_at: datetime | None
    scheduled_for: datetime
    eligible_at: datetime
    admitted_at: datetime | None
    publish_after: datetime | None
    reason: str
    name: str
    status: str
    priority: str
    policy: str
    expires_ms: int | None
    emphasis: float
    depth: int
    last_success_at: datetime | None


_COLUMNS = (
    "id",
    "routine_id",
    "pool_id",
    pool_or_default("pool_id"),
    "trigger",
    "requested_at",
    "scheduled_for",
    "eligible_at",
    "admitted_at",
    "publish_after",
    "reason",
    "routine__name",
    "routine__status",
    "routine__priority",
    "routine__concurrency_policy",
    "routine__expires_ms",
    "routine__emphasis",
    "routine__depth",
    "routine__state__last_success_at",
)


_TIMES = (
    "requested_at",
    "scheduled_for",
    "eligible_at",
    "admitted_at",
    "publish_after",
    "routine__state__last_success_at",
)


class PoolFacts(NamedTuple):
    """A pool and how full it is."""

    id: int
    name: str
    ceiling: int
    in_flight: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What there is."""

    now: datetime
    """When the look would be."""
    since: datetime
    """The present, if the look is later, or the look: from here on beats are taken to be on time."""
    due: list[DueSlot]
    waiting: list[WaitingRun]
    active: dict[int, list[ActiveRun]]
    """The active runs of the routines whose overlap may be decided."""
    places: dict[UUID, int]
    """The pools in which those of REPLACE routines have a place: whoever makes them go gives it back."""
    pools: dict[int, PoolFacts]
    truncated: bool


def read_facts(
    now: datetime,
    present: datetime,
    *,
    named: Collection[int],
    pools: dict[int, PoolFacts],
    chosen: Collection[int] | None = None,
    limit: int = READ_AT_MOST,
) -> Facts:
    """Read what a look would meet; of the `named` routines everything, also if they are not due.

    `limit` is how many decisions will be shown: a page that shows sixty does not simulate twenty thousand.

    `chosen` pools are read first: what is not asked for must not hide what is. The others are read all the same, for
    what they do to those.
    """
    most = min(READ_AT_MOST, max(WAITING_AT_LEAST, READ_FOR_EACH * limit))
    # Those that are due are read as a claim takes them, by their time: all of a batch compete for room.
    most_due = min(READ_AT_MOST, max(most, get_settings().claim_batch))
    columns = ("routine__emphasis", "routine__depth", "last_success_at")
    found = look_at_due(now, *columns, also=named, pools=chosen or (), limit=most_due + 1)
    # A tick needs no lease and no room: the claim does it itself. Whom it will pick is `rotation_status`'s to say.
    due = [DueSlot(row, *ranking) for row, ranking in found if row.task != TICK_TASK]
    waiting = _waiting(now, chosen or (), most)
    unread = [slot.row.pool_id for slot in due[most_due:]] + [run.pool_id for run in waiting[most:]]
    overlapping = {slot.row.routine_id for slot in due if needs_active_runs(slot.row, now)}
    overlapping |= {run.routine_id for run in waiting if is_exclusive(run.policy)} | set(named)
    replacing = {run.routine_id for run in waiting if run.policy == ConcurrencyPolicy.REPLACE} | set(named)
    replacing |= {slot.row.routine_id for slot in due if slot.row.concurrency_policy == ConcurrencyPolicy.REPLACE}
    return Facts(
        now=now,
        since=min(now, present),
        due=due[:most_due],
        waiting=waiting[:most],
        active=active_runs(overlapping, readable("scheduled_for", "stop_requested_at")),
        places=_places(replacing),
        pools=pools,
        truncated=any(chosen is None or pool_id in chosen for pool_id in unread),
    )


def read_pools() -> dict[int, PoolFacts]:
    """The pools by id, with what counts against their ceilings, in one statement."""
    runs = RoutineRun.objects.using(ledger_alias())
    admitted = runs.filter(pool_id=OuterRef("pk"), status__in=sorted(ACTIVE), admitted_at__isnull=False)
    in_flight = Subquery(admitted.order_by().values("pool_id").annotate(number=Count("pk")).values("number"))
    untaken = runs.filter(IN_FLIGHT_WITHOUT_A_POOL).order_by().values("pool_id").annotate(number=Count("pk"))
    beside = Case(When(is_default=True, then=Coalesce(Subquery(untaken.values("number")), 0)), default=Value(0))
    rows = Pool.objects.using(ledger_alias()).annotate(taken=Coalesce(in_flight, 0) + beside).order_by("pk")
    return {row[0]: PoolFacts._make(row) for row in rows.values_list("pk", "name", "max_concurrent", "taken")}


def _waiting(now: datetime, chosen: Collection[int], most: int) -> list[WaitingRun]:
    """One more than is used, if there are. Of a queue beyond all bounds those are read that a pool would take first.

    Rows that cannot be read are left out: a beat takes them out (`publish/unreadable.py`).
    """
    stage = Case(When(admitted_at__isnull=False, then=Value(0)), When(_may_go(now), then=Value(1)), default=Value(2))
    waiting = RoutineRun.objects.using(ledger_alias()).annotate(stage=stage)
    waiting = waiting.filter(readable(*_TIMES), status=RunStatus.PENDING, dispatched_at=None)
    if not chosen:
        return _first(waiting, now, most + 1)
    is_chosen = When(In(pool_or_default("pool_id"), chosen), then=Value(True))
    waiting = waiting.annotate(chosen=Case(is_chosen, default=Value(False)))
    first = _first(waiting.filter(chosen=True), now, most + 1)
    more = most + 1 - len(first)  # who is not asked for is read as far as there is room
    return first + (_first(waiting.filter(chosen=False), now, more) if more else [])


def _first(waiting: QuerySet[RoutineRun], now: datetime, most: int) -> list[WaitingRun]:
    rows: Any = in_rank_order(waiting, now, stage="stage").values_list(*_COLUMNS)[:most]
    return [WaitingRun._make(row) for row in fast_rows(rows)]


def _may_go(now: datetime) -> Q:
    """What competes for room at that look: it queues for it, or is judged then."""
    looked_at = Q(publish_after=None) | Q(publish_after__lte=now)
    return ~HELD_BY_STATUS & looked_at & Q(eligible_at__lte=now)


def _places(routine_ids: Collection[int]) -> dict[UUID, int]:
    if not routine_ids:
        return {}
    runs = RoutineRun.objects.using(ledger_alias()).filter(
        Q(admitted_at__isnull=False) | IN_FLIGHT_WITHOUT_A_POOL,
        AnyOf("routine_id", routine_ids),
        status__in=sorted(ACTIVE),
    )
    places = runs.values_list("id", pool_or_default("pool_id"))
    return {run_id: pool_id for run_id, pool_id in places if pool_id is not None}
