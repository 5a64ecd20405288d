"""Firing: everything that a claim decides about one due routine, before overlap is looked at.

The slots that are due are accounted for (fired or skipped, each once), and the governor says when to look again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from routines_app.core.catch_up import Accounting, CatchUp, Fire, account
from routines_app.core.governor import PlanState, effective_interval_ms, plan_next
from routines_app.core.triggers import INSTANT, CronTrigger, IntervalTrigger, Span, Trigger, count_between
from routines_app.core.words import BASELINES, Reason, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A routine whose time has come: how it is planned, and what is planned."""

    plan: PlanState
    rule: CatchUp
    last_slot: datetime
    next_slot: datetime
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """Slots that end as one SKIPPED row."""

    span: Span
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Firing:
    """The decision. `last_slot`, `next_slot`, `next_run_at` and `source` are the routine's new state."""

    fire: tuple[Fire, ...]
    skipped: tuple[Skipped, ...]
    last_slot: datetime
    next_slot: datetime | None
    next_run_at: datetime | None
    source: Source
    uses_up_oneshot: bool = False
    sequential: bool = False


def decide_firing(due: Due, now: datetime) -> Firing:
    """Account for what is due at `now`. Call it only when `due.next_slot <= now`."""
    if due.source is Source.HINT_ONESHOT:
        return _fire_oneshot(due, now)
    if isinstance(due.plan.trigger, CronTrigger) and due.source not in BASELINES:
        return _fire_moved_cron(due, now)
    return _fire_slots(due, _following_trigger(due, now), now)


def _fire_oneshot(due: Due, now: datetime) -> Firing:
    """A one-shot is an extra fire: the schedule goes on from the same anchor as if it had not been."""
    fire = (Fire(slot=due.next_slot, missed=False),)
    baseline = plan_next(replace(due.plan, hint_next_at=None), now, due.last_slot)
    if baseline.next_run_at != due.next_slot:
        return _planned(due, now, fire=fire, skipped=(), last_slot=due.last_slot)
    # The schedule, or an interval that was hinted, has that very moment too: the one fire stands for both.
    return _planned(due, now, fire=fire, skipped=_passed_over(due), last_slot=due.next_slot)


def _passed_over(due: Due) -> tuple[Skipped, ...]:
    """The cron's own slots before the moment that a hint or a clamp has chosen: nobody will fire them."""
    if not isinstance(due.plan.trigger, CronTrigger):
        return ()
    passed = count_between(due.plan.trigger, due.last_slot, due.next_slot - INSTANT)
    return () if passed is None else (Skipped(span=passed, reason=Reason.SUPERSEDED),)


def _following_trigger(due: Due, now: datetime) -> Trigger:
    """Where the slots after `next_slot` come from: the cron, or the interval that holds now, from that slot on."""
    interval_ms = effective_interval_ms(due.plan, now)
    if interval_ms is None or isinstance(due.plan.trigger, CronTrigger):
        return due.plan.trigger
    return IntervalTrigger(interval_ms=interval_ms, anchor=due.next_slot, end_at=due.plan.end_at)


def _fire_slots(due: Due, trigger: Trigger, now: datetime) -> Firing:
    accounting = account(trigger, first=due.next_slot, now=now, rule=due.rule)
    skipped = _misfired(accounting)
    last_slot = _last_accounted(accounting, due)
    if accounting.sequential and accounting.next_slot is not None:
        return Firing(
            fire=accounting.fire,
            skipped=skipped,
            last_slot=last_slot,
            next_slot=accounting.next_slot,
            next_run_at=None,
            source=Source.CATCHING_UP,
            sequential=True,
        )
    return _planned(due, now, fire=accounting.fire, skipped=skipped, last_slot=last_slot)


def _fire_moved_cron(due: Due, now: datetime) -> Firing:
    """A cron that a hint or a clamp has moved: one moment fires, and the cron's own slots around it are accounted for.

    Moments that the hint or the clamp would have chosen since then were never planned: it restarts from now.
    """
    skipped = _passed_over(due)
    boundary = now - timedelta(milliseconds=due.rule.grace_ms)
    missed = due.next_slot < boundary
    fire = () if missed and due.rule.keep == 0 else (Fire(slot=due.next_slot, missed=missed),)
    if not fire:
        one = Span(first=due.next_slot, last=due.next_slot, count=1)
        skipped += (Skipped(span=one, reason=Reason.MISFIRE),)
    last_slot = due.next_slot
    late = count_between(due.plan.trigger, due.next_slot, boundary - INSTANT) if missed else None
    if late is not None:
        skipped += (Skipped(span=late, reason=Reason.MISFIRE),)
        last_slot = late.last
    return _planned(due, now, fire=fire, skipped=skipped, last_slot=last_slot)


def _misfired(accounting: Accounting) -> tuple[Skipped, ...]:
    return () if accounting.skipped is None else (Skipped(span=accounting.skipped, reason=Reason.MISFIRE),)


def _last_accounted(accounting: Accounting, due: Due) -> datetime:
    if accounting.fire:
        return accounting.fire[-1].slot
    return due.last_slot if accounting.skipped is None else accounting.skipped.last


def _planned(
    due: Due, now: datetime, *, fire: tuple[Fire, ...], skipped: tuple[Skipped, ...], last_slot: datetime
) -> Firing:
    """The governor's plan from `last_slot` on. A fire at or after a one-shot's moment has used it up."""
    hinted = due.plan.hint_next_at
    used_up = hinted is not None and bool(fire) and fire[-1].slot >= hinted
    state = replace(due.plan, hint_next_at=None) if used_up else due.plan
    plan = plan_next(state, now, last_slot)
    return Firing(
        fire=fire,
        skipped=skipped,
        last_slot=last_slot,
        next_slot=plan.next_run_at,
        next_run_at=plan.next_run_at,
        source=plan.source,
        uses_up_oneshot=used_up,
    )
