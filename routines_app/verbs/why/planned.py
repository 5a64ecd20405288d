"""Who wanted a run: the schedule, a person, a rotation; as the first sentence of its story."""

from __future__ import annotations

from collections.abc import Mapping

from routines_app.core.said import Moment, Said, filled, said, said_of
from routines_app.core.words import RunTrigger, Source
from routines_app.models import RoutineRun
from routines_app.verbs.why.asked import Asked
from routines_app.verbs.why.values import Because, Sentence

PLANNED_BY = {
    Source.BASELINE_CRON: said("The slot {slot} was planned by its cron."),
    Source.BASELINE_INTERVAL: said("The slot {slot} was planned by its interval."),
    Source.BASELINE_ONCE: said("The slot {slot} was planned as its one moment."),
    Source.HINT_INTERVAL: said("The slot {slot} was planned by a hinted interval."),
    Source.HINT_ONESHOT: said("The slot {slot} was planned by a hinted time."),
    Source.HINT_FACTOR: said("The slot {slot} was planned by a hinted factor."),
    Source.CLAMPED_MIN: said(
        "The slot {slot} was planned later than its schedule says, because of its minimum interval."
    ),
    Source.CLAMPED_MAX: said(
        "The slot {slot} was planned earlier than its schedule says, because of its maximum interval."
    ),
}
PLANNED = said("The slot {slot} was planned by its schedule.")
COMING_BY = {
    Source.BASELINE_CRON: said("It is to come: {slot} is the next slot, planned by its cron."),
    Source.BASELINE_INTERVAL: said("It is to come: {slot} is the next slot, planned by its interval."),
    Source.BASELINE_ONCE: said("It is to come: {slot} is its one moment."),
    Source.HINT_INTERVAL: said("It is to come: {slot} is the next slot, planned by a hinted interval."),
    Source.HINT_ONESHOT: said("It is to come: {slot} is the next slot, planned by a hinted time."),
    Source.HINT_FACTOR: said("It is to come: {slot} is the next slot, planned by a hinted factor."),
    Source.CLAMPED_MIN: said(
        "It is to come: {slot} is the next slot, later than its schedule says, because of its minimum interval."
    ),
    Source.CLAMPED_MAX: said(
        "It is to come: {slot} is the next slot, earlier than its schedule says, because of its maximum interval."
    ),
}
COMING = said("It is to come: {slot} is the next slot, planned by its schedule.")


def planned(asked: Asked, run: RoutineRun) -> Sentence:
    at = asked.words.at(run.scheduled_for)
    match run.trigger:
        case RunTrigger.MANUAL:
            return Sentence(code=Because.ASKED_FOR, text=_by_hand(at, run.requested_by), at=run.scheduled_for)
        case RunTrigger.BACKFILL:
            return Sentence(code=Because.ASKED_FOR, text=_by_backfill(at, run.requested_by), at=run.scheduled_for)
        case RunTrigger.ROTATION:
            text = said("A tick of its rotation picked it at {at}.", at=at)
            ticks = (run.tick,) if run.tick else ()
            return Sentence(code=Because.MEMBER, text=text, at=run.scheduled_for, runs=ticks)
    text = _by_schedule(asked, run)
    return Sentence(code=Because.PLANNED, text=text, at=run.scheduled_for, until=run.scheduled_until, runs=(run.pk,))


def _by_hand(at: Moment, who: str) -> Said:
    if who:
        return said("A run was asked for by {who} at {at}.", who=who, at=at)
    return said("A run was asked for at {at}.", at=at)


def _by_backfill(slot: Moment, who: str) -> Said:
    if who:
        return said("The slot {slot} was asked for again by {who}, by a backfill.", slot=slot, who=who)
    return said("The slot {slot} was asked for again, by a backfill.", slot=slot)


def _by_schedule(asked: Asked, run: RoutineRun) -> Said:
    slot = asked.words.at(run.scheduled_for)
    if run.occurrences > 1 and run.scheduled_until is not None:
        return said_of(
            run.occurrences,
            "The {count} slot from {since} to {until} has one row.",
            "The {count} slots from {since} to {until} have one row.",
            since=slot,
            until=asked.words.at(run.scheduled_until),
        )
    return filled(_by(run.source, PLANNED_BY, PLANNED), slot=slot)


def coming(slot: Moment, source: str) -> Said:
    """Of a slot that is the next, and what has planned it."""
    return filled(_by(source, COMING_BY, COMING), slot=slot)


def _by(source: str, sentences: Mapping[Source, Said], otherwise: Said) -> Said:
    return sentences.get(Source(source), otherwise) if source in set(Source) else otherwise
