"""What somebody did to the routine, as a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from routines_app.core.said import Said, filled, said
from routines_app.models import ChangeKind, RoutineRun, ScheduleChange
from routines_app.verbs.why.asked import Asked
from routines_app.verbs.why.then import STATUS_OF
from routines_app.verbs.why.values import Because, Sentence
from routines_app.verbs.why.wording import stop, with_words

TOGETHER = timedelta(seconds=1)  # a change, and the rows that it leaves

CODES = {
    ChangeKind.PAUSED: Because.PAUSED,
    ChangeKind.PARKED: Because.PARKED,
    ChangeKind.ARCHIVED: Because.ARCHIVED,
}

DONE = {
    ChangeKind.PAUSED: said("The routine was paused at {at}"),
    ChangeKind.PARKED: said("The routine was parked at {at}"),
    ChangeKind.ARCHIVED: said("The routine was archived at {at}"),
    ChangeKind.REPLANNED: said("The routine was replanned at {at}"),
    ChangeKind.UPDATED: said("The routine was updated ({fields}) at {at}"),
    ChangeKind.CREATED: said("The routine was created at {at}"),
    ChangeKind.RESUMED: said("The routine was resumed at {at}"),
    ChangeKind.RESET: said("The routine was reset at {at}"),
    ChangeKind.HINTED: said("The routine was hinted at {at}"),
    ChangeKind.HINTS_CLEARED: said("The hints of the routine were cleared at {at}"),
    ChangeKind.HINT_EXPIRED: said("A hint of the routine expired at {at}"),
    ChangeKind.LEASE_RELEASED: said("The lease of the routine was released at {at}"),
    ChangeKind.DELETED: said("The routine was deleted at {at}"),
}
DONE_BY = {
    ChangeKind.PAUSED: said("The routine was paused at {at} by {actor}"),
    ChangeKind.PARKED: said("The routine was parked at {at} by {actor}"),
    ChangeKind.ARCHIVED: said("The routine was archived at {at} by {actor}"),
    ChangeKind.REPLANNED: said("The routine was replanned at {at} by {actor}"),
    ChangeKind.UPDATED: said("The routine was updated ({fields}) at {at} by {actor}"),
    ChangeKind.CREATED: said("The routine was created at {at} by {actor}"),
    ChangeKind.RESUMED: said("The routine was resumed at {at} by {actor}"),
    ChangeKind.RESET: said("The routine was reset at {at} by {actor}"),
    ChangeKind.HINTED: said("The routine was hinted at {at} by {actor}"),
    ChangeKind.HINTS_CLEARED: said("The hints of the routine were cleared at {at} by {actor}"),
    ChangeKind.HINT_EXPIRED: said("A hint of the routine expired at {at} by {actor}"),
    ChangeKind.LEASE_RELEASED: said("The lease of the routine was released at {at} by {actor}"),
    ChangeKind.DELETED: said("The routine was deleted at {at} by {actor}"),
}


def changed(asked: Asked, change: ScheduleChange) -> Sentence:
    kind = ChangeKind(change.kind)
    return Sentence(
        code=CODES.get(kind, Because.EDITED),
        text=stop(with_words(_done(asked, change, kind), change.reason)),
        at=change.at,
        changes=(change.pk,),
    )


def _done(asked: Asked, change: ScheduleChange, kind: ChangeKind) -> Said:
    fields = ", ".join(sorted(change.after)[:5])
    values = {"at": asked.words.at(change.at), "actor": change.actor, "fields": fields}
    if fields or kind is not ChangeKind.UPDATED:
        return filled((DONE_BY if change.actor else DONE)[kind], **values)
    if change.actor:
        return said("The routine was updated at {at} by {actor}", **values)
    return said("The routine was updated at {at}", **values)


def change_behind(asked: Asked, run: RoutineRun, *kinds: ChangeKind) -> Iterator[Sentence]:
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
