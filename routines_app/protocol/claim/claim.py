"""Claim: due routines are taken, their slots become rows, and the schedule moves on, in one transaction.

The protocol, for one batch:

1. `take_due` locks the states of due routines with SKIP LOCKED, so that beats share the work and never meet.
2. For each, the core decides what fires and what is skipped; overlap is decided against the routine's active runs.
3. The rows are inserted and the states are written: one statement each. A crash before the commit undoes all of it
   and another beat claims the same slots; after the commit the rows are the outbox.
4. The slots of a rotation's own routine are ticks: done here, in the same transaction (`tick.py`), and never sent.
5. What may go out at once is returned as messages, for the caller to publish after the commit. The rows already say
   in `publish_after` when (PUBLISH_RETRY_SECONDS later): if nobody stamps them by then, any beat publishes them.

One routine never stops the others. One whose next fire cannot be computed, or whose row cannot be read, is parked with
the reason. One whose row a stranger holds is left out of the batch (`take_due`). Whatever else a batch fails by, it is
done again in halves until it is known which routine it is (`each_apart`); that one is set aside (`set_aside.py`).
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from django.db import Error

from routines_app.conf import get_settings
from routines_app.coordination.envelope import Message
from routines_app.core.admission import Publish, standing
from routines_app.core.rotation import TICK_TASK
from routines_app.core.words import HintKind, RoutineStatus, RunStatus, Source
from routines_app.models import Rotation, RoutineRun
from routines_app.protocol.claim.alike import Decisions
from routines_app.protocol.claim.claimed import Claimed
from routines_app.protocol.claim.decide import needs_active_runs
from routines_app.protocol.claim.due import (
    DueRow,
    Taken,
    drop_hints,
    due_ids,
    still_due,
    take_due,
    take_these,
    write_states,
)
from routines_app.protocol.claim.new_runs import NewRun, insert_runs, message
from routines_app.protocol.claim.passed_by import PassedBy
from routines_app.protocol.claim.rare import end_due_pause, park_broken, record_ends, record_moves, record_replans
from routines_app.protocol.claim.set_aside import HELD, SetAside
from routines_app.protocol.claim.ticks import DueTicks, ended_run, with_rotations
from routines_app.protocol.end.make_room import make_room
from routines_app.protocol.end.overlap import active_runs
from routines_app.protocol.end.unstarted import supersede_pending
from routines_app.protocol.ledger.apart import each_apart
from routines_app.protocol.ledger.database_errors import Trouble, is_outage, retrying_conflicts, trouble_of
from routines_app.protocol.ledger.timeouts import QUICK_LOCK_MS, bounded
from routines_app.protocol.plan.park import park_unreadable
from routines_app.protocol.publish.pools import roomy_pools
from routines_app.protocol.record.events import tell

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
    given_up: int = 0
    """Those that made it fail and were parked, or are due no longer."""
    fired: int = 0
    skipped: int = 0
    pooled: bool = False
    messages: list[Message] = field(default_factory=list)

    def add(self, more: ClaimReport) -> None:
        self.claimed += more.claimed
        self.left = self.left or more.left
        self.fired += more.fired
        self.skipped += more.skipped
        self.pooled = self.pooled or more.pooled
        self.messages += more.messages


set_aside = SetAside()
passed_by = PassedBy(set_aside)
SUSPECTED = "one of several, of which one cannot, and there was no time to find out which"


def claim_due(now: datetime, limit: int | None = None) -> ClaimReport:
    """Claim one batch of due routines. Publish `report.messages` afterwards."""
    limit = limit or get_settings().claim_batch
    again = set_aside.rested()[:limit]
    report = _claim_others(now, limit)
    if again:
        report.left = report.left or report.claimed == limit
        report.add(_claim_apart(again, now))
    return report


def _claim_others(now: datetime, limit: int) -> ClaimReport:
    """One batch of what is not set aside."""
    try:
        return retrying_conflicts(lambda: _claim_batch(now, limit))
    except Exception as error:
        if isinstance(error, Error) and is_outage(error):
            raise
        logger.info("a batch could not be claimed as a whole: %s", error)
        suspects = due_ids(now, limit, without=set_aside.ids)
        report = _claim_apart(suspects, now)
        if suspects and not (report.claimed or report.given_up or set_aside):
            raise  # it was no routine's own trouble
        return report


def _claim_batch(now: datetime, limit: int) -> ClaimReport:
    with bounded():
        taken, rotations = with_rotations(take_due(now, limit, without=set_aside.ids))
        report = _claim(taken, rotations, now) if taken.rows else ClaimReport()
    if taken.held:
        set_aside.add(taken.held, HELD)
        report.left = report.left or len(taken.rows) + len(taken.held) == limit
    return report


def _claim_apart(routine_ids: Sequence[int], now: datetime) -> ClaimReport:
    """Claim these, each of which may be one that fails; what does is parked or set aside."""
    report, held, missed = ClaimReport(), list[int](), list[int]()

    def claim(some: Sequence[int]) -> None:
        with bounded(lock_ms=QUICK_LOCK_MS):
            taken, rotations = with_rotations(take_these(now, some))
            claimed = _claim(taken, rotations, now) if taken.rows else ClaimReport()
        report.add(claimed)
        held.extend(taken.held)
        known = {*taken.held, *(row.routine_id for row in taken.rows)}
        missed.extend(routine_id for routine_id in some if routine_id not in known and routine_id in set_aside)

    apart = each_apart(claim, routine_ids)
    held += still_due(now, missed)  # somebody has its state, perhaps a beat that tries the same: it is not over
    refused: dict[str, list[int]] = {HELD: held}
    for routine_id, error in apart.failed:
        if why := _give_up(routine_id, error, now):
            refused.setdefault(why, []).append(routine_id)
        else:
            report.given_up += 1
    # Back among the others they would fail the next batch as a whole: one of them may be the one that is looked for.
    refused[SUSPECTED] = apart.left
    for why, ids in refused.items():
        set_aside.add(ids, why)
    unfinished = {*held, *apart.left, *(routine_id for routine_id, _ in apart.failed)}
    set_aside.over([routine_id for routine_id in routine_ids if routine_id not in unfinished])
    report.left = report.left or bool(apart.left)
    return report


def _give_up(routine_id: int, error: Exception, now: datetime) -> str:
    """The one that a batch failed by: parked when its values are at fault; else why it must be set aside.

    Nothing of the two, when it is gone, or somebody else has parked or mended it meanwhile.
    """
    try:
        refused_value = isinstance(error, Error) and trouble_of(error) is Trouble.VALUE
        if refused_value or not isinstance(error, Error):
            with bounded(lock_ms=QUICK_LOCK_MS):
                park_unreadable(routine_id, error, now, due=refused_value)
    except Exception as another:
        if isinstance(another, Error) and is_outage(another):
            raise
        error = another
    return f"{type(error).__name__}: {error}".strip() if still_due(now, [routine_id]) else ""


def _claim(taken: Taken, rotations: dict[int, Rotation], now: datetime) -> ClaimReport:
    asked = [row.routine_id for row in taken.rows if needs_active_runs(row, now)]
    active = active_runs(asked) if asked else {}
    report = ClaimReport(pooled=bool(taken.outside))
    decisions, ticks = Decisions(now), DueTicks(rotations, now)
    claims: list[tuple[DueRow, Claimed]] = []
    decide_until = time.monotonic() + DECIDE_SECONDS
    for row in taken.rows:
        if report.claimed and time.monotonic() > decide_until:  # always one, or nothing would ever move on
            report.left = True
            break
        if row.task == TICK_TASK and not ticks.has_room_for(row.routine_id):
            report.left = True
            continue
        report.claimed += 1
        try:
            if row.status == RoutineStatus.PAUSED and row.next_source == Source.PAUSED:
                ticks.wake(end_due_pause(row, now))
                continue
            claimed = decisions.of(row, active.get(row.routine_id, []))
            if row.task == TICK_TASK:
                claimed = ticks.note(row, claimed)
            claims.append((row, claimed.outside(now) if row.routine_id in taken.outside else claimed))
        except Error:
            raise
        except Exception as error:  # one bad row must not stop the others
            logger.exception("routine %s cannot be planned and is parked", row.name)
            park_broken(row, error, now)
    claims = passed_by.noted(_enter_pools(claims, now), now)
    _make_room(_write(claims, ticks, report), now)
    if replans := [(row, claimed.state) for row, claimed in claims if claimed.replanned]:
        record_replans(replans, now)
    _drop_hints(claims, now)
    if moves := [(row, claimed.state) for row, claimed in claims if claimed.moved]:
        record_moves(moves, now)
    return report


def _drop_hints(claims: list[tuple[DueRow, Claimed]], now: datetime) -> None:
    """Hints that are used up or over: one statement for each kind, and one for the history."""
    dropped: dict[HintKind, list[int]] = {}
    for row, claimed in claims:
        for kind in claimed.drops:
            dropped.setdefault(kind, []).append(row.routine_id)
    for kind, routine_ids in dropped.items():
        drop_hints(kind, routine_ids)
    if ends := [(row, claimed) for row, claimed in claims if claimed.expired]:
        record_ends(ends, now)


def _enter_pools(claims: list[tuple[DueRow, Claimed]], now: datetime) -> list[tuple[DueRow, Claimed]]:
    """Runs that wait for nothing but room go out at once where there is room for all of them and nobody waits."""
    wanted = Counter(run.pool_id for _, claimed in claims for run in claimed.runs if run.waits_for_room)
    if not wanted:
        return claims
    roomy = roomy_pools({pool_id: count for pool_id, count in wanted.items() if pool_id is not None}, now)
    retry = timedelta(seconds=get_settings().publish_retry_seconds)
    go = standing(Publish(), eligible_at=now, now=now, publish_retry=retry)

    def entered(run: NewRun) -> NewRun:
        return run.standing(go, now) if run.waits_for_room and run.pool_id in roomy else run

    return [(row, claimed._replace(runs=tuple([entered(run) for run in claimed.runs]))) for row, claimed in claims]


def _make_room(claims: list[Claimed], now: datetime) -> None:
    """Only for runs that are really new: a slot that already had its row must not end that row."""
    stop = [run_id for claimed in claims for run_id in claimed.stop]
    cancel = [run_id for claimed in claims for run_id in claimed.cancel]
    supersede = [run_id for claimed in claims for run_id in claimed.supersede]
    by = {run_id: claimed.newest for claimed in claims for run_id in claimed.makes_way}
    if stop or cancel:
        make_room(now, stop=stop, cancel=cancel, by=by)
    if supersede:
        supersede_pending(supersede, now, by)


def _write(claims: list[tuple[DueRow, Claimed]], ticks: DueTicks, report: ClaimReport) -> list[Claimed]:
    """Write rows and states; the decisions that made a new PENDING run, for which room must be made."""
    inserted = insert_runs([run for _, claimed in claims for run in claimed.runs])
    ended: list[RoutineRun] = []
    for row, claimed in claims:
        for run in claimed.runs:
            if run.id in inserted and run.id not in ticks:
                _count(row, run, report)
                if not run.is_pending:
                    ended.append(ended_run(row, run))
    write_states([claimed.state for _, claimed in claims])
    ended += _do_ticks(ticks, inserted, report)
    if ended:
        tell(ended)
    return [claimed for _, claimed in claims if any(run.is_pending and run.id in inserted for run in claimed.runs)]


def _do_ticks(ticks: DueTicks, inserted: Collection[UUID], report: ClaimReport) -> list[RoutineRun]:
    """After the states: a tick that picks writes its routine's once more. Their rows, as they are then."""
    done = ticks.do(inserted)
    report.fired += len(done.runs)
    report.skipped += sum(1 for run in done.ticks if run.status == RunStatus.SKIPPED)
    report.pooled = report.pooled or any(run.pool_id is not None for run in done.runs)
    report.messages += done.messages
    return done.ticks


def _count(row: DueRow, run: NewRun, report: ClaimReport) -> None:
    if not run.is_pending:
        report.skipped += run.occurrences
        return
    report.fired += 1
    report.pooled = report.pooled or run.waits_for_room
    if run.admitted_at is not None:
        report.messages.append(message(row, run))
