"""What is owed: which of the slots that are due fire, and which are skipped and why.

From the planned moment on it follows from what chose it:

* the trigger (a baseline): that slot and those of the trigger after it;
* a hint about the pace: that moment, and the trigger's slots after the hint's expiry. Other moments that the hint would
  have had were never planned, and the trigger's slots of its life are passed over;
* a clamp, without such a hint: that moment, and the trigger's slots after it. Catching up is exempt from clamps: they
  say which moment is planned, and which fresh slots that are due together fire;
* a one-shot, also one that the lower clamp has put off: nothing, it is an extra fire. One whose expiry is over is not
  fired any more. On a slot of the cron it stands for that slot: the schedule, and a hinted pace, count on from there.

A cron's slots that are passed over are in the ledger as superseded; an interval's were never expected.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from routines_app.core.catch_up import Accounting, CatchUp, Fire
from routines_app.core.governor import PlanState, pace_hint
from routines_app.core.pace import backed_off
from routines_app.core.triggers import (
    INSTANT,
    CronTrigger,
    IntervalTrigger,
    ManualTrigger,
    Span,
    Trigger,
    count_between,
    next_slot,
)
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
class Accounted:
    """The slots that are settled, and the last of them: what the schedule counts on from."""

    fire: tuple[Fire, ...]
    skipped: tuple[Skipped, ...]
    last_slot: datetime


def owed(due: Due) -> Trigger:
    """Where the slots that are owed after `next_slot` come from."""
    trigger = due.plan.trigger
    if isinstance(trigger, ManualTrigger):
        return trigger
    if isinstance(trigger, IntervalTrigger):
        trigger = backed_off(trigger, due.plan.failure_count, due.next_slot)
    if due.source in BASELINES:
        return trigger
    ended = pace_ended_at(due.plan)
    if ended is not None:
        return replace(trigger, start_at=max(ended + INSTANT, trigger.start_at or ended))
    return trigger


def accounted(due: Due, accounting: Accounting, now: datetime) -> Accounted:
    trigger, moved = due.plan.trigger, due.source not in BASELINES
    skipped = passed_over(trigger, due.last_slot, due.next_slot - INSTANT) if due.next_slot <= now else ()
    fire, too_close = _far_enough_apart(due.plan, accounting.fire)
    if accounting.skipped is not None:
        skipped += _misfired(due, accounting.skipped, apart=moved)
    if not isinstance(trigger, CronTrigger):  # of an interval's slots only the one that was announced is expected
        too_close = [one(due.next_slot) for span in too_close if span.first == due.next_slot]
    skipped += tuple(Skipped(span=span, reason=Reason.SUPERSEDED) for span in too_close)
    if moved:
        skipped += _behind(due, now)
    last = [due.last_slot, *(each.span.last for each in skipped), *(each.slot for each in accounting.fire)]
    return Accounted(fire=fire, skipped=skipped, last_slot=max(last))


def pace_ended_at(plan: PlanState) -> datetime | None:
    """When the last hint about the pace that is stored ends, or has ended."""
    if pace_hint(plan) is None:
        return None
    ends = (plan.hint_interval_expires_at, plan.hint_factor_expires_at)
    return max(end for end in ends if end is not None)


def passed_over(trigger: Trigger, after: datetime, until: datetime) -> tuple[Skipped, ...]:
    """The cron's own slots that a hint or a clamp has gone past: nobody will fire them."""
    passed = count_between(trigger, after, until) if isinstance(trigger, CronTrigger) else None
    return () if passed is None else (Skipped(span=passed, reason=Reason.SUPERSEDED),)


def never_reached(plan: PlanState, last_slot: datetime) -> tuple[Skipped, ...]:
    """What a hint or a clamp goes past until the schedule's end, where nothing is planned any more: nobody looks again
    at a schedule that has ended."""
    return () if plan.end_at is None else passed_over(plan.trigger, last_slot, plan.end_at)


def _misfired(due: Due, span: Span, *, apart: bool) -> tuple[Skipped, ...]:
    """One row; but a moment that is none of the trigger's own stands alone."""
    if not apart or span.first != due.next_slot or span.count == 1:
        return (Skipped(span=span, reason=Reason.MISFIRE),)
    first = next_slot(owed(due), span.first)
    rest = replace(span, first=first or span.last, count=span.count - 1)
    return Skipped(span=one(span.first), reason=Reason.MISFIRE), Skipped(span=rest, reason=Reason.MISFIRE)


def _behind(due: Due, now: datetime) -> tuple[Skipped, ...]:
    """The cron's slots behind a moved moment that are not owed, as far as nobody else will account for them."""
    ended = pace_ended_at(due.plan)
    return passed_over(due.plan.trigger, due.next_slot, ended) if ended is not None and ended <= now else ()


def _far_enough_apart(plan: PlanState, fire: tuple[Fire, ...]) -> tuple[tuple[Fire, ...], list[Span]]:
    """Of fresh slots that are due together, those that keep the distance of the lower clamp; and the others, one span
    for those between two.

    Catch-up is exempt: a slot that was missed fires whenever its turn comes.
    """
    if plan.least_ms is None:
        return fire, []
    least = timedelta(milliseconds=plan.least_ms)
    kept: list[Fire] = []
    close: list[Span] = []
    last, is_first = plan.clamps_from, True
    for each in fire:
        if each.missed or last is None or each.slot - last >= least:
            kept.append(each)
            last, is_first = last if each.missed else each.slot, True
        elif is_first:
            close.append(one(each.slot))
            is_first = False
        else:
            close[-1] = replace(close[-1], last=each.slot, count=close[-1].count + 1)
    return tuple(kept), close


def past_the_pace(plan: PlanState, done: Accounted, now: datetime) -> Accounted:
    ended = pace_ended_at(plan)
    if ended is None or ended > now:
        return done
    superseded = passed_over(plan.trigger, done.last_slot, ended)
    passed = count_between(plan.trigger, done.last_slot, ended)
    return done if passed is None else replace(done, skipped=done.skipped + superseded, last_slot=passed.last)


def one(slot: datetime) -> Span:
    return Span(first=slot, last=slot, count=1)
