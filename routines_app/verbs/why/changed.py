"""What somebody did to the routine, as a sentence."""

from __future__ import annotations

from routines_app.models import ChangeKind, ScheduleChange
from routines_app.verbs.why.asked import Asked
from routines_app.verbs.why.values import Because, Sentence
from routines_app.verbs.why.wording import by, quoted


def changed(asked: Asked, change: ScheduleChange) -> Sentence:
    fields = ", ".join(sorted(change.after)[:5]) if change.kind == ChangeKind.UPDATED else ""
    what = f"{change.get_kind_display().lower()}{f' ({fields})' if fields else ''}"
    text = f"The routine was {what} at {asked.words.at(change.at)}{by(change.actor)}{quoted(change.reason)}."
    code = {
        ChangeKind.PAUSED: Because.PAUSED,
        ChangeKind.PARKED: Because.PARKED,
        ChangeKind.ARCHIVED: Because.ARCHIVED,
    }.get(ChangeKind(change.kind), Because.EDITED)
    return Sentence(code=code, text=text, at=change.at, changes=(change.pk,))
