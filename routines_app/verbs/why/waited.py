"""What held a run up, and for how long: its claim, what it waited for, the broker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta

from routines_app.coordination.broker import broker
from routines_app.core.waits import BROKER_AWAY, OTHERS, Wait
from routines_app.core.words import Reason, RunStatus, RunTrigger
from routines_app.models import Role, RoutineRun
from routines_app.verbs.reading import run_created_at
from routines_app.verbs.waits_for import BEHIND
from routines_app.verbs.why.asked import NOTICEABLE, Asked
from routines_app.verbs.why.changed import changed
from routines_app.verbs.why.reading import others_running
from routines_app.verbs.why.then import as_it_was
from routines_app.verbs.why.values import Because, Sentence
from routines_app.verbs.why.wording import length, quoted

TRIED_AGAIN = timedelta(seconds=60)
SLOTS = frozenset({RunTrigger.SCHEDULE, RunTrigger.CATCH_UP, RunTrigger.HINT})

BEATS_WERE_THERE = (
    "As far as is known beats were there: whether they were busy, held up by the database or by a lock, is not known"
    " from the ledger; their logs say it."
)
BROKER_OR_BEATS = (
    "As far as is known beats were there: whether they could not reach the broker, or it refused the message, is not"
    " known from the ledger; their logs say it."
)
WORKERS_WERE_THERE = (
    "As far as is known workers for it were there: whether they were busy, or the message was lost and sent again, is"
    " not known from the ledger."
)

FOR: dict[str, str] = {
    Reason.CEILING: "for room in pool {pool}",
    Reason.OVERLAP: "behind another run of its routine",
    Reason.REPLACING: "for the run that it replaces to stop",
    Reason.OVERDUE: "for a run whose body could not be stopped",
    Reason.LEASE_HELD: "because a worker found the routine's lease held by another run",
    Reason.KEY_TAKEN: "because a worker found another run of its routine running",
    Reason.ROUTINE_HELD: "because somebody held the routine's row, or its pool's, in the database",
    Reason.REDIS_AWAY: "because workers could not reach Redis, where its lease is",
    Reason.PUBLISH_FAILED: "because it could not be sent",
    BROKER_AWAY: "because beats could not reach the broker, or it took nothing,",
    Reason.PAUSED: "because its routine was paused",
    Reason.PARKED: "because its routine was parked",
}


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
    text = f"A beat came to this slot {length(late)} after its time, at {asked.words.at(written)}."
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
        still = run.reason == last.reason or run.status != RunStatus.PENDING
        waits[-1] = (last, (run.completed_at or now) if still else last.until)
    return waits


def _known_until(run: RoutineRun, wait: Wait, now: datetime) -> datetime:
    """Beats try a broker that is away again and again, for some runs at a time: one that was sent soon after such a try
    has waited for nothing else."""
    sent = run.dispatched_at or run.started_at or run.completed_at or now
    soon = wait.until <= sent <= wait.until + TRIED_AGAIN
    return sent if wait.reason == BROKER_AWAY and soon else wait.until


def _waited(asked: Asked, run: RoutineRun, wait: Wait, until: datetime) -> Sentence:
    others = others_running(run, wait.since, until)[:1] if wait.reason in BEHIND else []
    who = f" (run {others[0].pk})" if others else ""
    still = run.status == RunStatus.PENDING and until >= asked.now
    verb = "It has waited" if still else "It waited"
    span = f"since {asked.words.at(wait.since)}" if still else asked.words.span(wait.since, until)
    said = quoted(run.error) if wait.reason == Reason.PUBLISH_FAILED and still else ""
    return Sentence(
        code=Because.WAITED,
        text=f"{verb} {_for(run, wait)}{who} {span}{said}.",
        at=wait.since,
        until=None if still else until,
        runs=(run.pk, *(other.pk for other in others)),
    )


def _for(run: RoutineRun, wait: Wait) -> str:
    if wait.reason == OTHERS:
        return "for several things, one after another,"
    pool = "?" if run.pool is None else run.pool.name
    return FOR.get(wait.reason, "({reason})").format(pool=pool, reason=wait.reason)


def _sent_late(asked: Asked, run: RoutineRun, waited_until: datetime | None) -> Iterator[Sentence]:
    """Nothing held it, and still it took long until it was in the broker: that is away, or the beat has died."""
    ready = max(run_created_at(run.pk), run.eligible_at, *([waited_until] if waited_until else []))
    sent = run.dispatched_at or run.started_at or run.completed_at or asked.now
    if run.waited and run.dispatched_at is None and run.started_at is None and run.admitted_at is None:
        return  # it waits, or ended waiting: that is said
    if sent - ready < NOTICEABLE:
        return
    text = f"Nothing held it any more, and yet it was not in the broker {asked.words.span(ready, sent)}."
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
    where = f"queue {queue!r}" if queue else "the broker"
    waits = run.status == RunStatus.PENDING
    span = f"since {asked.words.at(run.dispatched_at)}" if waits else asked.words.span(run.dispatched_at, taken)
    often = f", sent {run.publish_count} times" if run.publish_count > 1 else ""
    yield Sentence(
        code=Because.IN_THE_BROKER,
        text=f"It {'has been' if waits else 'was'} in {where} for a worker {span}{often}.",
        at=run.dispatched_at,
        until=None if waits else taken,
        runs=(run.pk,),
    )
    absent = asked.absence(Role.WORKER, run.dispatched_at, queue)
    yield absent or Sentence(code=Because.NOT_KNOWN, text=WORKERS_WERE_THERE)
