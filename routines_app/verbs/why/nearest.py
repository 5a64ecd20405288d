"""The slots with a row that are nearest to a moment which has none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from routines_app.core.said import Said, said
from routines_app.models import RoutineRun
from routines_app.verbs.why.asked import Asked
from routines_app.verbs.why.values import Because, Sentence


def nearest(asked: Asked, near: Sequence[RoutineRun]) -> Iterator[Sentence]:
    """The last one before and the first one after, where there are some."""
    slots = [run for run in near if run.attempt == 1 and run.idempotency_key.startswith("s:")]
    earlier = max((run for run in slots if _last(run) < asked.at), key=_last, default=None)
    later = min((run for run in slots if run.scheduled_for >= asked.until), key=_first, default=None)
    text = _neighbours(asked, earlier, later)
    if text is not None:
        runs = tuple(run.pk for run in (earlier, later) if run is not None)
        yield Sentence(code=Because.NEAREST, text=text, runs=runs)


def _neighbours(asked: Asked, earlier: RoutineRun | None, later: RoutineRun | None) -> Said | None:
    before = {} if earlier is None else {"earlier": asked.words.at(_last(earlier)), "became": earlier.status}
    after = {} if later is None else {"later": asked.words.at(later.scheduled_for), "became_later": later.status}
    if before and after:
        return said(
            "The last slot before was {earlier} ({became}); the first one after was {later} ({became_later}).",
            **before,
            **after,
        )
    if before:
        return said("The last slot before was {earlier} ({became}).", **before)
    return said("The first one after was {later} ({became_later}).", **after) if after else None


def _first(run: RoutineRun) -> datetime:
    return run.scheduled_for


def _last(run: RoutineRun) -> datetime:
    return run.scheduled_until or run.scheduled_for
