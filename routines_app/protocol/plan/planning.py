"""Plans: from the rows to the core's values and back. Nothing here touches the database."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar, assert_never

from routines_app.core.errors import InvalidValue
from routines_app.core.fingerprint import schedule_fingerprint
from routines_app.core.governor import (
    Plan,
    PlanState,
    expired_hints,
    pace_hint,
    plan_next,
    restarts,
    without_hints,
)
from routines_app.core.said import Said, said
from routines_app.core.triggers import CronTrigger, IntervalTrigger, ManualTrigger, OnceTrigger, Trigger, next_slot
from routines_app.core.words import BASELINE, HintKind, RoutineStatus, Source, TriggerKind
from routines_app.models import Routine, RoutineState

Given = TypeVar("Given")


class Schedule(Protocol):
    """The fields of a routine that a plan depends on; a `Routine`, or a row that was read for a claim."""

    @property
    def trigger_kind(self) -> str: ...
    @property
    def cron(self) -> str: ...
    @property
    def interval_ms(self) -> int | None: ...
    @property
    def once_at(self) -> datetime | None: ...
    @property
    def timezone(self) -> str: ...
    @property
    def start_at(self) -> datetime | None: ...
    @property
    def end_at(self) -> datetime | None: ...
    @property
    def status(self) -> str: ...
    @property
    def paused_until(self) -> datetime | None: ...
    @property
    def min_interval_ms(self) -> int | None: ...
    @property
    def max_interval_ms(self) -> int | None: ...
    @property
    def created_at(self) -> datetime: ...


class ScheduleState(Protocol):
    """The fields of a routine's state that a plan depends on."""

    @property
    def last_slot(self) -> datetime | None: ...
    @property
    def slot_source(self) -> str: ...
    @property
    def failure_count(self) -> int: ...
    @property
    def grid_from(self) -> datetime | None: ...
    @property
    def clamps_from(self) -> datetime | None: ...
    @property
    def hint_interval_ms(self) -> int | None: ...
    @property
    def hint_interval_expires_at(self) -> datetime | None: ...
    @property
    def hint_next_at(self) -> datetime | None: ...
    @property
    def hint_next_expires_at(self) -> datetime | None: ...
    @property
    def hint_factor(self) -> float | None: ...
    @property
    def hint_factor_expires_at(self) -> datetime | None: ...


def trigger_of(routine: Schedule, state: ScheduleState) -> Trigger:
    """The routine's trigger; an interval has its grid."""
    match kind_of(routine):
        case TriggerKind.CRON:
            return CronTrigger(
                expression=routine.cron,
                timezone=routine.timezone,
                start_at=routine.start_at,
                end_at=routine.end_at,
            )
        case TriggerKind.INTERVAL:
            return IntervalTrigger(
                interval_ms=_given("interval_ms", routine.interval_ms, said("an INTERVAL routine needs one")),
                anchor=grid_of(routine, state),
                start_at=routine.start_at,
                end_at=routine.end_at,
            )
        case TriggerKind.ONCE:
            moment = _given("once_at", routine.once_at, said("a ONCE routine needs one"))
            return OnceTrigger(at=moment, start_at=routine.start_at, end_at=routine.end_at)
        case TriggerKind.MANUAL:
            return ManualTrigger()
        case untaught:
            assert_never(untaught)


def kind_of(routine: Schedule) -> TriggerKind:
    """What kind of trigger the routine has; plain SQL can store words that are none."""
    try:
        return TriggerKind(routine.trigger_kind)
    except ValueError:
        expected = said("it is none of {these}", these=", ".join(TriggerKind))
        raise InvalidValue("trigger_kind", routine.trigger_kind, expected) from None


def _given(field: str, value: Given | None, why: Said) -> Given:
    if value is None:
        raise InvalidValue(field, None, why)
    return value


def baseline_source(routine: Schedule) -> Source:
    """The source of a plan that follows the routine's own trigger; a MANUAL one has slots only by hints."""
    return BASELINE[kind_of(routine)] or Source.HINT_INTERVAL


def slot_source_of(routine: Schedule, state: ScheduleState) -> Source:
    """Why `next_slot` was chosen; one that plain SQL has set is taken for the trigger's own."""
    return Source(state.slot_source) if state.slot_source else baseline_source(routine)


def anchor_of(routine: Schedule, state: ScheduleState) -> datetime:
    """What slots are counted from: the last one, else the start, else the creation."""
    return state.last_slot or routine.start_at or routine.created_at


def grid_of(routine: Schedule, state: ScheduleState) -> datetime:
    """What an interval's grid is counted from. Hints and clamps never move it; an edit of the interval does."""
    return state.grid_from or routine.start_at or routine.created_at


def plan_state(routine: Schedule, state: ScheduleState) -> PlanState:
    """What the governor needs to know."""
    return PlanState(
        trigger=trigger_of(routine, state),
        status=RoutineStatus(routine.status),
        paused_until=routine.paused_until,
        failure_count=state.failure_count,
        min_interval_ms=routine.min_interval_ms,
        max_interval_ms=routine.max_interval_ms,
        clamps_from=state.clamps_from,
        hint_interval_ms=state.hint_interval_ms,
        hint_interval_expires_at=state.hint_interval_expires_at,
        hint_next_at=state.hint_next_at,
        hint_next_expires_at=state.hint_next_expires_at,
        hint_factor=state.hint_factor,
        hint_factor_expires_at=state.hint_factor_expires_at,
    )


def awake_plan_state(routine: Schedule, state: ScheduleState) -> PlanState:
    """The same as if the routine were ACTIVE: what its schedule says while it is paused or parked."""
    return replace(plan_state(routine, state), status=RoutineStatus.ACTIVE, paused_until=None)


