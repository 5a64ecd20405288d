"""What a claim meets now and then: a pause that ran out, a schedule that cannot be computed, an edit by plain SQL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from routines_app import signals
from routines_app.core.errors import shown
from routines_app.core.words import RoutineStatus, Source
from routines_app.models import ChangeKind, Routine, RoutineState, ScheduleChange
from routines_app.protocol.claim.due import DueRow, NewState
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.plan.pause import end_pause
from routines_app.protocol.record import changes
from routines_app.protocol.record.events import emit


def end_due_pause(row: DueRow, now: datetime) -> None:
    """The pause's time is over: account for its slots and go on. The state is locked by the claim."""
    alias = ledger_alias()
    # A schedule that cannot be computed must leave nothing half done behind: the claim goes on with the others.
    with transaction.atomic(using=alias):
        state = RoutineState.objects.using(alias).select_related("routine").get(pk=row.routine_id)
        end_pause(state.routine, state, now, actor=changes.BEAT, reason="the pause ended")


def park_broken(row: DueRow, error: Exception, now: datetime) -> None:
    """Take a routine out whose next fire cannot be computed, with the reason where people look for it."""
    alias = ledger_alias()
    reason = f"its next fire cannot be computed: {shown(error)}"
    Routine.objects.using(alias).filter(pk=row.routine_id).update(
        status=RoutineStatus.PARKED, pause_reason=reason, paused_until=None
    )
    RoutineState.objects.using(alias).filter(pk=row.routine_id).update(next_run_at=None, next_source=Source.PARKED)
    routine = Routine(pk=row.routine_id, name=row.name, task=row.task)
    changes.record(ChangeKind.PARKED, routine, None, now, actor=changes.BEAT, reason=reason)
    emit(signals.routine_parked, Routine, routine=routine, run=None, reason=reason)


def record_replans(replans: Sequence[tuple[DueRow, NewState]], now: datetime) -> None:
    """The history says that the schedule was found changed, so that the audit can follow."""
    ScheduleChange.objects.using(ledger_alias()).bulk_create(
        ScheduleChange(
            routine_id=row.routine_id,
            routine_name=row.name,
            kind=ChangeKind.REPLANNED,
            at=now,
            actor=changes.BEAT,
            reason="the schedule was changed outside the service",
            after={
                "trigger_kind": row.trigger_kind,
                "cron": row.cron,
                "interval_ms": row.interval_ms,
                "timezone": row.timezone,
            },
            next_slot=state.next_slot,
        )
        for row, state in replans
    )
