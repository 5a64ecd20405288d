"""Hints for many routines at once, by a tag, a group, a queue or a pool.

Bad input is found before anything is written. Then each batch is a transaction of its own: one for twenty thousand
routines would keep their states locked for seconds, and beats, who pass locked states by, from firing them. Whoever is
cut off in between has hinted some of them, and the same call again hints all: a proposal replaces the hint of its kind.
Statements are counted by batches, never by routines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import Q, QuerySet

from routines_app.coordination.wakeups import wake_beats
from routines_app.core.errors import InvalidValue
from routines_app.core.said import said
from routines_app.core.words import HintKind, RoutineStatus, TriggerKind
from routines_app.models import HINT_COLUMNS, ChangeKind, Hint, Routine, RoutineState, ScheduleChange, no_hint
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.arrays import AnyOf
from routines_app.protocol.ledger.database import ledger_alias, on_commit
from routines_app.protocol.ledger.locks import lock_states
from routines_app.protocol.plan.hints import Proposed, clear, is_idle, propose, record_expired, told
from routines_app.protocol.plan.unfired import write_left
from routines_app.protocol.record import changes
from routines_app.verbs.editing import REASON, actor_name
from routines_app.verbs.held_rows import verb_transaction

BATCH = 1_000
PLAN = ["last_slot", "next_slot", "slot_source", "next_run_at", "next_source", "fingerprint"]
PLAN += ["release_policy", "release_until"]

Change = Callable[[Routine, RoutineState], Proposed | None]


class Changed(NamedTuple):
    """A routine whose hints have changed, with its state as it is to be stored."""

    routine: Routine
    state: RoutineState
    done: Proposed
    moved: bool


class By(NamedTuple):
    """Who asks, and why."""

    actor: str
    reason: str


def propose_many(selected: QuerySet[Routine], factor: float, ttl_ms: int, *, actor: object, reason: str) -> int:
    """Give them all a factor; how many."""
    by = By(actor_name(actor), REASON("reason", reason))
    _refuse_crons(selected, factor)
    batches = _batches(_with_pace(selected, clock.now()))
    hinted = sum(_propose_batch(routine_ids, factor, ttl_ms, by) for routine_ids in batches)
    on_commit(wake_beats)
    return hinted


def _propose_batch(routine_ids: list[int], factor: float, ttl_ms: int, by: By) -> int:
    with verb_transaction("factor", factor):
        states, now = lock_states(routine_ids), clock.now()
        hint = Hint(HintKind.FACTOR, factor, now + timedelta(milliseconds=ttl_ms), by.reason, by.actor)

        def give(routine: Routine, state: RoutineState) -> Proposed | None:
            # Since it was looked at it may have become a cron, one moment, or a member of a rotation, which says when.
            became_cron = routine.trigger_kind == TriggerKind.CRON and not fits_cron(factor)
            refused = became_cron or routine.trigger_kind == TriggerKind.ONCE or routine.rotation_id is not None
            proposed = None if refused else propose(routine, state, hint, now)
            return None if is_idle(routine, state, now) else proposed  # its schedule has ended

        found = _each(states, give)
        _save(found, now)
        _give(found, hint)
        _record(ChangeKind.HINTED, found, now, hint, by)
    return len(found)


def clear_many(selected: QuerySet[Routine], *, actor: object, reason: str) -> int:
    """Forget the hints of all; how many had any."""
    by = By(actor_name(actor), REASON("reason", reason))
    any_hint = Q(state__hint_interval_ms__isnull=False) | Q(state__hint_next_at__isnull=False)
    any_hint |= Q(state__hint_factor__isnull=False)
    cleared = sum(_clear_batch(routine_ids, by) for routine_ids in _batches(selected.filter(any_hint)))
    on_commit(wake_beats)
    return cleared


def _clear_batch(routine_ids: list[int], by: By) -> int:
    with verb_transaction("hints", f"{len(routine_ids)} routines"):
        states, now = lock_states(routine_ids), clock.now()
        found = _each(states, lambda routine, state: clear(routine, state, now))
        _save(found, now)
        _record(ChangeKind.HINTS_CLEARED, found, now, None, by)
    return len(found)


def fits_cron(factor: float) -> bool:
    """Of a cron every n-th slot fires."""
    return factor >= 1 and factor == int(factor)


def not_for_cron(factor: float, name: str, others: int = 0) -> InvalidValue:
    if others:
        expected = said(
            "give a whole number from 1 on: of a cron every n-th slot fires, and {name} and {others} more are CRON",
            name=name,
            others=others,
        )
    else:
        expected = said(
            "give a whole number from 1 on: of a cron every n-th slot fires, and {name} is a CRON", name=name
        )
    return InvalidValue("factor", factor, expected)


def _refuse_crons(selected: QuerySet[Routine], factor: float) -> None:
    if fits_cron(factor):
        return
    crons = selected.filter(trigger_kind=TriggerKind.CRON)
    first = crons.order_by("name").values_list("name", flat=True).first()
    if first is not None:
        raise not_for_cron(factor, first, crons.count() - 1)


def _with_pace(selected: QuerySet[Routine], now: datetime) -> QuerySet[Routine]:
    """Those that have something to multiply; a MANUAL one only while it is hinted an interval, a member never is."""
    return (
        selected.filter(rotation=None)
        .exclude(trigger_kind=TriggerKind.ONCE)
        .filter(~Q(trigger_kind=TriggerKind.MANUAL) | Q(state__hint_interval_expires_at__gt=now))
    )


def _batches(selected: QuerySet[Routine]) -> Iterator[list[int]]:
    """Their ids in order: states are locked in it."""
    ids = list(selected.order_by("pk").values_list("pk", flat=True))
    for begin in range(0, len(ids), BATCH):
        yield ids[begin : begin + BATCH]


def _each(states: Sequence[RoutineState], change: Change) -> list[Changed]:
    """Change each state; what cannot be planned, is archived or does not take the change is left as it is."""
    routines = Routine.objects.using(ledger_alias()).filter(AnyOf("pk", [state.pk for state in states]))
    by_id = {routine.pk: routine for routine in routines.exclude(status=RoutineStatus.ARCHIVED)}
    found: list[Changed] = []
    for state in states:
        routine, before = by_id.get(state.pk), _plan_of(state)
        try:
            done = None if routine is None else change(routine, state)
        except (ArithmeticError, ValueError):  # a broken schedule is its own trouble: the claim parks it
            continue
        if routine is not None and done is not None:
            found.append(Changed(routine, state, done, _plan_of(state) != before))
    return found


def _plan_of(state: RoutineState) -> tuple[Any, ...]:
    return tuple(getattr(state, field) for field in PLAN)


def _save(found: Sequence[Changed], now: datetime) -> None:
    """Hints by a statement for each kind, then the plans that have moved, and what they have gone past."""
    states = RoutineState.objects.using(ledger_alias())
    for kind, routine_ids in _dropped(found).items():
        states.filter(AnyOf("pk", routine_ids)).update(**no_hint(kind))
    states.bulk_update([each.state for each in found if each.moved], PLAN, batch_size=BATCH)
    write_left([(each.routine, each.state, each.done.left) for each in found], now)


def _dropped(found: Sequence[Changed]) -> dict[HintKind, list[int]]:
    ids: dict[HintKind, list[int]] = {}
    for each in found:
        for kind in each.done.dropped:
            ids.setdefault(kind, []).append(each.routine.pk)
    return ids


def _give(found: Sequence[Changed], hint: Hint) -> None:
    states = RoutineState.objects.using(ledger_alias()).filter(AnyOf("pk", [each.routine.pk for each in found]))
    states.update(**dict(zip(HINT_COLUMNS[hint.kind], hint[1:], strict=True)))


def _record(kind: ChangeKind, found: Sequence[Changed], now: datetime, hint: Hint | None, by: By) -> None:
    record_expired([(each.routine, each.state, each.done.expired) for each in found], now, by.actor)
    ScheduleChange.objects.using(ledger_alias()).bulk_create(
        changes.new(
            kind,
            each.routine,
            each.state,
            now,
            actor=by.actor,
            reason=by.reason,
            before=each.done.before,
            after=dict.fromkeys(each.done.before) if hint is None else told(hint),
        )
        for each in found
    )
