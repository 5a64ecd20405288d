"""Firing: everything that a claim decides about one due routine, before overlap is looked at.

The slots that are due are accounted for (fired or skipped, each once), and the governor says when to look again.

What is owed, and what became of it, is in `owed.py`; here it is decided when the slots come together with one-shots.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from routines_app.core.catch_up import Fire, account
from routines_app.core.governor import (
    baseline_of,
    expired_hints,
    hints_of,
    is_oneshots,
    plan_next,
    restarts,
    without_hints,
    without_oneshot,
)
from routines_app.core.owed import (
    Accounted,
    Due,
    Skipped,
    accounted,
    never_reached,
    one,
    owed,
    pace_ended_at,
    passed_over,
    past_the_pace,
)
from routines_app.core.triggers import (
    INSTANT,
    CronTrigger,
    IntervalTrigger,
    next_slot,
)
from routines_app.core.words import BASELINES, HintKind, Reason, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Firing:
    """The decision. `last_slot`, `next_slot`, `next_run_at`, `source` and `clamps_from` are the routine's new state."""

    fire: tuple[Fire, ...]
    skipped: tuple[Skipped, ...]
    last_slot: datetime
    next_slot: datetime | None
    next_run_at: datetime | None
    source: Source
    slot_source: Source | None = None
    """Why `next_slot`: a catch-up that waits has another reason to look, or not to."""
    clamps_from: datetime | None = None
    uses_up_oneshot: bool = False
    expired: tuple[HintKind, ...] = ()
    """Hints that are over and dropped."""
    sequential: bool = False


def decide_firing(due: Due, now: datetime) -> Firing:
    """Account for what is due at `now`. Call it only when `due.next_slot <= now`."""
    if is_oneshots(due.plan, due.next_slot, due.source, due.last_slot):
        return _fire_oneshot(due, now)
    due = _on_its_grid(_as_its_own(due))
    accounting = account(owed(due), first=due.next_slot, now=now, rule=due.rule)
    done = accounted(due, accounting, now)
    goes_on = accounting.next_slot is not None and (due.source in BASELINES or accounting.next_slot <= now)
    if accounting.sequential and goes_on:
        return Firing(
            fire=done.fire,
            skipped=done.skipped,
            last_slot=done.last_slot,
            next_slot=accounting.next_slot,
            next_run_at=None,
            source=Source.CATCHING_UP,
            slot_source=baseline_of(due.plan.trigger),
            clamps_from=_clamps_from(due, done),
            uses_up_oneshot=_uses_up_oneshot(due, now, done),
            sequential=True,
        )
    return _planned(due, now, done)


def decide_claim(due: Due, now: datetime) -> Firing:
    """The same for a claim, whose plan is the one that holds. Whoever leaves a plan for another has its own.

    What a hint or a clamp goes past of a cron until the schedule's end is settled by the claim that comes to it. And a
    pace that restarts counts from now: whoever plans once more must come to the same moment.
    """
    firing = decide_firing(due, now)
    if firing.source is Source.ENDED:
        passed = never_reached(due.plan, firing.last_slot)
        last = passed[-1].span.last if passed else firing.last_slot
    elif not firing.sequential and restarts(without_hints(due.plan, firing.expired), now, firing.last_slot):
        passed, last = passed_over(due.plan.trigger, firing.last_slot, now), now
    else:
        return firing
    return replace(firing, skipped=firing.skipped + passed, last_slot=last)


def _as_its_own(due: Due) -> Due:
    """A slot of the trigger's that the lower clamp chose is one like the others: catching up is exempt from clamps.

    What the clamp went past lies before it. Where a pace is hinted, it may be any moment, and the pace's rule holds.
    """
    trigger = due.plan.trigger
    if due.source is not Source.CLAMPED_MIN or pace_ended_at(due.plan) is not None:
        return due
    is_own = next_slot(trigger, due.next_slot - INSTANT) == due.next_slot
    return replace(due, source=baseline_of(trigger)) if is_own else due


