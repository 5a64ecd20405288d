"""Why a routine ran, or did not, at a moment."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from routines_app.core.typed_moment import read_moment
from routines_app.core.words import Reason, RunStatus, TriggerKind
from routines_app.models import Routine, RoutineRun
from routines_app.protocol.ledger import clock
from routines_app.verbs.checking.lookup import RoutineRef, find_routine
from routines_app.verbs.checking.rules import moment
from routines_app.verbs.why import no_slot
from routines_app.verbs.why.asked import Asked
from routines_app.verbs.why.attempts import told
from routines_app.verbs.why.reading import chain_of, row_of_slot, rows_near
from routines_app.verbs.why.then import as_it_was, slot_in
from routines_app.verbs.why.values import Sentence, Why
from routines_app.verbs.why.wording import Wording

BY_HAND = 3  # runs that somebody asked for at that moment, and that are told


def why(routine: RoutineRef, at: datetime | str) -> Why:
    """Why the routine ran, or did not, at this moment: in sentences, from ledger, history, nodes' lifetimes and waits.

    A moment on the full minute means that minute, any other one that second. What nothing kept can tell is said to be
    not known. Text is a moment as ISO 8601 with an offset.
    """
    return why_of(find_routine(routine), at)


def why_of(routine: Routine, at: datetime | str) -> Why:
    """The same of a routine as the caller has just read it, with its state."""
    return _answer(Asked(routine=routine, at=moment("at", at), now=clock.now()))


def typed_at(routine: RoutineRef, text: str) -> datetime:
    """A moment as a person types it, in the routine's timezone: `03:00`, `yesterday 03:00`, `2 h ago`, ISO 8601."""
    found = routine if isinstance(routine, Routine) else find_routine(routine)
    return read_moment("at", text, now=clock.now(), zone=Wording(found.timezone).zone)


def _answer(asked: Asked) -> Why:
    near = rows_near(asked.routine, asked.at)
    row = row_of_slot(asked.routine, asked.at, near) or _standing_for(asked, near)
    chain = [] if row is None else chain_of(row)
    sentences: list[Sentence] = list(told(asked, chain)) if chain else list(no_slot.explained(asked, near))
    for run in _by_hand(asked, near):
        sentences += told(asked, chain_of(run))
    return Why(
        routine_id=asked.routine.pk,
        name=asked.routine.name,
        at=asked.at,
        timezone=asked.routine.timezone,
        slot=None if row is None else max(row.scheduled_for, min(asked.at, row.scheduled_until or row.scheduled_for)),
        run_id=chain[-1].pk if chain else None,
        sentences=tuple(sentences),
    )


def _standing_for(asked: Asked, near: Sequence[RoutineRun]) -> RoutineRun | None:
    """The row of a slot within what the moment means; else the one that stands for many slots around it."""
    slots = [run for run in near if run.attempt == 1 and run.idempotency_key.startswith("s:")]
    own = [run for run in slots if asked.at <= run.scheduled_for < asked.until]
    if own:
        return min(own, key=lambda run: (run.scheduled_for, _passed_over(run)))
    if not _can_be_a_slot(asked):
        return None
    spans = (run for run in slots if run.scheduled_until and run.scheduled_for <= asked.at <= run.scheduled_until)
    return next(spans, None)


def _can_be_a_slot(asked: Asked) -> bool:
    """Not every moment between the first and the last of many slots is one; only a cron says which are."""
    fields = as_it_was(asked.routine, asked.changes, asked.at).fields
    if fields is None or fields["trigger_kind"] != TriggerKind.CRON:
        return True
    return slot_in(asked.routine, fields, asked.at, asked.until) is not None


def _passed_over(run: RoutineRun) -> bool:
    return run.status == RunStatus.SKIPPED and run.reason == Reason.SUPERSEDED


def _by_hand(asked: Asked, near: Sequence[RoutineRun]) -> list[RoutineRun]:
    asked_for = [run for run in near if run.attempt == 1 and not run.idempotency_key.startswith("s:")]
    return [run for run in asked_for if asked.at <= run.scheduled_for < asked.until][:BY_HAND]
