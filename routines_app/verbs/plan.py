"""The coming fires of all routines, in order, computed only as far as they are asked for."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet

from routines_app.core.catch_up import CatchUp
from routines_app.core.firing import Firing, decide_claim
from routines_app.core.governor import without_hints
from routines_app.core.owed import Due
from routines_app.core.triggers import INSTANT
from routines_app.core.words import CatchUpPolicy, HintKind, RoutineStatus, Source
from routines_app.models import Routine, RoutineState
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.plan.planning import anchor_of, awake, awake_plan_state, plan_from_now, slot_source_of
from routines_app.verbs.checking.lookup import RoutineRef, id_of
from routines_app.verbs.checking.rules import SECOND, YEAR, Duration, Integer, moment

HORIZON = Duration(least=SECOND, most=10 * YEAR)
LIMIT = Integer(least=1, most=100_000)
READ_AT_ONCE = 500
UNREAD = ("args", "kwargs", "description", "tags", "options", "phases", "declared", "retry_for", "no_retry_for")
"""Of a routine: what says nothing of when it fires. Hundreds are read, and JSON is slow to read."""
# Of an overdue routine only the oldest slot is listed, and what follows is planned after now.
NEWEST = CatchUp(policy=CatchUpPolicy.SKIP, grace_ms=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFire:
    """One fire as it is planned now."""

    routine_id: int
    name: str
    slot: datetime
    source: Source


# The heap holds each routine's earliest fire and the iterator of its later ones.
_Entry = tuple[datetime, int, PlannedFire, Iterator[PlannedFire]]


def plan(
    routines: Iterable[RoutineRef] | RoutineRef | None = None,
    *,
    now: datetime | None = None,
    horizon: Any = "1d",
    limit: int = 100,
) -> list[PlannedFire]:
    """The next fires of these routines (None: of all), earliest first: at most `limit`, at most `horizon` ahead.

    Slots that are overdue come first, at the time they stand for. Failures, edits and hints will change what comes
    later. The cost follows `limit`, not how many routines exist.
    """
    now = clock.now() if now is None else moment("now", now)
    until = now + timedelta(milliseconds=HORIZON("horizon", horizon))
    limit = LIMIT("limit", limit)
    return first_fires(_states(routines, until), now, until, limit)


def plan_of(routine: Routine, *, now: datetime, horizon: Any = "1d", limit: int = 100) -> list[PlannedFire]:
    """The same of one routine as the caller has just read it, with its state: the database is asked nothing."""
    until = now + timedelta(milliseconds=HORIZON("horizon", horizon))
    state: RoutineState | None = getattr(routine, "state", None)  # which a plain insert has left out
    if state is None or state.next_run_at is None or state.next_run_at > until:
        return []
    return first_fires(iter([state]), now, until, LIMIT("limit", limit))


def _states(routines: Iterable[RoutineRef] | RoutineRef | None, until: datetime) -> Iterator[RoutineState]:
    """The states of what a beat will look at before `until`, in that order."""
    states = due_until(until)
    if routines is not None:
        refs = [routines] if isinstance(routines, RoutineRef) else routines
        states = states.filter(pk__in=[id_of(ref) for ref in refs])
    return in_order(states)


def due_until(until: datetime) -> QuerySet[RoutineState]:
    """With their routines, but for what no plan needs."""
    states = RoutineState.objects.using(ledger_alias()).filter(next_run_at__lte=until)
    return states.select_related("routine").defer(*(f"routine__{field}" for field in UNREAD))


def in_order(states: QuerySet[RoutineState], at_once: int = READ_AT_ONCE) -> Iterator[RoutineState]:
    """As a beat will look at them, and as `first_fires` takes them.

    So many at a time, each time from where the last ones ended: outside of a transaction a cursor of the database would
    find all of them, a million perhaps, before the first is read. One that is claimed meanwhile moves behind those that
    have been read: it is not met again.
    """
    ordered, some, met = states.order_by("next_run_at", "routine_id"), list[RoutineState](), set[int]()
    while True:
        some = list((ordered.filter(_behind(some[-1])) if some else ordered)[:at_once])
        yield from (state for state in some if state.routine_id not in met)
        met.update(state.routine_id for state in some)
        if len(some) < at_once:
            return


def _behind(last: RoutineState) -> Q:
    same_moment = Q(next_run_at=last.next_run_at, routine_id__gt=last.routine_id)
    return Q(next_run_at__gte=last.next_run_at) & (Q(next_run_at__gt=last.next_run_at) | same_moment)


def first_fires(states: Iterator[RoutineState], now: datetime, until: datetime, limit: int) -> list[PlannedFire]:
    """Merge the routines' fires. A routine is read only when the fires found so far reach its first look."""
    found: list[PlannedFire] = []
    heap: list[_Entry] = []
    coming = next(states, None)
    while len(found) < limit:
        while coming is not None and coming.next_run_at is not None and (not heap or coming.next_run_at <= heap[0][0]):
            _push(heap, _fires(coming, now, until))
            coming = next(states, None)
        if not heap:
            return found
        _, _, fire, rest = heapq.heappop(heap)
        found.append(fire)
        _push(heap, rest)
    return found


def _push(heap: list[_Entry], fires: Iterator[PlannedFire]) -> None:
    fire = next(fires, None)
    if fire is not None:
        heapq.heappush(heap, (fire.slot, fire.routine_id, fire, fires))


def _fires(state: RoutineState, now: datetime, until: datetime) -> Iterator[PlannedFire]:
    """One routine's fires from its next one on, as the governor would plan them one after another."""
    routine, plan = state.routine, awake_plan_state(state.routine, state)
    anchor, at, source = _next(state)
    while at is not None and at <= until:
        fired = Due(plan=plan, rule=NEWEST, last_slot=anchor, next_slot=at, source=source)
        decided = decide_claim(fired, max(at, now))
        if decided.fire or source is not Source.HINT_ONESHOT:  # one that has expired does not fire
            yield PlannedFire(slot=at, name=routine.name, routine_id=routine.pk, source=source)
        plan = replace(without_hints(plan, _dropped(decided)), clamps_from=decided.clamps_from)
        anchor, at, source = decided.last_slot, decided.next_slot, decided.source


def _dropped(decided: Firing) -> tuple[HintKind, ...]:
    return (*decided.expired, HintKind.NEXT) if decided.uses_up_oneshot else decided.expired


def _next(state: RoutineState) -> tuple[datetime, datetime | None, Source]:
    """The anchor, the next slot and its source; of a paused routine, those that the end of the pause will give it."""
    routine = state.routine
    if routine.status != RoutineStatus.PAUSED or routine.paused_until is None:
        return anchor_of(routine, state), state.next_slot, slot_source_of(routine, state)
    anchor, planned = plan_from_now(awake(routine), state, routine.paused_until - INSTANT)
    return anchor or anchor_of(routine, state), planned.next_run_at, planned.source
