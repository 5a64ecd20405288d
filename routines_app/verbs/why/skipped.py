"""Why a slot was skipped: the sentence of its reason. A row may stand for many slots."""

from __future__ import annotations

from collections.abc import Iterator

from routines_app.core.said import Said, said, said_of
from routines_app.core.words import HINTED, Reason, Source
from routines_app.models import ChangeKind, Role, RoutineRun
from routines_app.verbs.reading import run_created_at
from routines_app.verbs.why.asked import Asked
from routines_app.verbs.why.changed import change_behind, held_then
from routines_app.verbs.why.reading import run_named
from routines_app.verbs.why.values import Because, Sentence, about_run
from routines_app.verbs.why.waited import was_held_at_its_time

CLAMPED = frozenset({Source.CLAMPED_MIN, Source.CLAMPED_MAX})


def skipped(asked: Asked, run: RoutineRun) -> Iterator[Sentence]:
    match run.reason:
        case Reason.OVERLAP:
            yield _blocked(asked, run)
        case Reason.MISFIRE:
            yield from _misfired(asked, run)
        case Reason.PAUSED | Reason.PARKED:
            yield about_run(Because.SKIPPED, run, _held(run))
            yield from held_then(asked, run)
        case Reason.SHADOW:
            yield about_run(Because.SHADOW, run, _in_shadow(run))
        case Reason.SUPERSEDED:
            yield from _superseded(asked, run)
        case _:
            yield about_run(Because.SKIPPED, run, _plainly(run))


def _slots(run: RoutineRun) -> int:
    return max(1, run.occurrences)


def _blocked(asked: Asked, run: RoutineRun) -> Sentence:
    other, at = run_named(run.blocked_by), asked.words.at
    if other is None:
        return about_run(Because.BLOCKED, run, _blocked_by_another(run))
    if other.started_at is None or (run.completed_at is not None and other.started_at > run.completed_at):
        text = said(
            "It was skipped because run {run} of the same routine was active: that one waited to begin since {since}.",
            run=other.pk,
            since=at(run_created_at(other.pk)),
        )
    elif other.completed_at:
        text = said(
            "It was skipped because run {run} of the same routine was active: that one ran since {since} until"
            " {until}.",
            run=other.pk,
            since=at(other.started_at),
            until=at(other.completed_at),
        )
    else:
        text = said(
            "It was skipped because run {run} of the same routine was active: that one ran since {since}, and still"
            " runs.",
            run=other.pk,
            since=at(other.started_at),
        )
    return about_run(Because.BLOCKED, run, text, other)


def _blocked_by_another(run: RoutineRun) -> Said:
    if run.blocked_by:
        return said("It was skipped: another run of its routine was active, which is not kept any more.")
    return said("It was skipped: another run of its routine was active, which nobody wrote down.")


def _misfired(asked: Asked, run: RoutineRun) -> Iterator[Sentence]:
    came = run_created_at(run.pk)
    is_edited = any("catch_up_policy" in change.before for change in asked.changes if change.at > came)
    at = asked.words.at(came)
    if is_edited:
        text = said_of(
            _slots(run),
            "It was skipped as missed: no beat came before {at}, and by its catch-up policy of that time that is too"
            " late.",
            "They were skipped as missed: no beat came before {at}, and by its catch-up policy of that time that is"
            " too late.",
            at=at,
        )
    else:
        text = said_of(
            _slots(run),
            "It was skipped as missed: no beat came before {at}, and by its catch-up policy ({policy}) that is too"
            " late.",
            "They were skipped as missed: no beat came before {at}, and by its catch-up policy ({policy}) that is too"
            " late.",
            at=at,
            policy=asked.routine.catch_up_policy,
        )
    yield about_run(Because.SKIPPED, run, text)
    moment = max(run.scheduled_for, min(asked.at, run.scheduled_until or run.scheduled_for))
    known = asked.absence(Role.BEAT, moment)
    if known is None and was_held_at_its_time(run):
        return  # it waited for somebody's lock: that is said
    text = said("As far as is known beats were there: why none came to it in time is not known from the ledger.")
    yield known or Sentence(code=Because.NOT_KNOWN, text=text)


def _held(run: RoutineRun) -> Said:
    if run.reason == Reason.PAUSED:
        return said_of(
            _slots(run),
            "It was skipped: the routine was paused at that time.",
            "They were skipped: the routine was paused at that time.",
        )
    return said_of(
        _slots(run),
        "It was skipped: the routine was parked at that time.",
        "They were skipped: the routine was parked at that time.",
    )


def _in_shadow(run: RoutineRun) -> Said:
    return said_of(
        _slots(run),
        "It was recorded and not run: the routine was in shadow, and its old scheduler fired it.",
        "They were recorded and not run: the routine was in shadow, and its old scheduler fired it.",
    )


def _superseded(asked: Asked, run: RoutineRun) -> Iterator[Sentence]:
    if run.blocked_by is not None:
        text = said_of(
            _slots(run),
            "It was skipped: run {run}, of a newer slot, took its place while it waited.",
            "They were skipped: run {run}, of a newer slot, took its place while it waited.",
            run=run.blocked_by,
        )
        yield about_run(Because.REPLACED, run, text, run_named(run.blocked_by))
    elif run.source in HINTED or run.source in CLAMPED:
        yield about_run(Because.HINTED, run, _passed_over(run))
    else:
        text = said_of(
            _slots(run),
            "It was not run: another schedule or a newer slot stands for it.",
            "They were not run: another schedule or a newer slot stands for it.",
        )
        yield about_run(Because.SKIPPED, run, text)
        yield from change_behind(asked, run, ChangeKind.UPDATED, ChangeKind.REPLANNED, ChangeKind.ARCHIVED)


def _passed_over(run: RoutineRun) -> Said:
    if run.source in HINTED:
        return said_of(
            _slots(run),
            "It was passed over, because a hint moved the plan past it.",
            "They were passed over, because a hint moved the plan past it.",
        )
    return said_of(
        _slots(run),
        "It was passed over: the bounds of its interval moved the plan past it.",
        "They were passed over: the bounds of its interval moved the plan past it.",
    )


def _plainly(run: RoutineRun) -> Said:
    slots = _slots(run)
    match run.reason:
        case Reason.EXPIRED:
            return said_of(
                slots,
                "It was skipped as too old: it had not begun in the time that its routine gives it.",
                "They were skipped as too old: it had not begun in the time that its routine gives it.",
            )
        case Reason.IDLE:
            return said_of(
                slots, "It was a tick that found no member owed.", "They were a tick that found no member owed."
            )
        case Reason.FULL:
            return said_of(
                slots,
                "It was a tick that found as many members in flight as there may be.",
                "They were a tick that found as many members in flight as there may be.",
            )
        case Reason.NONE:
            return said_of(slots, "It was skipped (no reason is stored).", "They were skipped (no reason is stored).")
    return said_of(slots, "It was skipped ({reason}).", "They were skipped ({reason}).", reason=run.reason)
