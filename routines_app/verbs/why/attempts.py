"""What became of each attempt at a slot, and what made it so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from routines_app.core.words import HINTED, Reason, RunStatus, RunTrigger, Source
from routines_app.models import ChangeKind, Role, RoutineRun
from routines_app.verbs.reading import run_created_at
from routines_app.verbs.why.asked import Asked
from routines_app.verbs.why.changed import changed
from routines_app.verbs.why.reading import run_named
from routines_app.verbs.why.then import STATUS_OF
from routines_app.verbs.why.values import Because, Sentence
from routines_app.verbs.why.waited import was_held_at_its_time, what_held_up
from routines_app.verbs.why.wording import length, quoted

TOGETHER = timedelta(seconds=1)  # a change, and the rows that it leaves
CLAMPED = frozenset({Source.CLAMPED_MIN, Source.CLAMPED_MAX})

PLANNED_BY = {
    Source.BASELINE_CRON: "by its cron",
    Source.BASELINE_INTERVAL: "by its interval",
    Source.BASELINE_ONCE: "as its one moment",
    Source.HINT_INTERVAL: "by a hinted interval",
    Source.HINT_ONESHOT: "by a hinted time",
    Source.HINT_FACTOR: "by a hinted factor",
    Source.CLAMPED_MIN: "later than its schedule says, because of its minimum interval",
    Source.CLAMPED_MAX: "earlier than its schedule says, because of its maximum interval",
}

FAILED_BY = {
    Reason.EXCEPTION: "the task raised",
    Reason.TIMEOUT: "it ran longer than its time-out",
    Reason.WORKER_LOST: "the process that ran it died",
    Reason.ORPHANED: "nobody heard of its worker any more",
    Reason.UNKNOWN_TASK: "the worker did not know the task",
    Reason.BAD_ARGUMENTS: "its arguments did not fit the task",
    Reason.REJECTED: "the task rejected it",
    Reason.ABANDONED: "somebody said that its body was gone",
}


def told(asked: Asked, chain: Sequence[RoutineRun]) -> Iterator[Sentence]:
    """The whole story of a chain."""
    yield _planned(asked, chain[0])
    for run, following in zip(chain, [*chain[1:], None], strict=True):
        run.routine = asked.routine
        yield from what_held_up(asked, run)
        yield from _ended(asked, run)
        if following is not None:
            yield _retried(run, following)


def _planned(asked: Asked, run: RoutineRun) -> Sentence:
    at, who = asked.words.at(run.scheduled_for), f" by {run.requested_by}" if run.requested_by else ""
    match run.trigger:
        case RunTrigger.MANUAL:
            return Sentence(code=Because.ASKED_FOR, text=f"A run was asked for{who} at {at}.", at=run.scheduled_for)
        case RunTrigger.BACKFILL:
            text = f"The slot {at} was asked for again{who}, by a backfill."
            return Sentence(code=Because.ASKED_FOR, text=text, at=run.scheduled_for)
        case RunTrigger.ROTATION:
            text = f"A tick of its rotation picked it at {at}."
            ticks = (run.tick,) if run.tick else ()
            return Sentence(code=Because.MEMBER, text=text, at=run.scheduled_for, runs=ticks)
    how = PLANNED_BY.get(Source(run.source), "") if run.source in set(Source) else ""
    if run.occurrences > 1 and run.scheduled_until is not None:
        text = f"The {run.occurrences} slots from {at} to {asked.words.at(run.scheduled_until)} have one row."
    else:
        text = f"The slot {at} was planned {how or 'by its schedule'}."
    return Sentence(code=Because.PLANNED, text=text, at=run.scheduled_for, until=run.scheduled_until, runs=(run.pk,))


def _ended(asked: Asked, run: RoutineRun) -> Iterator[Sentence]:
    which = f"Attempt {run.attempt}" if run.attempt > 1 else "It"
    at = asked.words.at
    match run.status:
        case RunStatus.SUCCESS if run.reason in (Reason.IDLE, Reason.FULL, Reason.PICKED):
            yield _say(Because.SUCCEEDED, run, f"The tick was done ({run.reason}).")
        case RunStatus.SUCCESS:
            yield _say(Because.SUCCEEDED, run, f"{which} {_ran(asked, run)} and succeeded.")
        case RunStatus.FAILED:
            why = FAILED_BY.get(Reason(run.reason), run.reason) if run.reason in set(Reason) else run.reason
            yield _say(Because.FAILED, run, f"{which} {_ran(asked, run)} and failed: {why}{_error(run)}.")
        case RunStatus.RUNNING:
            since = "" if run.started_at is None else f" since {at(run.started_at)}"
            overdue = ", should have stopped, and cannot be stopped" if run.reason == Reason.OVERDUE else ""
            yield _say(Because.RUNNING, run, f"{which} runs{since} on {run.worker or 'a worker'}{overdue}.")
        case RunStatus.PENDING:
            yield _say(Because.WAITING, run, f"{which} has not begun.{_not_before(asked, run)}")
        case RunStatus.CANCELLED:
            yield from _cancelled(asked, run, which)
        case RunStatus.SKIPPED:
            yield from _skipped(asked, run)


def _say(code: Because, run: RoutineRun, text: str, *more: RoutineRun | None) -> Sentence:
    runs = (run.pk, *(other.pk for other in more if other is not None))
    return Sentence(code=code, text=text, at=run.started_at, until=run.completed_at, runs=runs)


def _ran(asked: Asked, run: RoutineRun) -> str:
    if run.started_at is None or run.completed_at is None:
        return "never began"
    on = f" on {run.worker}" if run.worker else ""
    return f"began at {asked.words.at(run.started_at)}{on}, ran for {length(run.completed_at - run.started_at)}"


def _not_before(asked: Asked, run: RoutineRun) -> str:
    return f" It is not to begin before {asked.words.at(run.eligible_at)}." if run.eligible_at > asked.now else ""


def _error(run: RoutineRun) -> str:
    lines = run.error.strip().splitlines()
    return quoted(lines[-1] if lines else "")


def _retried(run: RoutineRun, following: RoutineRun) -> Sentence:
    why = "its worker was told to stop" if run.reason == Reason.INTERRUPTED else "that one failed"
    text = f"Attempt {following.attempt} was made because {why}."
    return Sentence(code=Because.RETRIED, text=text, at=run_created_at(following.pk), runs=(run.pk, following.pk))


def _cancelled(asked: Asked, run: RoutineRun, which: str) -> Iterator[Sentence]:
    began = f" after it had begun at {asked.words.at(run.started_at)}" if run.started_at else " before it began"
    other = run_named(run.blocked_by)
    match run.reason:
        case Reason.REPLACED:
            who = "a newer run of its routine" if run.blocked_by is None else f"run {run.blocked_by}"
            yield _say(Because.REPLACED, run, f"{which} was stopped{began}: {who} took its place.", other)
        case Reason.INTERRUPTED:
            yield _say(Because.CANCELLED, run, f"{which} was interrupted{began}: its worker was told to stop.")
        case Reason.ARCHIVED:
            yield _say(Because.CANCELLED, run, f"{which} was cancelled{began}: its routine was archived.")
            yield from _change(asked, run, ChangeKind.ARCHIVED)
        case _:
            yield _say(Because.CANCELLED, run, f"{which} was cancelled{began}{_error(run)}.")


def _skipped(asked: Asked, run: RoutineRun) -> Iterator[Sentence]:
    slots = "They were" if run.occurrences > 1 else "It was"
    match run.reason:
        case Reason.OVERLAP:
            yield _blocked(asked, run)
        case Reason.MISFIRE:
            yield from _misfired(asked, run, slots)
        case Reason.PAUSED | Reason.PARKED:
            yield _say(Because.SKIPPED, run, f"{slots} skipped: the routine was {run.reason} at that time.")
            yield from held_then(asked, run)
        case Reason.EXPIRED:
            text = f"{slots} skipped as too old: it had not begun in the time that its routine gives it."
            yield _say(Because.SKIPPED, run, text)
        case Reason.SUPERSEDED:
            yield from _superseded(asked, run, slots)
        case Reason.SHADOW:
            text = f"{slots} recorded and not run: the routine was in shadow, and its old scheduler fired it."
            yield _say(Because.SHADOW, run, text)
        case Reason.IDLE:
            yield _say(Because.SKIPPED, run, f"{slots} a tick that found no member owed.")
        case Reason.FULL:
            yield _say(Because.SKIPPED, run, f"{slots} a tick that found as many members in flight as there may be.")
        case _:
            yield _say(Because.SKIPPED, run, f"{slots} skipped ({run.reason or 'no reason is stored'}).")


def _blocked(asked: Asked, run: RoutineRun) -> Sentence:
    other, at = run_named(run.blocked_by), asked.words.at
    if other is None:
        gone = "which is not kept any more" if run.blocked_by else "which nobody wrote down"
        return _say(Because.BLOCKED, run, f"It was skipped: another run of its routine was active, {gone}.")
    if other.started_at is None or (run.completed_at is not None and other.started_at > run.completed_at):
        state = f"waited to begin since {at(run_created_at(other.pk))}"
    else:
        until = f" until {at(other.completed_at)}" if other.completed_at else ", and still runs"
        state = f"ran since {at(other.started_at)}{until}"
    text = f"It was skipped because run {other.pk} of the same routine was active: that one {state}."
    return _say(Because.BLOCKED, run, text, other)


def _misfired(asked: Asked, run: RoutineRun, slots: str) -> Iterator[Sentence]:
    came = run_created_at(run.pk)
    is_edited = any("catch_up_policy" in change.before for change in asked.changes if change.at > came)
    policy = "of that time" if is_edited else f"({asked.routine.catch_up_policy})"
    missed = f"{slots} skipped as missed: no beat came before {asked.words.at(came)}"
    text = f"{missed}, and by its catch-up policy {policy} that is too late."
    yield _say(Because.SKIPPED, run, text)
    moment = max(run.scheduled_for, min(asked.at, run.scheduled_until or run.scheduled_for))
    known = asked.absence(Role.BEAT, moment)
    if known is None and was_held_at_its_time(run):
        return  # it waited for somebody's lock: that is said
    text = "As far as is known beats were there: why none came to it in time is not known from the ledger."
    yield known or Sentence(code=Because.NOT_KNOWN, text=text)


def _superseded(asked: Asked, run: RoutineRun, slots: str) -> Iterator[Sentence]:
    if run.blocked_by is not None:
        text = f"{slots} skipped: run {run.blocked_by}, of a newer slot, took its place while it waited."
        yield _say(Because.REPLACED, run, text, run_named(run.blocked_by))
    elif run.source in HINTED:
        yield _say(Because.HINTED, run, f"{slots} passed over, because a hint moved the plan past it.")
    elif run.source in CLAMPED:
        yield _say(Because.HINTED, run, f"{slots} passed over: the bounds of its interval moved the plan past it.")
    else:
        yield _say(Because.SKIPPED, run, f"{slots} not run: another schedule or a newer slot stands for it.")
        yield from _change(asked, run, ChangeKind.UPDATED, ChangeKind.REPLANNED, ChangeKind.ARCHIVED)


def _change(asked: Asked, run: RoutineRun, *kinds: ChangeKind) -> Iterator[Sentence]:
    """The change that left this row: both are of the same moment."""
    for change in asked.changes:
        if change.kind in kinds and run.completed_at and abs(change.at - run.completed_at) <= TOGETHER:
            yield changed(asked, change)
            return


def held_then(asked: Asked, run: RoutineRun) -> Iterator[Sentence]:
    """Who had paused or parked the routine when that slot came."""
    slot = run.scheduled_until or run.scheduled_for
    last = next((change for change in asked.changes if change.at <= slot and change.kind in STATUS_OF), None)
    if last is not None and last.kind in (ChangeKind.PAUSED, ChangeKind.PARKED):
        yield changed(asked, last)
