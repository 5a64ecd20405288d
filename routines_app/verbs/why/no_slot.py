"""Why there was no slot at a moment, or none yet: by the schedule and the status as they were then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from routines_app.core.said import Said, filled, said
from routines_app.core.words import RoutineStatus, Source, TriggerKind
from routines_app.core.zones import SECOND, clock_changes, offset_at
from routines_app.models import ChangeKind, Role, RoutineRun, ScheduleChange
from routines_app.verbs.prune_runs import pruned_before
from routines_app.verbs.why.asked import Asked
from routines_app.verbs.why.changed import CODES, changed
from routines_app.verbs.why.nearest import nearest
from routines_app.verbs.why.planned import coming
from routines_app.verbs.why.reading import is_held
from routines_app.verbs.why.then import Then, as_it_was, before, slot_in
from routines_app.verbs.why.values import Because, Sentence
from routines_app.verbs.why.wording import stop, with_words

DAY = timedelta(days=1)
LONGEST_SHIFT = timedelta(hours=3)
LONG = timedelta(seconds=3)  # a claim takes less

WILL_NOT_FIRE = {
    RoutineStatus.PAUSED: said("It is to come, and nothing will fire: the routine is paused"),
    RoutineStatus.PARKED: said("It is to come, and nothing will fire: the routine is parked"),
    RoutineStatus.ARCHIVED: said("It is to come, and nothing will fire: the routine is archived"),
}
NO_SLOT_EITHER = {
    ChangeKind.PAUSED: said("While it is paused nothing fires; by its schedule there was no slot at {at} either."),
    ChangeKind.PARKED: said("While it is parked nothing fires; by its schedule there was no slot at {at} either."),
    ChangeKind.ARCHIVED: said("While it is archived nothing fires; by its schedule there was no slot at {at} either."),
}
DID_NOT_FIRE = {
    ChangeKind.PAUSED: said("So the slot {slot} did not fire: while a routine is paused nothing does."),
    ChangeKind.PARKED: said("So the slot {slot} did not fire: while a routine is parked nothing does."),
    ChangeKind.ARCHIVED: said("So the slot {slot} did not fire: while a routine is archived nothing does."),
}


def explained(asked: Asked, near: Sequence[RoutineRun]) -> Iterator[Sentence]:
    """Why no row stands for the moment; the nearest slots that have one."""
    then = as_it_was(asked.routine, asked.changes, asked.at)
    if asked.at > asked.now:
        yield from _coming(asked)
    elif asked.until <= asked.routine.created_at:
        made = asked.words.at(asked.routine.created_at)
        text = said("There was no such routine yet: it was created at {at}.", at=made)
        yield Sentence(code=Because.NOT_YET_CREATED, text=text, at=asked.routine.created_at)
    else:
        yield from _missing(asked, then)
    yield from nearest(asked, near)


def _missing(asked: Asked, then: Then) -> Iterator[Sentence]:
    slot = None if then.fields is None else slot_in(asked.routine, then.fields, asked.at, asked.until)
    if then.held is not None:
        yield changed(asked, then.held)
        yield _held(asked, then.held, slot)
    elif then.fields is None:
        text = said("What its schedule was then is not known: it was changed by plain SQL since.")
        yield Sentence(code=Because.NOT_KNOWN, text=text)
        if then.later_edit is not None:
            yield changed(asked, then.later_edit)
    elif slot is not None:
        yield from _without_a_row(asked, slot)
    else:
        yield from _no_slot(asked, then, then.fields)


def _held(asked: Asked, change: ScheduleChange, slot: datetime | None) -> Sentence:
    kind = ChangeKind(change.kind)
    if slot is None:
        text = filled(NO_SLOT_EITHER[kind], at=asked.words.at(asked.at))
    else:
        text = filled(DID_NOT_FIRE[kind], slot=asked.words.at(slot))
    return Sentence(code=CODES[kind], text=text, at=slot, changes=(change.pk,))


def _without_a_row(asked: Asked, slot: datetime) -> Iterator[Sentence]:
    """Its schedule has that slot, and the ledger has no row."""
    state, at = asked.state, asked.words.at(slot)
    if slot < pruned_before(asked.now):
        text = said(
            "{at} was a slot of its schedule, and what became of it is no longer known: such old runs are not kept.",
            at=at,
        )
        yield Sentence(code=Because.PRUNED, text=text, at=slot)
    elif state is not None and state.next_slot is not None and state.next_slot <= slot:
        if state.next_source == Source.CATCHING_UP:
            text = said(
                "{at} is a slot of its schedule. What was missed runs one after another: its turn is still to come.",
                at=at,
            )
            yield Sentence(code=Because.DUE, text=text, at=slot)
            return
        text = said("{at} is a slot of its schedule, and no beat has come to it yet.", at=at)
        yield Sentence(code=Because.DUE, text=text, at=slot)
        absence = asked.absence(Role.BEAT, slot)
        if absence is not None:
            yield absence
        elif asked.now - slot >= LONG and is_held(asked.routine):
            text = said("Somebody holds its row in the database at this moment, and beats pass it by until it is free.")
            yield Sentence(code=Because.WAITED, text=text, at=slot)
    elif (change := _left_unplanned(asked, slot)) is not None:
        text = said(
            "{at} is a slot of its schedule, and was not planned: a minimum interval, or a hint, left nothing to fire"
            " before the schedule's end.",
            at=at,
        )
        yield Sentence(code=Because.HINTED, text=text, at=slot)
        yield changed(asked, change)
    else:
        text = said(
            "{at} is a slot of its schedule, and there is no row for it: why is not known."
            " Hints, bounds or failures may have moved it; `routines audit` says whether the ledger balances.",
            at=at,
        )
        yield Sentence(code=Because.NOT_KNOWN, text=text, at=slot)


def _left_unplanned(asked: Asked, slot: datetime) -> ScheduleChange | None:
    """The change after which nothing was planned any more, and that nobody has taken back."""
    last = asked.changes[0] if asked.changes else None
    ended = asked.state is not None and asked.state.next_source == Source.ENDED
    return last if ended and last is not None and last.next_slot is None and last.at < slot else None


def _no_slot(asked: Asked, then: Then, fields: dict[str, Any]) -> Iterator[Sentence]:
    found = list(_by_kind(fields)) or list(_by_edit(asked, then, fields)) or list(_by_clock(asked, fields))
    yield from found or [_plainly(asked, fields)]


def _by_kind(fields: dict[str, Any]) -> Iterator[Sentence]:
    if fields["rotation"] is not None:
        text = said("It has no schedule of its own: its rotation picks it when it is the stalest that is owed.")
        yield Sentence(code=Because.MEMBER, text=text)
    elif fields["trigger_kind"] == TriggerKind.MANUAL:
        text = said("It had no schedule then: it runs only when somebody asks for it.")
        yield Sentence(code=Because.MANUAL, text=text)


def _by_edit(asked: Asked, then: Then, fields: dict[str, Any]) -> Iterator[Sentence]:
    """The schedule before the last edit had this slot, or the one after the next edit has."""
    if then.edit is not None:
        older = before(fields, then.edit)
        if older is not None and (slot := slot_in(asked.routine, older, asked.at, asked.until)):
            text = said(
                "{edited}: the schedule before had the slot {slot}, the new one has not.",
                edited=_edited(asked, then.edit),
                slot=asked.words.at(slot),
            )
            yield Sentence(code=Because.EDITED, text=text, at=then.edit.at, changes=(then.edit.pk,))
            return
    present = {name: getattr(asked.routine, name) for name in fields if name != "rotation"} | {"rotation": None}
    if then.later_edit is not None and (slot := slot_in(asked.routine, present, asked.at, asked.until)):
        text = said(
            "{edited}: only since then the schedule has slots like {slot}.",
            edited=_edited(asked, then.later_edit),
            slot=asked.words.at(slot),
        )
        yield Sentence(code=Because.EDITED, text=text, at=then.later_edit.at, changes=(then.later_edit.pk,))


def _edited(asked: Asked, change: ScheduleChange) -> Said:
    at = asked.words.at(change.at)
    if change.actor:
        edited = said("Its schedule was edited at {at} by {actor}", at=at, actor=change.actor)
    else:
        edited = said("Its schedule was edited at {at}", at=at)
    return with_words(edited, change.reason)


def _by_clock(asked: Asked, fields: dict[str, Any]) -> Iterator[Sentence]:
    """Daylight saving: the same time of another day is a slot, and on this day the clock was changed."""
    zone = asked.words.zone
    if fields["trigger_kind"] != TriggerKind.CRON or not isinstance(zone, ZoneInfo):
        return
    for change in clock_changes(zone, asked.at - LONGEST_SHIFT, asked.at + LONGEST_SHIFT):
        shift = offset_at(change, zone) - offset_at(change - SECOND, zone)
        wall = (asked.at + offset_at(change - SECOND, zone)).replace(tzinfo=None)
        usual = (wall - DAY).replace(tzinfo=zone).astimezone(asked.at.tzinfo)
        if not slot_in(asked.routine, fields, usual, usual + (asked.until - asked.at)):
            wall = asked.at.astimezone(zone).replace(tzinfo=None)
            usual = (wall - DAY).replace(tzinfo=zone).astimezone(asked.at.tzinfo)
            if not slot_in(asked.routine, fields, usual, usual + (asked.until - asked.at)):
                continue
        yield _clock_changed(asked, change, shift, wall)
        return


def _clock_changed(asked: Asked, change: datetime, shift: timedelta, wall: datetime) -> Sentence:
    at, time = asked.words.at(change), wall.strftime("%H:%M")
    if shift > timedelta(0):
        text = said(
            "Daylight saving: the clock was put forward to {at}, and there was no {time} that day."
            " What falls into the gap fires once, at the first instant after it.",
            at=at,
            time=time,
        )
    else:
        text = said(
            "Daylight saving: the clock was put back at {at}, and {time} came twice."
            " A fixed time fires the first time only.",
            at=at,
            time=time,
        )
    return Sentence(code=Because.DAYLIGHT_SAVING, text=text, at=change)


def _plainly(asked: Asked, fields: dict[str, Any]) -> Sentence:
    at, begins, ends = asked.words.at(asked.at), _moment(fields["start_at"]), _moment(fields["end_at"])
    if begins is not None and asked.until <= begins:
        text = said("Its schedule had not begun at {at}: it starts at {begins}.", at=at, begins=asked.words.at(begins))
        return Sentence(code=Because.BEFORE_START, text=text, at=begins)
    if ends is not None and asked.at > ends:
        text = said("Its schedule was over at {at}: it ended at {ends}.", at=at, ends=asked.words.at(ends))
        return Sentence(code=Because.AFTER_END, text=text, at=ends)
    if fields["trigger_kind"] == TriggerKind.INTERVAL and fields["interval_ms"] != asked.routine.interval_ms:
        text = said("No row stands for {at}. It had another interval then, whose slots are not known any more.", at=at)
        return Sentence(code=Because.NOT_KNOWN, text=text)
    if fields["cron"]:
        text = said("{at} was no slot of its schedule ({cron}).", at=at, cron=fields["cron"])
    elif fields["trigger_kind"] == TriggerKind.ONCE:
        text = said("{at} was no slot of its schedule (one moment).", at=at)
    else:
        text = said("{at} was no slot of its schedule (its interval).", at=at)
    return Sentence(code=Because.NO_SLOT, text=text, at=asked.at)


def _coming(asked: Asked) -> Iterator[Sentence]:
    """What is planned, as things stand."""
    routine, state, at = asked.routine, asked.state, asked.words.at
    fields = as_it_was(routine, asked.changes, asked.now).fields
    slot = None if fields is None else slot_in(routine, fields, asked.at, asked.until)
    if routine.status != RoutineStatus.ACTIVE and not _ends_before(asked):
        status = RoutineStatus(routine.status)
        text = stop(with_words(WILL_NOT_FIRE[status], routine.pause_reason))
        yield Sentence(code=Because(status.lower()), text=text, at=asked.at)
    elif state is not None and state.next_slot is not None and asked.at <= state.next_slot < asked.until:
        yield Sentence(code=Because.COMING, text=coming(at(state.next_slot), state.slot_source), at=state.next_slot)
    elif slot is not None:
        text = said(
            "It is to come: {slot} is a slot of its schedule. Hints, failures and edits may still move it.",
            slot=at(slot),
        )
        yield Sentence(code=Because.COMING, text=text, at=slot)
    elif fields is not None:
        yield from _no_slot(asked, as_it_was(routine, asked.changes, asked.now), fields)


def _ends_before(asked: Asked) -> bool:
    until = asked.routine.paused_until
    return asked.routine.status == RoutineStatus.PAUSED and until is not None and until <= asked.at


def _moment(value: Any) -> datetime | None:
    return datetime.fromisoformat(value) if isinstance(value, str) else value
