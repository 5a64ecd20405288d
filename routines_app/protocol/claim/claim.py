"""Claim: due routines are taken, their slots become rows, and the schedule moves on, in one transaction.

The protocol, for one batch:

1. `take_due` locks the states of due routines with SKIP LOCKED, so that beats share the work and never meet.
2. For each, the core decides what fires and what is skipped; overlap is decided against the routine's active runs.
3. The rows are inserted and the states are written: one statement each. A crash before the commit undoes all of it
   and another beat claims the same slots; after the commit the rows are the outbox.
4. What may go out at once is returned as messages, for the caller to publish after the commit. The rows already say
   in `publish_after` when (PUBLISH_RETRY_SECONDS later): if nobody stamps them by then, any beat publishes them.

A routine whose next fire cannot be computed is parked with the reason; all others go on.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from django.db import DatabaseError, transaction
from django.db.models import F

from routines_app.conf import get_settings
from routines_app.coordination.envelope import Message
from routines_app.core.admission import Publish, standing
from routines_app.core.triggers import Span
from routines_app.core.words import RoutineStatus, Source
from routines_app.models import Routine, RoutineRun
from routines_app.protocol.claim.alike import Decisions
from routines_app.protocol.claim.decide import Claimed, needs_active_runs
from routines_app.protocol.claim.due import DueRow, take_due, write_states
from routines_app.protocol.claim.new_runs import NewRun, insert_runs
from routines_app.protocol.claim.rare import end_due_pause, park_broken, record_replans
from routines_app.protocol.end.make_room import make_room
from routines_app.protocol.end.overlap import active_runs
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.timeouts import limit_waits
from routines_app.protocol.publish.pools import roomy_pools
from routines_app.protocol.record.events import tell
from routines_app.protocol.record.messages import message_of

logger = logging.getLogger(__name__)

# The database ends a transaction that is idle for IDLE_MS (timeouts.py), and deciding is idle time: after a long outage
# each routine may have thousands of slots to account for. What is not decided by then is claimed again.
DECIDE_SECONDS = 1.0


@dataclass(slots=True)
class ClaimReport:
    """What one claim did."""

    claimed: int = 0
    left: bool = False
    """Some of what was locked is left for the next claim: deciding took too long."""
    fired: int = 0
    skipped: int = 0
    pooled: bool = False
    messages: list[Message] = field(default_factory=list)


def claim_due(now: datetime, limit: int | None = None) -> ClaimReport:
    """Claim one batch of due routines. Publish `report.messages` afterwards."""
    with transaction.atomic(using=ledger_alias()):
        limit_waits(ledger_alias())
        rows = take_due(now, limit or get_settings().claim_batch)
        return _claim(rows, now) if rows else ClaimReport()


def _claim(rows: list[DueRow], now: datetime) -> ClaimReport:
    asked = [row.routine_id for row in rows if needs_active_runs(row, now)]
    active = active_runs(asked) if asked else {}
    report = ClaimReport()
    decisions = Decisions(now)
    claims: list[tuple[DueRow, Claimed]] = []
    decide_until = time.monotonic() + DECIDE_SECONDS
    for row in rows:
        if report.claimed and time.monotonic() > decide_until:  # always one, or nothing would ever move on
            report.left = True
            break
        report.claimed += 1
        try:
            if row.status == RoutineStatus.PAUSED and row.next_source == Source.PAUSED:
                end_due_pause(row, now)
                continue
            claims.append((row, decisions.of(row, active.get(row.routine_id, []))))
        except DatabaseError:
            raise
        except Exception as error:  # one bad row must not stop the others
            logger.exception("routine %s cannot be planned and is parked", row.name)
            park_broken(row, error, now)
    claims = _enter_pools(claims, now)
    _make_room(_write(claims, report), now)
    if replans := [(row, claimed.state) for row, claimed in claims if claimed.replanned]:
        record_replans(replans, now)
    return report


def _enter_pools(claims: list[tuple[DueRow, Claimed]], now: datetime) -> list[tuple[DueRow, Claimed]]:
    """Runs that wait for nothing but room go out at once where there is room for all of them and nobody waits."""
    wanted = Counter(run.pool_id for _, claimed in claims for run in claimed.runs if run.waits_for_room)
    if not wanted:
        return claims
    roomy = roomy_pools({pool_id: count for pool_id, count in wanted.items() if pool_id is not None}, now)
    retry = timedelta(seconds=get_settings().publish_retry_seconds)
    go = standing(Publish(), eligible_at=now, now=now, publish_retry=retry)

    def entered(run: NewRun) -> NewRun:
        return run.standing(go) if run.waits_for_room and run.pool_id in roomy else run

    return [(row, claimed._replace(runs=tuple([entered(run) for run in claimed.runs]))) for row, claimed in claims]


def _make_room(claims: list[Claimed], now: datetime) -> None:
    """Only for runs that are really new: a slot that already had its row must not end that row."""
    stop = [run_id for claimed in claims for run_id in claimed.stop]
    cancel = [run_id for claimed in claims for run_id in claimed.cancel]
    if stop or cancel:
        make_room(now, stop=stop, cancel=cancel)


def _write(claims: list[tuple[DueRow, Claimed]], report: ClaimReport) -> list[Claimed]:
    """Write rows and states; the decisions that made a new PENDING run, for which room must be made."""
    inserted = insert_runs([run for _, claimed in claims for run in claimed.runs])
    ended: list[RoutineRun] = []
    for row, claimed in claims:
        for run in claimed.runs:
            if run.id in inserted:
                _count(row, run, report)
                if not run.is_pending:
                    ended.append(_ended_run(row, run))
        if claimed.extend is not None and claimed.extended_row is not None:
            following = claimed.runs[0].scheduled_for if claimed.runs else claimed.state.next_slot
            _extend(claimed.extended_row, claimed.extend, following)
    write_states([claimed.state for _, claimed in claims])
    if ended:
        tell(ended)
    return [claimed for _, claimed in claims if any(run.is_pending and run.id in inserted for run in claimed.runs)]


def _count(row: DueRow, run: NewRun, report: ClaimReport) -> None:
    if not run.is_pending:
        report.skipped += run.occurrences
        return
    report.fired += 1
    report.pooled = report.pooled or run.waits_for_room
    if run.admitted_at is not None:
        policy, routine_id = row.concurrency_policy, row.routine_id
        report.messages.append(
            message_of(run.id, row.name, row.task, row.queue, row.priority, row.timeout_ms, policy, routine_id)
        )


def _ended_run(row: DueRow, run: NewRun) -> RoutineRun:
    """The row as receivers of the signals see it, without reading it back."""
    return RoutineRun(**run._asdict(), routine=Routine(pk=row.routine_id, name=row.name, task=row.task))


def _extend(run_id: UUID, span: Span, next_slot: datetime | None) -> None:
    """The slots belong to a SKIPPED row that an earlier claim began."""
    RoutineRun.objects.using(ledger_alias()).filter(id=run_id).update(
        scheduled_until=span.last, occurrences=F("occurrences") + span.count, next_planned_for=next_slot
    )
