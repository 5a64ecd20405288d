"""How an attempt stands or has ended: the sentence of its status and of the reason for it.

The first attempt is `It`; a later one has its number. Each is a sentence of its own, for languages differ in more than
the first word.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from routines_app.core.said import Said, filled, said, together
from routines_app.core.words import Reason, RunStatus
from routines_app.models import ChangeKind, RoutineRun
from routines_app.verbs.why.asked import Asked
from routines_app.verbs.why.changed import change_behind
from routines_app.verbs.why.reading import run_named
from routines_app.verbs.why.skipped import skipped
from routines_app.verbs.why.values import Because, Sentence, about_run
from routines_app.verbs.why.wording import length, stop, with_words


class Attempt(NamedTuple):
    """The same of the first attempt and of a later one."""

    first: Said
    later: Said

    def of(self, run: RoutineRun, **values: object) -> Said:
        return filled(self.later if run.attempt > 1 else self.first, attempt=run.attempt, **values)


SUCCEEDED = Attempt(
    said("It began at {at}, ran for {length} and succeeded."),
    said("Attempt {attempt} began at {at}, ran for {length} and succeeded."),
)
SUCCEEDED_ON = Attempt(
    said("It began at {at} on {worker}, ran for {length} and succeeded."),
    said("Attempt {attempt} began at {at} on {worker}, ran for {length} and succeeded."),
)
SUCCEEDED_UNBEGUN = Attempt(said("It never began and succeeded."), said("Attempt {attempt} never began and succeeded."))
FAILED = Attempt(
    said("It began at {at}, ran for {length} and failed: {why}."),
    said("Attempt {attempt} began at {at}, ran for {length} and failed: {why}."),
)
FAILED_ON = Attempt(
    said("It began at {at} on {worker}, ran for {length} and failed: {why}."),
    said("Attempt {attempt} began at {at} on {worker}, ran for {length} and failed: {why}."),
)
FAILED_UNBEGUN = Attempt(
    said("It never began and failed: {why}."), said("Attempt {attempt} never began and failed: {why}.")
)
FAILED_BY = {
    Reason.EXCEPTION: said("the task raised"),
    Reason.TIMEOUT: said("it ran longer than its time-out"),
    Reason.WORKER_LOST: said("the process that ran it died"),
    Reason.ORPHANED: said("nobody heard of its worker any more"),
    Reason.UNKNOWN_TASK: said("the worker did not know the task"),
    Reason.BAD_ARGUMENTS: said("its arguments did not fit the task"),
    Reason.REJECTED: said("the task rejected it"),
    Reason.ABANDONED: said("somebody said that its body was gone"),
}

RUNS = Attempt(said("It runs on {worker}."), said("Attempt {attempt} runs on {worker}."))
RUNS_SINCE = Attempt(said("It runs since {at} on {worker}."), said("Attempt {attempt} runs since {at} on {worker}."))
OVERDUE = Attempt(
    said("It runs on {worker}, should have stopped, and cannot be stopped."),
    said("Attempt {attempt} runs on {worker}, should have stopped, and cannot be stopped."),
)
OVERDUE_SINCE = Attempt(
    said("It runs since {at} on {worker}, should have stopped, and cannot be stopped."),
    said("Attempt {attempt} runs since {at} on {worker}, should have stopped, and cannot be stopped."),
)
UNBEGUN = Attempt(said("It has not begun."), said("Attempt {attempt} has not begun."))

STOPPED = Attempt(
    said("It was stopped after it had begun at {at}"), said("Attempt {attempt} was stopped after it had begun at {at}")
)
STOPPED_UNBEGUN = Attempt(said("It was stopped before it began"), said("Attempt {attempt} was stopped before it began"))
INTERRUPTED = Attempt(
    said("It was interrupted after it had begun at {at}"),
    said("Attempt {attempt} was interrupted after it had begun at {at}"),
)
INTERRUPTED_UNBEGUN = Attempt(
    said("It was interrupted before it began"), said("Attempt {attempt} was interrupted before it began")
)
CANCELLED = Attempt(
    said("It was cancelled after it had begun at {at}"),
    said("Attempt {attempt} was cancelled after it had begun at {at}"),
)
CANCELLED_UNBEGUN = Attempt(
    said("It was cancelled before it began"), said("Attempt {attempt} was cancelled before it began")
)


def ended(asked: Asked, run: RoutineRun) -> Iterator[Sentence]:
    match run.status:
        case RunStatus.SUCCESS if run.reason in (Reason.IDLE, Reason.FULL, Reason.PICKED):
            yield about_run(Because.SUCCEEDED, run, said("The tick was done ({reason}).", reason=run.reason))
        case RunStatus.SUCCESS:
            yield about_run(Because.SUCCEEDED, run, _ran(asked, run, SUCCEEDED, SUCCEEDED_ON, SUCCEEDED_UNBEGUN))
        case RunStatus.FAILED:
            text = _ran(asked, run, FAILED, FAILED_ON, FAILED_UNBEGUN, why=_failed_by(run))
            yield about_run(Because.FAILED, run, text)
        case RunStatus.RUNNING:
            yield about_run(Because.RUNNING, run, _runs(asked, run))
        case RunStatus.PENDING:
            yield about_run(Because.WAITING, run, _unbegun(asked, run))
        case RunStatus.CANCELLED:
            yield from _cancelled(asked, run)
        case RunStatus.SKIPPED:
            yield from skipped(asked, run)


def _ran(asked: Asked, run: RoutineRun, ran: Attempt, on: Attempt, unbegun: Attempt, **values: object) -> Said:
    if run.started_at is None or run.completed_at is None:
        return unbegun.of(run, **values)
    times = {"at": asked.words.at(run.started_at), "length": length(run.completed_at - run.started_at)}
    return (on if run.worker else ran).of(run, worker=run.worker, **times, **values)


def _failed_by(run: RoutineRun) -> Said:
    known = FAILED_BY.get(Reason(run.reason)) if run.reason in set(Reason) else None
    return with_words(known or together("", [run.reason]), _last_line(run.error))


def _last_line(error: str) -> str:
    lines = error.strip().splitlines()
    return lines[-1] if lines else ""


def _runs(asked: Asked, run: RoutineRun) -> Said:
    worker, overdue = run.worker or said("a worker"), run.reason == Reason.OVERDUE
    if run.started_at is None:
        return (OVERDUE if overdue else RUNS).of(run, worker=worker)
    return (OVERDUE_SINCE if overdue else RUNS_SINCE).of(run, worker=worker, at=asked.words.at(run.started_at))


def _unbegun(asked: Asked, run: RoutineRun) -> Said:
    text = UNBEGUN.of(run)
    if run.eligible_at <= asked.now:
        return text
    not_before = said("It is not to begin before {at}.", at=asked.words.at(run.eligible_at))
    return together(" ", [text, not_before])


def _cancelled(asked: Asked, run: RoutineRun) -> Iterator[Sentence]:
    match run.reason:
        case Reason.REPLACED:
            stopped = _began(asked, run, STOPPED, STOPPED_UNBEGUN)
            yield about_run(Because.REPLACED, run, _replaced(run, stopped), run_named(run.blocked_by))
        case Reason.INTERRUPTED:
            stopped = _began(asked, run, INTERRUPTED, INTERRUPTED_UNBEGUN)
            text = said("{it_was_stopped}: its worker was told to stop.", it_was_stopped=stopped)
            yield about_run(Because.CANCELLED, run, text)
        case Reason.ARCHIVED:
            stopped = _began(asked, run, CANCELLED, CANCELLED_UNBEGUN)
            text = said("{it_was_stopped}: its routine was archived.", it_was_stopped=stopped)
            yield about_run(Because.CANCELLED, run, text)
            yield from change_behind(asked, run, ChangeKind.ARCHIVED)
        case _:
            stopped = _began(asked, run, CANCELLED, CANCELLED_UNBEGUN)
            yield about_run(Because.CANCELLED, run, stop(with_words(stopped, _last_line(run.error))))


def _began(asked: Asked, run: RoutineRun, begun: Attempt, unbegun: Attempt) -> Said:
    return begun.of(run, at=asked.words.at(run.started_at)) if run.started_at else unbegun.of(run)


def _replaced(run: RoutineRun, stopped: Said) -> Said:
    if run.blocked_by is None:
        return said("{it_was_stopped}: a newer run of its routine took its place.", it_was_stopped=stopped)
    return said("{it_was_stopped}: run {run} took its place.", it_was_stopped=stopped, run=run.blocked_by)
