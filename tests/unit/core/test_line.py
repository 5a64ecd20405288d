"""QUEUE: who waits behind whom, and which slots a newer one stands for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from routines_app.core.admission import ActiveRun, Candidate, Hold, Overtake, Publish, Skip, Supersede, admit
from routines_app.core.line import SLOTS, place_of
from routines_app.core.words import ConcurrencyPolicy, Reason, RunTrigger

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
BEFORE = NOW - timedelta(minutes=1)
LATER = NOW + timedelta(minutes=1)
WAIT = Hold(Reason.OVERLAP)
SLOT, MANUAL, RETRY, BACKFILL = RunTrigger.SCHEDULE, RunTrigger.MANUAL, RunTrigger.RETRY, RunTrigger.BACKFILL


def candidate(
    trigger: RunTrigger = SLOT,
    *,
    fresh: bool = True,
    slot: datetime = NOW,
    eligible_at: datetime = NOW,
    pooled: bool = False,
    held: Reason | None = None,
) -> Candidate:
    return Candidate(
        policy=ConcurrencyPolicy.QUEUE,
        fresh=fresh,
        place=place_of(trigger, slot, UUID(int=1)),
        eligible_at=eligible_at,
        pooled=pooled,
        held=held,
    )


def other(
    trigger: RunTrigger = SLOT,
    number: int = 0,
    *,
    slot: datetime = BEFORE,
    running: bool = False,
    sent: bool = False,
    queues: bool = False,
    waits: bool = False,
    held: bool = False,
) -> ActiveRun:
    place = place_of(trigger, slot, UUID(int=number))
    return ActiveRun(
        id=UUID(int=number),
        place=place,
        running=running,
        sent=sent or queues,
        queues=queues,
        waits=waits,
        held=held,
    )


@pytest.mark.parametrize(
    "ahead",
    [
        other(running=True),
        other(sent=True),
        other(),
        other(RETRY, slot=LATER),
        other(MANUAL, slot=LATER),
        other(BACKFILL),
    ],
)
def test_a_new_slot_waits_while_its_routine_is_active(ahead: ActiveRun) -> None:
    """Running, queued, held, waiting to retry, asked for by hand: nothing of that is passed, or skipped."""
    assert admit(candidate(), [ahead], NOW) == WAIT
    assert admit(candidate(fresh=False), [ahead], NOW) == WAIT


@pytest.mark.parametrize("trigger", sorted(SLOTS))
def test_a_new_slot_stands_for_the_older_one_that_waits(trigger: RunTrigger) -> None:
    """At most one slot waits: the newest."""
    waiting = other(trigger, 7, waits=True)
    assert admit(candidate(), [other(running=True), waiting], NOW) == Supersede((waiting.id,), WAIT)


def test_a_new_slot_goes_at_once_when_only_the_one_that_it_stands_for_was_there() -> None:
    """The run before has ended and nobody has looked at the waiting slot yet: the newer one is worth more."""
    waiting = other(number=7, waits=True)
    assert admit(candidate(), [waiting], NOW) == Supersede((waiting.id,), Publish())
    assert admit(candidate(pooled=True), [waiting], NOW) == Supersede((waiting.id,), Hold(Reason.CEILING))
    assert admit(candidate(eligible_at=LATER), [waiting], NOW) == Supersede((waiting.id,), Hold(Reason.NOT_YET))


@pytest.mark.parametrize("trigger", [MANUAL, BACKFILL, RETRY])
def test_nobody_stands_for_what_was_asked_for(trigger: RunTrigger) -> None:
    """A person's request, a backfill and a chain that has begun are done, however long they wait."""
    assert admit(candidate(), [other(trigger, waits=True)], NOW) == WAIT
    assert admit(candidate(trigger, fresh=False), [other(running=True), other(slot=LATER, waits=True)], NOW) == WAIT


def test_a_manual_request_waits_and_stands_for_nobody() -> None:
    """It may carry other arguments than the slot that waits; it goes before that one."""
    slot = other(number=7, waits=True)
    assert admit(candidate(MANUAL), [other(running=True), slot], NOW) == WAIT
    assert admit(candidate(MANUAL), [slot], NOW) == Publish()
    assert admit(candidate(MANUAL), [other(MANUAL, 7, waits=True)], NOW) == WAIT


