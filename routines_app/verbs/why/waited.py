"""What held a run up, and for how long: its claim, what it waited for, the broker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from routines_app.coordination.broker import broker
from routines_app.core.said import Said, filled, said, said_of, together
from routines_app.core.waits import BROKER_AWAY, Wait
from routines_app.core.words import Reason, RunStatus, RunTrigger
from routines_app.models import Role, RoutineRun
from routines_app.verbs.reading import run_created_at
from routines_app.verbs.waits_for import BEHIND
from routines_app.verbs.why.asked import NOTICEABLE, Asked
from routines_app.verbs.why.changed import changed
from routines_app.verbs.why.reading import others_running
from routines_app.verbs.why.then import as_it_was
from routines_app.verbs.why.values import Because, Sentence
from routines_app.verbs.why.waits_said import WAITED, WAITED_PLAINLY, WAITS, WAITS_PLAINLY
from routines_app.verbs.why.wording import length, stop, with_words

TRIED_AGAIN = timedelta(seconds=60)
SLOTS = frozenset({RunTrigger.SCHEDULE, RunTrigger.CATCH_UP, RunTrigger.HINT})

BEATS_WERE_THERE = said(
    "As far as is known beats were there: whether they were busy, held up by the database or by a lock, is not known"
    " from the ledger; their logs say it."
)
BROKER_OR_BEATS = said(
    "As far as is known beats were there: whether they could not reach the broker, or it refused the message, is not"
    " known from the ledger; their logs say it."
)
WORKERS_WERE_THERE = said(
    "As far as is known workers for it were there: whether they were busy, or the message was lost and sent again, is"
    " not known from the ledger."
)


def what_held_up(asked: Asked, run: RoutineRun) -> Iterator[Sentence]:
    """From its slot to its start, as far as that took a noticeable time; in the order in which it happened."""
    was_to_go = run.status != RunStatus.SKIPPED or run.reason == Reason.EXPIRED
    if was_to_go and run.attempt == 1 and run.trigger in SLOTS:
        yield from _claimed_late(asked, run)
    waits = _with_ends(run, asked.now)
    for wait, until in waits:
        if until - wait.since >= NOTICEABLE or until >= asked.now:
            yield _waited(asked, run, wait, until)
    if was_to_go:
        yield from _sent_late(asked, run, waits[-1][1] if waits else None)
        yield from _in_the_broker(asked, run)


def _claimed_late(asked: Asked, run: RoutineRun) -> Iterator[Sentence]:
    written = run_created_at(run.pk)
    late = written - run.scheduled_for
    if late < NOTICEABLE:
        return
    text = said(
        "A beat came to this slot {length} after its time, at {at}.", length=length(late), at=asked.words.at(written)
    )
    yield Sentence(code=Because.LATE, text=text, at=run.scheduled_for, until=written, runs=(run.pk,))
    held = as_it_was(asked.routine, asked.changes, run.scheduled_for).held
    if held is not None:  # and has gone on since, with the slots of that time
        yield changed(asked, held)
        return
    absent = asked.absence(Role.BEAT, run.scheduled_for)
    if absent is not None or not was_held_at_its_time(run):  # else the wait says it
        yield absent or Sentence(code=Because.NOT_KNOWN, text=BEATS_WERE_THERE)


def was_held_at_its_time(run: RoutineRun) -> bool:
    """Whether beats came to its slot, and could not claim it for a while: somebody held its routine's row."""
    first = run.waited[0] if run.waited else None
    if first is None or first.reason != Reason.ROUTINE_HELD:
        return False
    return first.since < run_created_at(run.pk) and first.until - first.since >= NOTICEABLE


def _with_ends(run: RoutineRun, now: datetime) -> list[tuple[Wait, datetime]]:
    """Each wait and when it ended. The last one of a run that never started held until its end, or still does."""
    waits = [(wait, _known_until(run, wait, now)) for wait in run.waited]
    if waits and run.started_at is None and run.dispatched_at is None and run.admitted_at is None:
        last = waits[-1][0]
        still = run.reason == last.reason or (run.status != RunStatus.PENDING and not _ended_with_the_claim(run, last))
        waits[-1] = (last, (run.completed_at or now) if still else last.until)
    return waits


def _ended_with_the_claim(run: RoutineRun, wait: Wait) -> bool:
    """Whether it waited before it had a row: whatever held that up let it be written."""
    return wait.reason == Reason.ROUTINE_HELD and wait.until - run_created_at(run.pk) < NOTICEABLE


