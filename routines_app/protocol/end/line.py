"""QUEUE's line moves on: when a chain has ended, the first of what waits behind it is looked at at once.

It moves back for a request: what only queues for room in its pool has not begun, and lets that one go first.

Claim, run-now and judging write who waits under the state's lock, and an end takes that lock too: so whoever was put
behind a run is seen by the end of that run. Should the end die before it comes here, the look that every waiting run
gets anyway (`admission.LOOK_AGAIN`) finds the line free.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Case, F, QuerySet, Value, When, Window
from django.db.models.functions import RowNumber

from routines_app.coordination import wakeups
from routines_app.core.admission import LOOK_AGAIN
from routines_app.core.line import FIRST, LAST
from routines_app.core.words import ConcurrencyPolicy, Reason, RunStatus
from routines_app.models import RoutineRun
from routines_app.protocol.ledger.arrays import AnyOf
from routines_app.protocol.ledger.database import ledger_alias, on_commit
from routines_app.protocol.ledger.locks import lock_runs, update_if, update_in_order, update_locked
from routines_app.protocol.plan.held import HELD_BY_STATUS
from routines_app.protocol.record.waits import because

_TURN = Case(*(When(trigger=trigger, then=Value(turn)) for trigger, turn in FIRST.items()), default=Value(LAST))
IN_TURN = (_TURN, "scheduled_for", "id")
"""The order of a line, as `core/line.Place` has it."""


def let_next_go(routine_ids: Collection[int], now: datetime) -> int:
    """Have the first in the line of each of these routines judged now; how many there were."""
    first = _first_in_lines(routine_ids) if routine_ids else []
    if not first:
        return 0
    with transaction.atomic(using=ledger_alias()):
        # Somebody judges it at this moment, by what was true before: it is looked at once more.
        woken = update_if(_in_line(), first, publish_after=now)
    if woken:
        on_commit(wakeups.wake_beats)
    return woken


def look_at_all(routine_id: int, now: datetime) -> int:
    """Have everything judged now that waits for others of the routine: by its new policy it may not have to.

    The state is locked, and the caller wakes the beats.
    """
    return update_in_order(_in_line().filter(routine_id=routine_id), publish_after=now)


def step_back(run_ids: Collection[UUID], now: datetime) -> bool:
    """Take runs out of their pool's queue and put them back in line. The state is locked.

    The pool is not: whoever fills it may let one of them through at this moment. Then all stay as they are: False.
    """
    queue = RoutineRun.objects.using(ledger_alias()).filter(
        status=RunStatus.PENDING, admitted_at=None, dispatched_at=None, publish_after=None
    )
    if len(lock_runs(queue, run_ids)) < len(run_ids):
        return False
    update_locked(run_ids, **because(Reason.OVERLAP, now), publish_after=now + LOOK_AGAIN)
    return True


def first_of_each(runs: QuerySet[RoutineRun], routine_ids: Collection[int]) -> list[UUID]:
    """Of each routine's runs the first in line, in one question however many routines there are."""
    place = Window(RowNumber(), partition_by=F("routine_id"), order_by=list(IN_TURN))
    numbered = runs.filter(AnyOf("routine_id", routine_ids)).annotate(place=place)
    return list(numbered.filter(place=1).order_by("routine_id").values_list("id", flat=True))


def _first_in_lines(routine_ids: Collection[int]) -> list[UUID]:
    # Not one that the routine's status holds back: behind it somebody may wait whom that does not concern.
    lines = _in_line().filter(~HELD_BY_STATUS, routine__concurrency_policy=ConcurrencyPolicy.QUEUE)
    return first_of_each(lines, routine_ids)


def _in_line() -> QuerySet[RoutineRun]:
    runs = RoutineRun.objects.using(ledger_alias())
    return runs.filter(status=RunStatus.PENDING, dispatched_at=None, admitted_at=None, reason=Reason.OVERLAP)
