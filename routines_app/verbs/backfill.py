"""Backfill: run a stretch of past slots again, or for the first time."""

from __future__ import annotations

import secrets
from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from routines_app.core.errors import InvalidValue, NotAllowed
from routines_app.core.keys import backfill_key, new_batch, slot_key
from routines_app.core.rotation import TICK_TASK
from routines_app.core.said import said
from routines_app.core.triggers import INSTANT, IntervalTrigger, ManualTrigger, Trigger, slots_between
from routines_app.core.words import ConcurrencyPolicy, RunTrigger
from routines_app.models import Routine, RoutineRun, RoutineState
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.default_pool import pool_of
from routines_app.protocol.plan.planning import trigger_of
from routines_app.verbs.checking.lookup import RoutineRef, find_routine
from routines_app.verbs.checking.rules import moment
from routines_app.verbs.editing import Edit, editing, refuse_archived, refuse_shadowed

MAX_SLOTS = 1_000  # one batch, written in about a second; more is asked for in several


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillPlan:
    """What a backfill would do."""

    slots: tuple[datetime, ...]
    """A run is made for each of them."""
    ran: dict[str, int]
    """How many of these slots have a run of the schedule already, by its status."""


def backfill(routine: RoutineRef, start: datetime, end: datetime, *, actor: str = "") -> list[RoutineRun]:
    """Make a run for each slot from `start` to `end`, both included, whether or not the slot has one already.

    The runs go out like any others: FORBID and QUEUE take them one at a time, a pool holds what it has no room for.
    `backfill_status` follows them, by `batch_of` any of them.
    """
    start, end = _stretch(start, end)
    with editing(routine, actor=actor) as edit:
        slots = _slots_to_run(edit.routine, edit.state, edit.now, start, end)
        batch = new_batch(edit.now, secrets.token_hex(3))
        pool_id = pool_of(edit.routine)
        runs = [_run(edit, slot, batch, pool_id) for slot in slots]
        return RoutineRun.objects.using(ledger_alias()).bulk_create(runs)


def plan_backfill(routine: RoutineRef, start: datetime, end: datetime) -> BackfillPlan:
    """What `backfill` would do now, or its refusal. Nothing is written."""
    start, end = _stretch(start, end)
    found = find_routine(routine)
    state = RoutineState.objects.using(ledger_alias()).filter(pk=found.pk).first() or RoutineState(routine=found)
    slots = _slots_to_run(found, state, clock.now(), start, end)
    keys = [slot_key(found.pk, slot, 1) for slot in slots]
    runs = RoutineRun.objects.using(ledger_alias()).filter(idempotency_key__in=keys)
    return BackfillPlan(slots=slots, ran=dict(Counter(runs.values_list("status", flat=True))))


def _stretch(start: datetime, end: datetime) -> tuple[datetime, datetime]:
    start, end = moment("start", start), moment("end", end)
    if end < start:
        raise InvalidValue("end", end, said("give a time not before start ({start})", start=start))
    return start, end


def _slots_to_run(
    routine: Routine, state: RoutineState, now: datetime, start: datetime, end: datetime
) -> tuple[datetime, ...]:
    _refuse(routine, now, end)
    return _slots(routine, state, start, end)


def _refuse(routine: Routine, now: datetime, end: datetime) -> None:
    refuse_archived(routine, said("an archived routine does not run any more"))
    refuse_shadowed(routine)
    if routine.task == TICK_TASK:
        raise NotAllowed(
            "routine", routine.name, said("a rotation's past ticks cannot be made up for: use tick_rotation")
        )
    if routine.concurrency_policy == ConcurrencyPolicy.REPLACE:
        raise NotAllowed("concurrency_policy", "REPLACE", said("the runs of a backfill would replace each other"))
    if end > now:
        raise InvalidValue(
            "end", end, said("give a time in the past (now it is {now}); the schedule does the rest", now=now)
        )


def _slots(routine: Routine, state: RoutineState, start: datetime, end: datetime) -> tuple[datetime, ...]:
    trigger = _from(trigger_of(routine, state), start)
    if isinstance(trigger, ManualTrigger):
        raise NotAllowed("trigger_kind", routine.trigger_kind, said("a MANUAL routine has no slots to backfill"))
    found = slots_between(trigger, start - INSTANT, end, MAX_SLOTS)
    if found.truncated:
        raise InvalidValue("end", end, said("ask for at most {most} slots at once", most=MAX_SLOTS))
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