def _known_until(run: RoutineRun, wait: Wait, now: datetime) -> datetime:
    """Beats try a broker that is away again and again, for some runs at a time: one that was sent soon after such a try
    has waited for nothing else."""
    sent = run.dispatched_at or run.started_at or run.completed_at or now
    soon = wait.until <= sent <= wait.until + TRIED_AGAIN
    return sent if wait.reason == BROKER_AWAY and soon else wait.until


def _waited(asked: Asked, run: RoutineRun, wait: Wait, until: datetime) -> Sentence:
    others = others_running(run, wait.since, until)[:1] if wait.reason in BEHIND else []
    still = run.status == RunStatus.PENDING and until >= asked.now
    values = {
        "since": asked.words.at(wait.since),
        "until": asked.words.at(until),
        "length": length(until - wait.since),
        "pool": "?" if run.pool is None else run.pool.name,
        "reason": wait.reason,
        "other": together("", [" (", said("run {run}", run=others[0].pk), ")"]) if others else "",
    }
    known = WAITS.get(wait.reason, WAITS_PLAINLY) if still else WAITED.get(wait.reason, WAITED_PLAINLY)
    told = run.error if wait.reason == Reason.PUBLISH_FAILED and still else ""
    return Sentence(
        code=Because.WAITED,
        text=stop(with_words(filled(known, **values), told)),
        at=wait.since,
        until=None if still else until,
        runs=(run.pk, *(other.pk for other in others)),
    )


def _sent_late(asked: Asked, run: RoutineRun, waited_until: datetime | None) -> Iterator[Sentence]:
    """Nothing held it, and still it took long until it was in the broker: that is away, or the beat has died."""
    ready = max(run_created_at(run.pk), run.eligible_at, *([waited_until] if waited_until else []))
    sent = run.dispatched_at or run.started_at or run.completed_at or asked.now
    if run.waited and run.dispatched_at is None and run.started_at is None and run.admitted_at is None:
        return  # it waits, or ended waiting: that is said
    if sent - ready < NOTICEABLE:
        return
    text = said(
        "Nothing held it any more, and yet it was not in the broker from {since} to {until} ({length}).",
        since=asked.words.at(ready),
        until=asked.words.at(sent),
        length=length(sent - ready),
    )
    yield Sentence(code=Because.LATE, text=text, at=ready, until=sent, runs=(run.pk,))
    yield asked.absence(Role.BEAT, ready + NOTICEABLE) or Sentence(code=Because.NOT_KNOWN, text=BROKER_OR_BEATS)


def _in_the_broker(asked: Asked, run: RoutineRun) -> Iterator[Sentence]:
    if run.dispatched_at is None:
        return
    taken = run.started_at or run.completed_at or asked.now
    if taken - run.dispatched_at < NOTICEABLE:
        return
    queue = broker().queue_of(
        run.task, run.queue, None, json.dumps(asked.routine.options) if asked.routine.options else ""
    )
    waits = run.status == RunStatus.PENDING
    values = {
        "queue": queue,
        "since": asked.words.at(run.dispatched_at),
        "until": asked.words.at(taken),
        "length": length(taken - run.dispatched_at),
    }
    yield Sentence(
        code=Because.IN_THE_BROKER,
        text=(_is_there if waits else _was_there)(max(1, run.publish_count), values),
        at=run.dispatched_at,
        until=None if waits else taken,
        runs=(run.pk,),
    )
    absent = asked.absence(Role.WORKER, run.dispatched_at, queue)
    yield absent or Sentence(code=Because.NOT_KNOWN, text=WORKERS_WERE_THERE)


def _is_there(times_sent: int, values: dict[str, Any]) -> Said:
    if values["queue"]:
        return said_of(
            times_sent,
            "It has been in queue {queue!r} for a worker since {since}.",
            "It has been in queue {queue!r} for a worker since {since}, sent {count} times.",
            **values,
        )
    return said_of(
        times_sent,
        "It has been in the broker for a worker since {since}.",
        "It has been in the broker for a worker since {since}, sent {count} times.",
        **values,
    )


def _was_there(times_sent: int, values: dict[str, Any]) -> Said:
    if values["queue"]:
        return said_of(
            times_sent,
            "It was in queue {queue!r} for a worker from {since} to {until} ({length}).",
            "It was in queue {queue!r} for a worker from {since} to {until} ({length}), sent {count} times.",
            **values,
        )
    return said_of(
        times_sent,
        "It was in the broker for a worker from {since} to {until} ({length}).",
        "It was in the broker for a worker from {since} to {until} ({length}), sent {count} times.",
        **values,
    )
