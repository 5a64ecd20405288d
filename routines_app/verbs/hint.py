"""Hints: temporary, expiring, reasoned changes of a schedule.

A routine has at most one of each kind: an interval, a next time, a factor. Each has its own expiry, reason and author,
and a proposal replaces only the one of its own kind. It moves the plan only earlier at once; what is slower takes
effect from the next slot. When a hint has expired, the schedule is itself again.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, overload

from routines_app.core.errors import InvalidValue, NotAllowed
from routines_app.core.said import said
from routines_app.core.words import HintKind, TriggerKind
from routines_app.models import ChangeKind, Hint, Pool, Routine
from routines_app.protocol.plan.hints import Proposed, clear, is_idle, propose, record_expired, told
from routines_app.protocol.plan.planning import awake_plan_state
from routines_app.protocol.plan.unfired import write_left
from routines_app.verbs.checking.lookup import RoutineRef
from routines_app.verbs.checking.rules import SECOND, YEAR, Duration, Number, moment
from routines_app.verbs.checking.selecting import selected
from routines_app.verbs.checking.triggers import INTERVAL
from routines_app.verbs.editing import Edit, editing, refuse_archived
from routines_app.verbs.hint_many import clear_many, fits_cron, not_for_cron, propose_many

TTL = Duration(least=SECOND, most=YEAR)
PACE_TTL = "60m"
ONESHOT_TTL = timedelta(minutes=30)  # after its time: a beat may be late, but not for ever
FACTOR = Number(least=0.01, most=1_000)
_ARGUMENT = {HintKind.INTERVAL: "interval", HintKind.NEXT: "at", HintKind.FACTOR: "factor"}


def propose_interval(
    routine: RoutineRef, interval: Any, *, ttl: Any = PACE_TTL, reason: str = "", actor: str = ""
) -> Routine:
    """For `ttl`, fire every `interval` instead of what the trigger says."""
    interval_ms, ttl_ms = INTERVAL("interval", interval), TTL("ttl", ttl)
    with editing(routine, actor=actor, reason=reason) as edit:
        _refuse_once(edit, "interval", interval)
        _propose(edit, HintKind.INTERVAL, interval_ms, edit.now + timedelta(milliseconds=ttl_ms))
    return edit.routine


def propose_next_time(
    routine: RoutineRef, at: datetime | str, *, ttl: Any = None, reason: str = "", actor: str = ""
) -> Routine:
    """Fire once more at `at`, unless the schedule does so earlier. A ONCE routine fires at its own moment all the same.

    The hint is gone once used, or after `ttl`, which counts from now; without one, half an hour after its time. Where
    `min_interval_ms` does not allow any fire before it is gone, it is refused.
    """
    time = moment("at", at)
    ttl_ms = None if ttl is None else TTL("ttl", ttl)
    with editing(routine, actor=actor, reason=reason) as edit:
        expires_at = max(time, edit.now) + ONESHOT_TTL
        if ttl_ms is not None:
            expires_at = edit.now + timedelta(milliseconds=ttl_ms)
        if time >= expires_at:
            raise InvalidValue(
                "at",
                at,
                said("give a time before the hint expires ({expires_at}), or a longer ttl", expires_at=expires_at),
            )
        _refuse_after_end(edit, time)
        _propose(edit, HintKind.NEXT, time, expires_at)
    return edit.routine


def propose_factor(
    factor: float,
    *,
    routine: RoutineRef | None = None,
    tag: str | None = None,
    group: str | None = None,
    queue: str | None = None,
    pool: Pool | int | str | None = None,
    ttl: Any = PACE_TTL,
    reason: str = "",
    actor: str = "",
) -> int:
    """For `ttl`, make the intervals of a routine, or of all with a tag, group, queue or pool, `factor` times as long.

    Of a cron every n-th slot fires, so it takes whole factors only. A MANUAL routine has an interval only while one is
    hinted: without, it is left out, and so is a ONCE routine. Returns how many were hinted; archived ones are not.
    """
    times, ttl_ms = FACTOR("factor", factor), TTL("ttl", ttl)
    several = selected(routine=routine, tag=tag, group=group, queue=queue, pool=pool)
    if several is not None:
        return propose_many(several, times, ttl_ms, actor=actor, reason=reason)
    assert routine is not None  # nosec B101 # one of them was given
    with editing(routine, actor=actor, reason=reason) as edit:
        _refuse_factor(edit, times)
        _propose(edit, HintKind.FACTOR, times, edit.now + timedelta(milliseconds=ttl_ms))
    return 1


@overload
def clear_hints(routine: RoutineRef, *, actor: str = "", reason: str = "") -> Routine: ...
@overload
def clear_hints(
    routine: None = None,
    *,
    tag: str | None = None,
    group: str | None = None,
    queue: str | None = None,
    pool: Pool | int | str | None = None,
    actor: str = "",
    reason: str = "",
) -> int: ...
def clear_hints(
    routine: RoutineRef | None = None,
    *,
    tag: str | None = None,
    group: str | None = None,
    queue: str | None = None,
    pool: Pool | int | str | None = None,
    actor: str = "",
    reason: str = "",
) -> Routine | int:
    """Forget the hints of a routine; the plan is the trigger's own again.

    Of all with a tag, group, queue or pool, it returns how many had any.
    """
    several = selected(routine=routine, tag=tag, group=group, queue=queue, pool=pool)
    if several is not None:
        return clear_many(several, actor=actor, reason=reason)
    assert routine is not None  # nosec B101 # one of them was given
    with editing(routine, actor=actor, reason=reason) as edit:
        cleared = clear(edit.routine, edit.state, edit.now)
        _write(edit, cleared)
        edit.record(ChangeKind.HINTS_CLEARED, before=cleared.before, after=dict.fromkeys(cleared.before))
    return edit.routine


def _refuse_member(edit: Edit) -> None:
    if edit.routine.rotation_id is not None:
        raise NotAllowed(
            "routine", edit.routine.name, said("its rotation says when it runs: touch it, and it is owed now")
        )


def _refuse_factor(edit: Edit, factor: float) -> None:
    _refuse_member(edit)
    _refuse_once(edit, "factor", factor)
    routine, hinted = edit.routine, edit.state.hint(HintKind.INTERVAL)
    if routine.trigger_kind == TriggerKind.CRON and not fits_cron(factor):
        raise not_for_cron(factor, routine.name)
    if routine.trigger_kind == TriggerKind.MANUAL and (hinted is None or hinted.expires_at <= edit.now):
        raise InvalidValue(
            "factor", factor, said("{routine} is MANUAL and has no interval: propose one first", routine=routine.name)
        )


def _refuse_once(edit: Edit, argument: str, value: Any) -> None:
    if edit.routine.trigger_kind == TriggerKind.ONCE:
        expected = said(
            "{routine} fires once and has no pace: propose a next time, or change its once_at",
            routine=edit.routine.name,
        )
        raise InvalidValue(argument, value, expected)


def _refuse_after_end(edit: Edit, time: datetime) -> None:
    routine = edit.routine
    if routine.trigger_kind != TriggerKind.MANUAL and routine.end_at is not None and time > routine.end_at:
        raise InvalidValue("at", time, said("give a time before the schedule ends ({end_at})", end_at=routine.end_at))


def _refuse_too_close(edit: Edit, at: datetime, expires_at: datetime) -> None:
    """No slot could serve for it before it expires, and the clamp makes none."""
    earliest = awake_plan_state(edit.routine, edit.state).earliest
    if earliest is not None and earliest > expires_at:
        expected = said(
            "by its min_interval_ms the next time is {earliest}: give a later time, or a longer ttl", earliest=earliest
        )
        raise InvalidValue("at", at, expected)


def _propose(edit: Edit, kind: HintKind, value: Any, expires_at: datetime) -> None:
    refuse_archived(edit.routine, said("an archived routine takes no hints"))
    _refuse_member(edit)
    if kind is HintKind.NEXT:
        _refuse_too_close(edit, value, expires_at)
    hint = Hint(kind, value, expires_at, edit.reason, edit.actor)
    proposed = propose(edit.routine, edit.state, hint, edit.now)
    if is_idle(edit.routine, edit.state, edit.now):
        raise InvalidValue(
            _ARGUMENT[kind], value, said("nothing would fire: the schedule has ended, or the ttl ends before")
        )
    _write(edit, proposed)
    edit.record(ChangeKind.HINTED, before=proposed.before, after=told(hint))


def _write(edit: Edit, proposed: Proposed) -> None:
    edit.save_state()
    write_left([(edit.routine, edit.state, proposed.left)], edit.now)
    record_expired([(edit.routine, edit.state, proposed.expired)], edit.now, edit.actor)
