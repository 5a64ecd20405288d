"""What a claim meets now and then: a pause that ran out, a schedule that cannot be computed, an edit by plain SQL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from routines_app.core.errors import shown
from routines_app.core.words import HintKind
from routines_app.models import HINT_COLUMNS, ChangeKind, Routine, RoutineState, ScheduleChange
from routines_app.protocol.claim.claimed import Claimed
from routines_app.protocol.claim.due import DueRow, NewState
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.plan.end_of_pause import end_pause
from routines_app.protocol.plan.park import park
from routines_app.protocol.plan.planning import schedule_found
from routines_app.protocol.record import changes
from routines_app.protocol.rotate.left_out import bring_back_free


def end_due_pause(row: DueRow, now: datetime) -> int | None:
    """The pause's time is over: account for its slots and go on. The state is locked by the claim.

    Returns the rotation that it is a member of again, and that is to look for it.
    """
    alias = ledger_alias()
    # A schedule that cannot be computed must leave nothing half done behind: the claim goes on with the others.
    with transaction.atomic(using=alias):
        state = RoutineState.objects.using(alias).select_related("routine").get(pk=row.routine_id)
        end_pause(state.routine, state, now, actor=changes.BEAT, reason="the pause ended")
        if state.routine.rotation_id is not None:
            bring_back_free([row.routine_id])
        return state.routine.rotation_id


def park_broken(row: DueRow, error: Exception, now: datetime) -> None:
    """Take a routine out whose next fire cannot be computed."""
    routine = Routine(pk=row.routine_id, name=row.name, task=row.task)
    park(routine, f"its next fire cannot be computed: {shown(error)}", now)


def record_replans(replans: Sequence[tuple[DueRow, NewState]], now: datetime) -> None:
    """The history says that the schedule was found changed, so that the audit can follow."""
    ScheduleChange.objects.using(ledger_alias()).bulk_create(
        _replanned(
            row,
            state,
            now,
            reason="the schedule was changed outside the service",
            after=schedule_found(row),
        )
        for row, state in replans
    )


def record_moves(moves: Sequence[tuple[DueRow, NewState]], now: datetime) -> None:
    """The plan has left a slot that a row announced, before its time: the history says where to."""
    ScheduleChange.objects.using(ledger_alias()).bulk_create(
        _replanned(
            row,
            state,
            now,
            reason="planned anew after catching up",
            before={"next_slot": row.next_slot and row.next_slot.isoformat()},
            after={"next_slot": state.next_slot and state.next_slot.isoformat()},
        )
        for row, state in moves
    )


def record_ends(ends: Sequence[tuple[DueRow, Claimed]], now: datetime) -> None:
    """The history says which hints are over, and what the plan follows since then."""
    ScheduleChange.objects.using(ledger_alias()).bulk_create(
        ScheduleChange(
            routine_id=row.routine_id,
            routine_name=row.name,
            kind=ChangeKind.HINT_EXPIRED,
            at=now,
            actor=changes.BEAT,
            before={column: _as_json(getattr(row, column)) for column in _read_columns(claimed.expired)},
            after={"next_source": claimed.state.next_source},
            next_slot=claimed.state.next_slot,
        )
        for row, claimed in ends
    )


def _read_columns(kinds: Sequence[HintKind]) -> list[str]:
    """Value and expiry; who asked and why, the proposal's own row says."""
    return [column for kind in kinds for column in HINT_COLUMNS[kind][:2]]


def _as_json(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _replanned(row: DueRow, state: NewState, now: datetime, **facts: Any) -> ScheduleChange:
    return ScheduleChange(
        routine_id=row.routine_id,
        routine_name=row.name,
        kind=ChangeKind.REPLANNED,
        at=now,
        actor=changes.BEAT,
        next_slot=state.next_slot,
        **facts,
    )