def test_a_manual_request_overtakes_what_only_queues_for_room() -> None:
    """Nothing of it has begun; later, when the request waits already, who was let into the queue stays before it."""
    slot = other(number=7, queues=True)
    goes = Overtake(back=(slot.id,), then=Hold(Reason.CEILING))
    assert admit(candidate(MANUAL, pooled=True), [slot], NOW) == goes
    assert admit(candidate(MANUAL, pooled=True), [slot, other(running=True)], NOW) == WAIT
    assert admit(candidate(MANUAL, pooled=True), [other(RETRY, queues=True)], NOW) == WAIT
    assert admit(candidate(MANUAL, pooled=True), [other(MANUAL, queues=True)], NOW) == WAIT
    assert admit(candidate(MANUAL, pooled=True, fresh=False), [slot], NOW) == WAIT
    assert admit(candidate(pooled=True), [slot], NOW) == WAIT


def test_a_request_overtakes_one_slot_and_not_several() -> None:
    """Under another policy they may have been let into the queue together; no slot is skipped for a request."""
    old, new = other(number=7, queues=True), other(number=8, slot=NOW, queues=True)
    filled = other(BACKFILL, 9, queues=True)
    assert admit(candidate(MANUAL), [old, new], NOW) == WAIT
    assert admit(candidate(MANUAL), [old, filled], NOW) == WAIT
    assert admit(candidate(MANUAL), [old, other(number=5, slot=NOW, waits=True)], NOW) == WAIT
    assert admit(candidate(MANUAL), [filled], NOW) == Overtake(back=(filled.id,), then=Publish())


def test_the_line_goes_retry_then_manual_then_by_time() -> None:
    """The chain that has begun ends first, then comes what a person asked for, then the older slot."""
    line = [(RETRY, LATER), (MANUAL, NOW), (MANUAL, LATER), (BACKFILL, BEFORE), (SLOT, NOW), (BACKFILL, LATER)]
    places = [place_of(trigger, slot, UUID(int=9 - number)) for number, (trigger, slot) in enumerate(line)]
    assert sorted(places) == places


@pytest.mark.parametrize("trigger", [RETRY, MANUAL])
def test_the_first_in_line_goes(trigger: RunTrigger) -> None:
    """Who is behind it does not hold it up."""
    behind = [other(number=7, waits=True), other(BACKFILL, 8)]
    assert admit(candidate(trigger, fresh=False), behind, NOW) == Publish()
    assert admit(candidate(trigger, fresh=False, pooled=True), behind, NOW) == Hold(Reason.CEILING)


def test_of_several_waiting_slots_the_newest_is_left() -> None:
    """A pause, a hand-back or an edit of the policy can leave several; a slot that was sent is none of them."""
    assert admit(candidate(fresh=False), [other(running=True), other(slot=LATER)], NOW) == Skip(Reason.SUPERSEDED)
    assert admit(candidate(fresh=False), [other(slot=LATER, sent=True)], NOW) == WAIT
    assert admit(candidate(fresh=False), [other(slot=LATER, running=True)], NOW) == WAIT
    assert admit(candidate(fresh=False), [other(slot=LATER, waits=True)], NOW) == Publish()


def test_a_slot_waits_for_others_before_its_own_time() -> None:
    """Seen as waiting, a newer slot can stand for it; with the line free it waits for its time."""
    later = candidate(fresh=False, eligible_at=LATER)
    assert admit(later, [other(running=True)], NOW) == WAIT
    assert admit(later, [other(slot=LATER)], NOW) == Hold(Reason.NOT_YET)


def test_a_pause_holds_before_the_line_does() -> None:
    """Nothing of a paused routine goes or is skipped."""
    paused = candidate(fresh=False, held=Reason.PAUSED)
    assert admit(paused, [other(running=True), other(slot=LATER)], NOW) == Hold(Reason.PAUSED)


def test_what_a_pause_holds_is_not_waited_for_by_hand() -> None:
    """Who presses the button on a paused routine means it, whatever the pause holds back."""
    assert admit(candidate(MANUAL), [other(RETRY, held=True)], NOW) == Publish()
    assert admit(candidate(MANUAL), [other(RETRY, held=True), other(running=True)], NOW) == WAIT
