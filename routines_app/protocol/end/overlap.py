"""Overlap: which runs of a routine are active, and how a run is asked to make room for another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any
from uuid import UUID

from django.db.models import BooleanField, Case, F, Q, UUIDField, Value, When, Window
from django.db.models.functions import RowNumber

from routines_app.core.admission import ActiveRun
from routines_app.core.line import place_of
from routines_app.core.transitions import ACTIVE
from routines_app.core.words import Reason, RunStatus
from routines_app.models import RoutineRun
from routines_app.protocol.ledger.arrays import AnyOf
from routines_app.protocol.ledger.database import fast_rows, ledger_alias
from routines_app.protocol.ledger.locks import lock_runs, update_locked
from routines_app.protocol.plan.held import HELD_BY_STATUS

Takers = Mapping[UUID, UUID]
"""By run, the one that it makes way for."""
NOBODY: Takers = MappingProxyType({})

READ_PER_KIND = 20  # at each end of a routine's line: what a backlog of thousands decides, these do

_LET_THROUGH = Q(admitted_at__isnull=False) | Q(dispatched_at__isnull=False)
_ALL = Q()
# Not by its reason: a pause writes one, but whatever parks a routine leaves its rows as they are.
_IN_POOL_QUEUE = Q(pool__isnull=False, publish_after=None) & ~HELD_BY_STATUS

IN_THE_WAY = Q(status=RunStatus.RUNNING) | Q(status=RunStatus.PENDING) & (_LET_THROUGH | _IN_POOL_QUEUE)
"""Active runs for which another run of an exclusive routine waits."""


def active_runs(routine_ids: Collection[int], only: Q = _ALL) -> dict[int, list[ActiveRun]]:
    """The active runs of these routines, in one statement. Call it with the routines' states locked.

    Of each kind (running, sent, held back, waiting; by what asked for it) the newest of a routine are enough, and the
    first in line, behind whom all the others are.
    """
    found: dict[int, list[ActiveRun]] = defaultdict(list)
    if not routine_ids:
        return found
    for row in _both_ends_of_each_kind(routine_ids, only):
        run_id, routine_id, status, sent, queues, held, stop_requested_at, reason, trigger, scheduled_for = row
        is_unsent = status == RunStatus.PENDING and not sent
        found[routine_id].append(
            ActiveRun(
                id=run_id,
                place=place_of(trigger, scheduled_for, run_id),
                running=status == RunStatus.RUNNING,
                sent=status == RunStatus.PENDING and bool(sent),
                queues=status == RunStatus.PENDING and bool(queues),
                waits=is_unsent and reason == Reason.OVERLAP,
                held=is_unsent and bool(held),
                stop_requested_at=stop_requested_at,
                overdue=reason == Reason.OVERDUE,
            )
        )
    return found


def _both_ends_of_each_kind(routine_ids: Collection[int], only: Q) -> Iterable[tuple[Any, ...]]:
    active = RoutineRun.objects.using(ledger_alias()).filter(
        only, AnyOf("routine_id", routine_ids), status__in=sorted(ACTIVE)
    )
    kind = [F("routine_id"), F("status"), F("sent"), F("queues"), F("held"), F("trigger")]
    newest = Window(RowNumber(), partition_by=kind, order_by=F("id").desc())
    first = Window(RowNumber(), partition_by=kind, order_by=[F("scheduled_for"), F("id")])  # `core/line.Place`
    kinds = active.annotate(
        sent=_is(_LET_THROUGH | _IN_POOL_QUEUE), queues=_is(~_LET_THROUGH & _IN_POOL_QUEUE), held=_is(HELD_BY_STATUS)
    )
    ends = kinds.annotate(newest=newest, first=first).filter(Q(newest__lte=READ_PER_KIND) | Q(first__lte=READ_PER_KIND))
    columns = ("id", "routine_id", "status", "sent", "queues", "held", "stop_requested_at")
    return fast_rows(ends.order_by("id").values_list(*columns, "reason", "trigger", "scheduled_for"))


def _is(condition: Q) -> Case:
    return Case(When(condition, then=Value(True)), default=Value(False), output_field=BooleanField())


def request_stop(run_ids: Collection[UUID], reason: Reason, now: datetime, by: Takers = NOBODY) -> int:
    """Ask RUNNING runs to stop; the first request counts. Their watchdogs see it."""
    running = RoutineRun.objects.using(ledger_alias()).filter(status=RunStatus.RUNNING, stop_requested_at=None)
    ids = lock_runs(running, run_ids)
    return update_locked(ids, stop_requested_at=now, stop_reason=reason, **blocked(ids, by))


def cancel_pending(run_ids: Collection[UUID], reason: Reason, now: datetime, by: Takers = NOBODY) -> list[UUID]:
    """End PENDING runs that have not started; which. One that starts at the same moment wins and is left alone."""
    return end_waiting(run_ids, RunStatus.CANCELLED, reason, now, by)


def end_waiting(
    run_ids: Collection[UUID], status: RunStatus, reason: Reason, now: datetime, by: Takers = NOBODY
) -> list[UUID]:
    pending = RoutineRun.objects.using(ledger_alias()).filter(status=RunStatus.PENDING)
    ids = lock_runs(pending, run_ids)
    update_locked(ids, status=status, reason=reason, completed_at=now, publish_after=None, **blocked(ids, by))
    return ids


def blocked(run_ids: Collection[UUID], by: Takers) -> dict[str, Any]:
    """What to set of these runs, each of which makes way for another one: in one statement, whosever they are."""
    made_way: dict[UUID, list[UUID]] = {}
    for run_id in run_ids:
        if run_id in by:
            made_way.setdefault(by[run_id], []).append(run_id)
    if not made_way:
        return {}
    whens = [When(id__in=ids, then=Value(taker)) for taker, ids in made_way.items()]
    return {"blocked_by": Case(*whens, default=F("blocked_by"), output_field=UUIDField())}
