"""The end of a run as one transaction: for ends that change the routine, and for databases without the one statement.

Locks: the routine's state, then the run, then what its rotation knows of a member.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F

from routines_app.core.governor import Plan, pace_hint, plan_next
from routines_app.core.words import (
    BASELINES,
    ConcurrencyPolicy,
    HintKind,
    Reason,
    RoutineStatus,
    RunStatus,
    RunTrigger,
    Source,
    TriggerKind,
)
from routines_app.models import ChangeKind, Routine, RoutineRun, RoutineState
from routines_app.models.result_field import value_of
from routines_app.protocol.end.catch_up import continue_catch_up
from routines_app.protocol.end.line import let_next_go
from routines_app.protocol.end.recorded import Recorded
from routines_app.protocol.ledger.default_pool import pool_of
from routines_app.protocol.ledger.locks import lock_run, lock_state, update_in_order
from routines_app.protocol.plan.hints import drop_expired, record_expired
from routines_app.protocol.plan.planning import anchor_of, plan_from_now, plan_state, replan
from routines_app.protocol.record import changes
from routines_app.protocol.record.facts import RunFacts
from routines_app.protocol.record.outcome import Outcome
from routines_app.protocol.rotate.settle import settle_ended

LATEST = datetime.max.replace(tzinfo=UTC)
WAITS_FOR_AN_END = (Reason.REPLACING, Reason.OVERDUE)


@dataclass(frozen=True, kw_only=True, slots=True)
class NextAttempt:
    """The run that goes on with the chain."""

    id: UUID
    at: datetime
    budget_used: int
    own_retries: int = 0
    key: str
    args: Any = None
    kwargs: dict[str, Any] | None = None


def end_in_transaction(
    alias: str,
    run: RunFacts,
    outcome: Outcome,
    attempt: NextAttempt | None,
    now: datetime,
    tell_after: datetime | None = None,
) -> Recorded | None:
    """End the run and everything that follows from it; None when the row is no longer ours."""
    with transaction.atomic(using=alias):
        state = lock_state(run.routine_id)
        row = lock_run(RoutineRun.objects.using(alias), run.id)
        if state is None or row is None or (row.status, row.fence) != (RunStatus.RUNNING, run.fence):
            return None
        routine = Routine.objects.using(alias).get(pk=run.routine_id)
        status, reason = _effective(row, outcome)
        row.start_token, row.tell_after = run.start_token, tell_after
        _write_run(row, status, reason, outcome, now)
        retry_id = None
        goes_on = attempt is not None and not row.stop_requested_at and routine.status != RoutineStatus.ARCHIVED
        if attempt is not None and goes_on:
            retry_id = _insert_retry(alias, row, routine, attempt)
        if run.seeds:  # the schedule is that of the ticks: no failure of a seeding counts there
            recorded = Recorded(
                status=status, reason=reason, retry_id=retry_id, exhausted=_is_exhausted(status, retry_id)
            )
        else:
            recorded = _count(alias, routine, state, status, reason, retry_id, now)
        if retry_id is None:
            settle_ended([(row.routine_id, row.rotation_id)], now)
        return replace(recorded, pooled=row.pool_id is not None)


def _effective(row: RoutineRun, outcome: Outcome) -> tuple[RunStatus, str]:
    """Whoever was asked to stop and did not succeed was cancelled, whatever its last error looked like."""
    if row.stop_requested_at and outcome.status != RunStatus.SUCCESS:
        return RunStatus.CANCELLED, row.stop_reason
    return outcome.status, str(outcome.reason)


def _write_run(row: RoutineRun, status: RunStatus, reason: str, outcome: Outcome, now: datetime) -> None:
    row.status, row.reason = status, reason
    row.completed_at, row.running_key, row.publish_after = now, None, None
    row.result, row.error, row.traceback = value_of(outcome.result), outcome.error or row.error, outcome.traceback
    fields = ["status", "reason", "completed_at", "running_key", "publish_after", "result", "error", "traceback"]
    fields += ["start_token", "tell_after"]
    if outcome.progress is not None:
        row.progress = outcome.progress
        fields.append("progress")
    row.save(update_fields=fields)


def _insert_retry(alias: str, row: RoutineRun, routine: Routine, attempt: NextAttempt) -> UUID:
    """The id of the next attempt: another one, where the key has its row already."""
    retry = RoutineRun(
        id=attempt.id,
        routine_id=row.routine_id,
        reason=Reason.NOT_YET,
        trigger=RunTrigger.RETRY,
        source=row.source,
        task=row.task,
        queue=row.queue,
        timeout_ms=row.timeout_ms,
        args=row.args if attempt.args is None else attempt.args,
        kwargs=row.kwargs if attempt.kwargs is None else attempt.kwargs,
        pool_id=pool_of(routine),
        scheduled_for=row.scheduled_for,
        eligible_at=attempt.at,
        publish_after=attempt.at,
        attempt=row.attempt + 1,
        budget_used=attempt.budget_used,
        own_retries=attempt.own_retries,
        retry_of_id=row.id,
        chain=row.chain_id,
        idempotency_key=attempt.key,
        requested_by=row.requested_by,
        requested_at=row.requested_at,
        rotation_id=row.rotation_id,
        phase=row.phase,
        tick=row.tick,
    )
    runs = RoutineRun.objects.using(alias)
    runs.bulk_create([retry], ignore_conflicts=True)
    return runs.values_list("id", flat=True).get(idempotency_key=attempt.key)


def _count(
    alias: str,
    routine: Routine,
    state: RoutineState,
    status: RunStatus,
    reason: str,
    retry_id: UUID | None,
    now: datetime,
) -> Recorded:
    exhausted = _is_exhausted(status, retry_id)
    recovered = status == RunStatus.SUCCESS and state.failure_count > 0
    catching_up = state.next_source == Source.CATCHING_UP
    state.last_run_at = now
    if status == RunStatus.SUCCESS:
        state.last_success_at, state.failure_count = now, 0
    state.failure_count += exhausted
    parked = _park_if_hopeless(routine, state, now) if exhausted else ""
    if (exhausted and not parked) or recovered:
        _replan_interval(routine, state, now)
    state.save(using=alias)
    if retry_id is None:
        continue_catch_up([routine.pk], now)
    let_replacement_go(alias, routine.pk, now)
    if retry_id is None and routine.concurrency_policy == ConcurrencyPolicy.QUEUE:
        let_next_go([routine.pk], now)
    return Recorded(
        status=status,
        reason=reason,
        retry_id=retry_id,
        exhausted=exhausted,
        parked=parked,
        recovered=recovered,
        catching_up=catching_up,
    )


def _is_exhausted(status: RunStatus, retry_id: UUID | None) -> bool:
    return status == RunStatus.FAILED and retry_id is None


def _park_if_hopeless(routine: Routine, state: RoutineState, now: datetime) -> str:
    """Park the routine when enough chains in a row have failed; returns why, or nothing."""
    hopeless = routine.park_after is not None and state.failure_count >= routine.park_after
    if not hopeless or routine.status not in (RoutineStatus.ACTIVE, RoutineStatus.PAUSED):
        return ""
    why = f"{state.failure_count} failed chains in a row"
    before = {"status": routine.status}
    routine.status, routine.paused_until, routine.pause_reason = RoutineStatus.PARKED, None, why
    routine.pause_batch, routine.version = None, F("version") + 1
    routine.save(update_fields=["status", "paused_until", "pause_reason", "pause_batch", "version", "updated_at"])
    replan(routine, state, now)
    after = {"status": RoutineStatus.PARKED.value}
    changes.record(ChangeKind.PARKED, routine, state, now, actor=changes.WORKER, reason=why, before=before, after=after)
    return why


def _replan_interval(routine: Routine, state: RoutineState, now: datetime) -> None:
    """Back off, or recover: the number of failures has changed, and the next slot has not been claimed yet."""
    if routine.trigger_kind != TriggerKind.INTERVAL or routine.status != RoutineStatus.ACTIVE:
        return
    if state.next_slot is None or state.next_run_at is None or state.next_slot <= now:
        return
    if _is_hinted(state, now):
        return
    before = {"next_slot": state.next_slot}
    gone = drop_expired(routine, state, now)
    anchor, plan = _plan_anew(routine, state, now)
    if plan.next_run_at == state.next_slot:
        record_expired([(routine, state, gone)], now, changes.WORKER)
        return
    state.last_slot = anchor
    state.set_slot(plan.next_run_at, plan.source)
    state.next_run_at, state.next_source = plan.next_run_at, plan.source
    record_expired([(routine, state, gone)], now, changes.WORKER)
    why = f"{state.failure_count} failed chains in a row" if state.failure_count else "recovered"
    after = {"next_slot": state.next_slot}
    changes.record(
        ChangeKind.REPLANNED, routine, state, now, actor=changes.WORKER, reason=why, before=before, after=after
    )


def _is_hinted(state: RoutineState, now: datetime) -> bool:
    """Whether a hinted interval chose the next moment: failures do not matter as long as it is in force."""
    expires_at = state.hint_interval_expires_at
    return expires_at is not None and expires_at > now and state.slot_source not in BASELINES


def _plan_anew(routine: Routine, state: RoutineState, now: datetime) -> tuple[datetime | None, Plan]:
    """What the slot becomes, and what it counts from.

    One of the trigger's own from before a hint was not moved by it, because the hint was slower: that takes effect from
    the slot after it. But where failures make the slot later than the hint would, the hint counts: it is in force.
    """
    pace = pace_hint(plan_state(routine, state))
    if pace is None:
        return _plan_unhinted(routine, state, now)
    hinted = plan_from_now(routine, state, now)
    if state.slot_source not in BASELINES or not _not_after(state.next_slot, pace.expires_at):
        return hinted
    unhinted = copy(state)
    unhinted.drop_hint(HintKind.INTERVAL)
    unhinted.drop_hint(HintKind.FACTOR)
    own = _plan_unhinted(routine, unhinted, now)
    return min(own, hinted, key=lambda found: found[1].next_run_at or LATEST)


def _plan_unhinted(routine: Routine, state: RoutineState, now: datetime) -> tuple[datetime | None, Plan]:
    plan = plan_next(plan_state(routine, state), now, anchor_of(routine, state))
    if plan.next_run_at is not None and plan.next_run_at <= now:
        # The slots that backing off left out were never expected: the recovered rhythm goes on from now.
        return plan_from_now(routine, state, now)
    return state.last_slot, plan


def _not_after(slot: datetime | None, moment: datetime) -> bool:
    return slot is not None and slot <= moment


def settle(alias: str, routine_id: int, now: datetime, *, recovered: bool) -> None:
    """What an end means for the schedule, when it could not be part of the end's own statement."""
    with transaction.atomic(using=alias):
        state = lock_state(routine_id)
        if recovered and state is not None:
            _replan_interval(Routine.objects.using(alias).get(pk=routine_id), state, now)
            state.save(using=alias)
        continue_catch_up([routine_id], now)


def let_replacement_go(alias: str, routine_id: int, now: datetime) -> int:
    """The run that was to be replaced is gone: what waited for that may be published now."""
    waiting = RoutineRun.objects.using(alias).filter(
        routine_id=routine_id, status=RunStatus.PENDING, dispatched_at=None, reason__in=WAITS_FOR_AN_END
    )
    with transaction.atomic(using=alias):
        return update_in_order(waiting, publish_after=now)