def fingerprint_of(routine: Schedule) -> str:
    """Changes with every edit that changes when the routine fires."""
    return schedule_fingerprint(
        trigger_kind=routine.trigger_kind,
        cron=routine.cron,
        interval_ms=routine.interval_ms,
        once_at=routine.once_at,
        timezone=routine.timezone,
        start_at=routine.start_at,
        end_at=routine.end_at,
        min_interval_ms=routine.min_interval_ms,
        max_interval_ms=routine.max_interval_ms,
    )


def is_edited_outside(routine: Schedule, state: RoutineState) -> bool:
    """Whether the plan was made by another schedule: plain SQL or `.update()` has changed it since."""
    return bool(state.fingerprint) and state.fingerprint != fingerprint_of(routine)


def schedule_found(routine: Schedule) -> dict[str, Any]:
    """What the history holds of a schedule that was changed outside: the audit knows by it that nobody wrote down what
    held before."""
    return {
        "trigger_kind": routine.trigger_kind,
        "cron": routine.cron,
        "interval_ms": routine.interval_ms,
        "once_at": None if routine.once_at is None else routine.once_at.isoformat(),
        "timezone": routine.timezone,
    }


def leave_to_beats(state: RoutineState, now: datetime) -> None:
    """A beat is to look at it now, unless nobody would: the claim plans anew by the schedule as it finds it, and says
    so in the history."""
    if state.next_run_at is not None and state.next_source != Source.PAUSED:
        state.next_run_at = min(now, state.next_run_at)


def fault_of(routine: Schedule, state: ScheduleState, now: datetime) -> Exception | None:
    """Why the schedule cannot be computed: plain SQL can store anything, and a zone may leave the tz database."""
    try:
        plan = awake_plan_state(routine, state)
        next_slot(plan.trigger, now)
        plan_next(plan, now, anchor_of(routine, state))
    except (ArithmeticError, ValueError) as error:
        return error
    return None


def plan_slots(routine: Routine, state: RoutineState, now: datetime, *, changed: bool = False) -> None:
    """Plan the slots from now on, also those of a routine that is not ACTIVE and will not be looked at for them.

    `changed`: the schedule is another one than the last slot's.
    """
    is_held = routine.status != RoutineStatus.ACTIVE
    replan(awake(routine), state, now, changed=changed, is_held=is_held)
    state.release_policy, state.release_until = "", None
    if is_held:
        replan(routine, state, now)


def awake(routine: Routine) -> Routine:
    """A copy of the routine that nothing holds back."""
    found = copy(routine)
    found.status, found.paused_until = RoutineStatus.ACTIVE, None
    return found


def replan(
    routine: Routine, state: RoutineState, now: datetime, *, changed: bool = False, is_held: bool = False
) -> None:
    """Plan from now on: slots up to now are left behind. Sets the state's plan fields; the caller saves.

    For a routine that is not ACTIVE only the moment of the next look changes: its slots stay where they are, so
    that the end of a pause can account for them, and so does the fingerprint of the schedule that they are of.
    """
    anchor, plan = plan_from_now(routine, state, now, changed=changed, is_held=is_held)
    if routine.status == RoutineStatus.ACTIVE:
        state.fingerprint = fingerprint_of(routine)
        state.last_slot = anchor
        state.set_slot(plan.next_run_at, plan.source)
    state.next_run_at = plan.next_run_at
    state.next_source = plan.source


def plan_from_now(
    routine: Schedule, state: ScheduleState, now: datetime, *, changed: bool = False, is_held: bool = False
) -> tuple[datetime | None, Plan]:
    """The plan when slots up to now are left behind, and the anchor that it counts from.

    A hinted pace that is in force goes on from the last slot: planning anew must not put its next moment off. Of a
    schedule that has `changed`, no slot before now is known to anybody. `is_held`: a pause or parking goes on.
    """
    if routine.status != RoutineStatus.ACTIVE:
        return state.last_slot, _plan_asleep(routine, now)
    plan = plan_state(routine, state)
    plan = without_hints(plan, expired_hints(plan, now))
    plan = without_past_oneshot(plan, now) if is_held else plan
    anchor = _anchor_from_now(plan.trigger, state, now)
    if not changed and state.last_slot is not None and pace_hint(plan) is not None:
        anchor = max(now, state.last_slot) if restarts(plan, now, state.last_slot) else state.last_slot
    # Without an anchor the schedule has not begun: its first slot is the start itself.
    counted_from = now if anchor is None else anchor
    return anchor, plan_next(plan, now, counted_from)


def without_past_oneshot(plan: PlanState, now: datetime) -> PlanState:
    """The plan of a routine that is held back: a one-shot that is to fire at once waits until it goes on.

    Planned now, it would be a slot that the pause has kept from firing.
    """
    at = plan.hint_next_at
    return plan if at is None or at > now else without_hints(plan, (HintKind.NEXT,))


def _plan_asleep(routine: Schedule, now: datetime) -> Plan:
    """The status decides alone: a schedule that cannot be computed can still be paused, parked and archived."""
    status = RoutineStatus(routine.status)
    return plan_next(PlanState(trigger=ManualTrigger(), status=status, paused_until=routine.paused_until), now, now)


def _anchor_from_now(trigger: Trigger, state: ScheduleState, now: datetime) -> datetime | None:
    """The last slot that is not in the future: intervals keep their grid, others look after now."""
    reached = now
    if isinstance(trigger, IntervalTrigger):
        if trigger.anchor > now:
            return state.last_slot
        interval = timedelta(milliseconds=trigger.interval_ms)
        reached = trigger.anchor + (now - trigger.anchor) // interval * interval
    return reached if state.last_slot is None else max(reached, state.last_slot)
