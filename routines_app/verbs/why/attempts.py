"""The story of a chain: who wanted it, then of each attempt what held it up and what became of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from routines_app.core.said import said
from routines_app.core.words import Reason
from routines_app.models import RoutineRun
from routines_app.verbs.reading import run_created_at
from routines_app.verbs.why.asked import Asked
from routines_app.verbs.why.ends import ended
from routines_app.verbs.why.planned import planned
from routines_app.verbs.why.values import Because, Sentence
from routines_app.verbs.why.waited import what_held_up


def told(asked: Asked, chain: Sequence[RoutineRun]) -> Iterator[Sentence]:
    """The whole story of a chain."""
    yield planned(asked, chain[0])
    for run, following in zip(chain, [*chain[1:], None], strict=True):
        run.routine = asked.routine
        yield from what_held_up(asked, run)
        yield from ended(asked, run)
        if following is not None:
            yield _retried(run, following)


def _retried(run: RoutineRun, following: RoutineRun) -> Sentence:
    number = following.attempt
    if run.reason == Reason.INTERRUPTED:
        text = said("Attempt {attempt} was made because its worker was told to stop.", attempt=number)
    else:
        text = said("Attempt {attempt} was made because that one failed.", attempt=number)
    return Sentence(code=Because.RETRIED, text=text, at=run_created_at(following.pk), runs=(run.pk, following.pk))
