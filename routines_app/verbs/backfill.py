"""Backfill: run a stretch of past slots again, or for the first time."""

from __future__ import annotations

import secrets
from dataclasses import replace
from datetime import datetime, timedelta

from routines_app.core.errors import InvalidValue, NotAllowed
from routines_app.core.keys import backfill_key
from routines_app.core.rotation import TICK_TASK
from routines_app.core.triggers import INSTANT, IntervalTrigger, ManualTrigger, Trigger, slots_between
from routines_app.core.words import ConcurrencyPolicy, RunTrigger
from routines_app.models import RoutineRun
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.default_pool import pool_of
from routines_app.protocol.plan.planning import trigger_of
from routines_app.verbs.checking.lookup import RoutineRef
from routines_app.verbs.checking.rules import moment
from routines_app.verbs.editing import Edit, editing, refuse_archived, refuse_shadowed

MAX_SLOTS = 1_000  # one batch, written in about a second; more is asked for in several


def backfill(routine: RoutineRef, start: datetime, end: datetime, *, actor: str = "") -> list[RoutineRun]:
    """Make a run for each slot from `start` to `end`, both included, whether or not the slot has one already.

    The runs go out like any others: FORBID and QUEUE take them one at a time, a pool holds what it has no room for.
    """
    start, end = moment("start", start), moment("end", end)
    if end < start:
        raise InvalidValue("end", end, f"give a time not before start ({start})")
    with editing(routine, actor=actor) as edit:
        _refuse(edit, end)
        slots = _slots(edit, start, end)
        batch = secrets.token_hex(6)
        pool_id = pool_of(edit.routine)
        runs = [_run(edit, slot, batch, pool_id) for slot in slots]
        return RoutineRun.objects.using(ledger_alias()).bulk_create(runs)


def _refuse(edit: Edit, end: datetime) -> None:
    refuse_archived(edit.routine, "does not run any more")
    refuse_shadowed(edit.routine)
    if edit.routine.task == TICK_TASK:
        raise NotAllowed(
            "routine", edit.routine.name, "a rotation's past ticks cannot be made up for: use tick_rotation"
        )
    if edit.routine.concurrency_policy == ConcurrencyPolicy.REPLACE:
        raise NotAllowed("concurrency_policy", "REPLACE", "the runs of a backfill would replace each other")
    if end > edit.now:
        raise InvalidValue("end", end, f"give a time in the past (now it is {edit.now}); the schedule does the rest")


def _slots(edit: Edit, start: datetime, end: datetime) -> tuple[datetime, ...]:
    trigger = _from(trigger_of(edit.routine, edit.state), start)
    if isinstance(trigger, ManualTrigger):
        raise NotAllowed("trigger_kind", edit.routine.trigger_kind, "a MANUAL routine has no slots to backfill")
    found = slots_between(trigger, start - INSTANT, end, MAX_SLOTS)
    if found.truncated:
        raise InvalidValue("end", end, f"ask for at most {MAX_SLOTS} slots at once")
    return found.slots


def _from(trigger: Trigger, start: datetime) -> Trigger:
    """An interval counts on from its last slot; its grid reaches back just as well."""
    if not isinstance(trigger, IntervalTrigger) or trigger.anchor <= start:
        return trigger
    interval = timedelta(milliseconds=trigger.interval_ms)
    return replace(trigger, anchor=trigger.anchor - (trigger.anchor - start) // interval * interval)


def _run(edit: Edit, slot: datetime, batch: str, pool_id: int | None) -> RoutineRun:
    routine = edit.routine
    return RoutineRun.of(
        routine,
        trigger=RunTrigger.BACKFILL,
        pool_id=pool_id,
        scheduled_for=slot,
        eligible_at=edit.now,
        publish_after=edit.now,
        idempotency_key=backfill_key(batch, routine.pk, slot, 1),
        requested_by=edit.actor,
    )
