"""What moving over would do, decided entry by entry against the ledger as it is. Nothing here writes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from celery import Celery

from routines_app.core.errors import NotFound
from routines_app.core.said import said
from routines_app.core.triggers import INSTANT, IntervalTrigger, Trigger, next_slot
from routines_app.models import MovedEntry, Routine, RoutineState
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.plan.planning import trigger_of
from routines_app.protocol.record.changes import as_recorded
from routines_app.verbs.checking.validation import clean_new
from routines_app.verbs.exports.drafts import New, Owed
from routines_app.verbs.exports.wanted import Pause
from routines_app.verbs.moving.beat_schedule import imported_names
from routines_app.verbs.moving.carrying import Carried, Over, carry
from routines_app.verbs.moving.comparing import compare
from routines_app.verbs.moving.move_values import Move, MoveAct
from routines_app.verbs.moving.old_entries import OldEntry, OldScheduler, Read
from routines_app.verbs.moving.old_fires import OldFires
from routines_app.verbs.moving.problems import told
from routines_app.verbs.rotations.finding import There, batches, by_name

DIFFERS = "its next fires would be others, see the comparison; take it as it is with --accept-differences"
OF_BEAT_SCHEDULE = "it stands in beat_schedule too, which our beats import when they start"


class Wish(NamedTuple):
    """How to move over."""

    scheduler: OldScheduler
    only: Collection[str] = ()
    """Names; none means all."""
    shadow: bool = False
    accept_differences: bool = False


@dataclass(kw_only=True, slots=True)
class Drafted:
    """An entry, and the routine that is to be created for it; None: there is none to be."""

    move: Move
    new: New | None = None


def chosen(read: Read, only: Collection[str]) -> Read:
    """Those that are asked for; each name has to be one of theirs."""
    if not only:
        return read
    there = {entry.key for entry in read.entries} | {problem.key for problem in read.problems}
    for name in only:
        if name not in there:
            raise NotFound("only", name, said("it has no entry of that name"))
    return Read(
        entries=tuple(each for each in read.entries if each.key in only),
        problems=tuple(each for each in read.problems if each.key in only),
    )


def draft_moves(read: Read, wish: Wish, now: datetime, app: Celery) -> list[Drafted]:
    """By name. The ledger is asked by batches of names, however many there are."""
    names = [entry.key for entry in read.entries]
    taken = {name.casefold(): there for name, there in by_name(names).items()}
    moved = dict(_moved(wish.scheduler, names))
    imported = imported_names(app)
    drafted = [Drafted(move=Move(key=each.key, act=MoveAct.REFUSE, why=each.why)) for each in read.problems]
    for entry in read.entries:
        if entry.key in moved:
            drafted.append(Drafted(move=Move(key=entry.key, act=MoveAct.THERE, routine_id=moved[entry.key])))
        elif entry.key in imported:
            drafted.append(Drafted(move=Move(key=entry.key, act=MoveAct.BEATS, why=OF_BEAT_SCHEDULE)))
        else:
            drafted.append(_drafted(entry, taken.get(entry.key.casefold()), wish, now, app))
    return sorted(drafted, key=lambda each: each.move.key)


def new_trigger(cleaned: dict[str, Any], now: datetime) -> Trigger:
    """That of a routine that is created now."""
    return trigger_of(Routine(**cleaned, created_at=now), RoutineState())


def _moved(scheduler: OldScheduler, names: Sequence[str]) -> Iterator[tuple[str, int]]:
    rows = MovedEntry.objects.using(ledger_alias()).filter(scheduler=scheduler)
    for batch in batches(names):
        yield from rows.filter(key__in=batch).values_list("key", "routine_id")


def _drafted(entry: OldEntry, there: There | None, wish: Wish, now: datetime, app: Celery) -> Drafted:
    try:
        carried = carry(entry, now, app)
        if isinstance(carried, Over):
            return Drafted(move=Move(key=entry.key, act=MoveAct.OVER, why=carried.why))
        cleaned = clean_new(carried.fields, allow_unknown_task=True)
        return _compared(entry, carried, cleaned, there, wish, now)
    except Exception as error:  # noqa: BLE001 - whatever an entry holds, or a schedule of the project's own raises
        return Drafted(move=Move(key=entry.key, act=MoveAct.REFUSE, why=told(error)))


def _compared(
    entry: OldEntry, carried: Carried, cleaned: dict[str, Any], there: There | None, wish: Wish, now: datetime
) -> Drafted:
    trigger = new_trigger(cleaned, now)
    move = Move(
        key=entry.key,
        act=MoveAct.CREATE,
        fields=as_recorded(cleaned),
        paused=carried.paused,
        overdue_since=carried.old.overdue_since if entry.enabled else None,
        changed=carried.changed,
        cannot=carried.cannot,
        comparison=compare(entry, carried.old, trigger, now),
    )
    if there is not None:
        return Drafted(move=replace(move, act=MoveAct.REFUSE, why=_taken(there)))
    if move.differs and not wish.accept_differences:
        return Drafted(move=replace(move, act=MoveAct.REFUSE, why=DIFFERS))
    new = New(routine=Routine(**cleaned, shadow=wish.shadow), cleaned=cleaned)
    if carried.paused:
        new.pause = Pause(reason=carried.paused, until=None)
    elif not wish.shadow:  # there the old scheduler sends what is overdue
        new.owed = _owed(carried.old, trigger, now)
    return Drafted(move=move, new=new)


def _taken(there: There) -> str:
    return f"another routine has that name (id {there.id}); rename one of the two, or delete that routine"


def _owed(old: OldFires, trigger: Trigger, now: datetime) -> Owed | None:
    """What is overdue there is accounted for here, from the first moment at which it should have been sent."""
    if old.overdue_since is None:
        return None
    if isinstance(trigger, IntervalTrigger):
        return Owed(after=None, first=trigger.anchor)
    after = old.overdue_since - INSTANT
    first = next_slot(trigger, after)
    return Owed(after=after, first=first) if first is not None and first <= now else None