def _on_its_grid(due: Due) -> Due:
    """An interval's own slot is on its grid, wherever plain SQL may have put it: later ones count from it."""
    trigger = due.plan.trigger
    if due.source is not Source.BASELINE_INTERVAL or not isinstance(trigger, IntervalTrigger):
        return due
    interval = timedelta(milliseconds=trigger.interval_ms)
    anchor = due.next_slot - max(0, (due.next_slot - due.last_slot) // interval + 1) * interval
    return replace(due, plan=replace(due.plan, trigger=replace(trigger, anchor=anchor)))


def _fire_oneshot(due: Due, now: datetime) -> Firing:
    """A one-shot is an extra fire: the schedule goes on from the same anchor as if it had not been.

    Unless the schedule, or an interval that was hinted, has that very moment too, or it is a slot of the cron that a
    hinted pace goes past: then the one row stands for both. A later row for what was gone past could not leave it out.
    """
    scheduled = without_oneshot(due.plan, due.next_slot, due.last_slot)
    expires_at = due.plan.hint_next_expires_at
    over = expires_at is None or expires_at <= now  # without its hint: whoever took that away took its moment back
    if over and scheduled.next_run_at == due.next_slot:
        plan = without_hints(due.plan, (HintKind.NEXT,))
        alone = decide_firing(replace(due, plan=plan, source=scheduled.source), now)
        return alone if expires_at is None else replace(alone, expired=(*alone.expired, HintKind.NEXT))
    if over:
        return _refuse_oneshot(due, now, Reason.EXPIRED)
    fire = (Fire(slot=due.next_slot, missed=False),)
    if scheduled.next_run_at != due.next_slot and not _is_own_slot(due):
        return _planned(due, now, Accounted(fire=fire, skipped=(), last_slot=due.last_slot))
    passed = passed_over(due.plan.trigger, due.last_slot, due.next_slot - INSTANT)
    return _planned(due, now, Accounted(fire=fire, skipped=passed, last_slot=due.next_slot))


def _refuse_oneshot(due: Due, now: datetime, reason: Reason) -> Firing:
    """It is due and does not fire; the schedule goes on."""
    refused = (Skipped(span=one(due.next_slot), reason=reason),)
    if not _is_own_slot(due):
        return _planned(due, now, Accounted(fire=(), skipped=refused, last_slot=due.last_slot))
    passed = passed_over(due.plan.trigger, due.last_slot, due.next_slot - INSTANT)
    return _planned(due, now, Accounted(fire=(), skipped=(*refused, *passed), last_slot=due.next_slot))


def _is_own_slot(due: Due) -> bool:
    """Whether it is a slot of the cron that is not accounted for."""
    trigger = due.plan.trigger
    own = isinstance(trigger, CronTrigger) and next_slot(trigger, due.next_slot - INSTANT) == due.next_slot
    return own and due.next_slot > due.last_slot


def withdraw_oneshot(due: Due, now: datetime, reason: Reason) -> Firing:
    """The planned one-shot is due and will not fire, for that reason; the plan goes on without it.

    Where the schedule has that very moment too, the slot stays planned as the schedule's own.
    """
    scheduled = without_oneshot(due.plan, due.next_slot, due.last_slot)
    due = replace(due, plan=without_hints(due.plan, (HintKind.NEXT,)))
    if scheduled.next_run_at == due.next_slot:
        return Firing(
            fire=(),
            skipped=(),
            last_slot=due.last_slot,
            next_slot=due.next_slot,
            next_run_at=due.next_slot,
            source=scheduled.source,
            slot_source=scheduled.source,
            clamps_from=due.plan.clamps_from,
        )
    return _refuse_oneshot(due, now, reason)


def _clamps_from(due: Due, done: Accounted) -> datetime | None:
    """The last scheduled slot that has a row, whatever became of it; those that were passed over are none."""
    scheduled = [fire.slot for fire in done.fire]
    scheduled += [each.span.last for each in done.skipped if each.reason is Reason.MISFIRE]
    if due.plan.clamps_from is not None:
        scheduled.append(due.plan.clamps_from)
    return max(scheduled, default=None)


def _uses_up_oneshot(due: Due, now: datetime, done: Accounted) -> bool:
    """A fire at or after a one-shot's moment has used it up; one that is over is not used any more."""
    hinted = due.plan.hint_next_at
    served = hinted is not None and any(fire.slot >= hinted for fire in done.fire)
    return served and HintKind.NEXT not in expired_hints(due.plan, now)


def _planned(due: Due, now: datetime, done: Accounted) -> Firing:
    """The governor's plan from there on, without the hints that are used up or over.

    What a hint that is over went past is settled now: without it nobody would know that these slots are not owed.
    """
    expired, used_up = expired_hints(due.plan, now), _uses_up_oneshot(due, now, done)
    done = past_the_pace(due.plan, done, now)
    state = without_hints(due.plan, (*expired, *([HintKind.NEXT] if used_up else [])))
    clamps_from = _clamps_from(due, done)
    plan = plan_next(replace(state, clamps_from=clamps_from), now, done.last_slot)
    if plan.next_run_at is None:  # nobody will look again, so nothing comes of the others any more
        expired += hints_of(state)
    return Firing(
        fire=done.fire,
        skipped=done.skipped,
        last_slot=done.last_slot,
        next_slot=plan.next_run_at,
        next_run_at=plan.next_run_at,
        source=plan.source,
        slot_source=None if plan.next_run_at is None else plan.source,
        clamps_from=clamps_from,
        uses_up_oneshot=used_up,
        expired=expired,
    )
