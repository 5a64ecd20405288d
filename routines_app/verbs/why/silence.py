"""That nobody was there, as a sentence: no beat, no worker, no worker for a queue."""

from __future__ import annotations

from routines_app.core.said import Said, said
from routines_app.models import Role
from routines_app.verbs.why.presence import Life, Silence
from routines_app.verbs.why.wording import Wording


def not_known(role: Role, queue: str | None) -> Said:
    """Whether one was there."""
    if role is Role.BEAT:
        return said("Whether a beat was there at that time is not known: nothing is kept of it.")
    if queue is None:
        return said("Whether a worker was there at that time is not known: nothing is kept of it.")
    return said(
        "Whether a worker for queue {queue!r} was there at that time is not known: nothing is kept of it.", queue=queue
    )


def nobody(role: Role, queue: str | None, silence: Silence, words: Wording) -> Said:
    """Who was the last one before, and who the first one after."""
    began = _unheard(role, queue) if silence.last is None else _last(role, queue, silence.last, words)
    following = silence.next
    if following is None:
        return said("{nobody_was_there}, and none has come since.", nobody_was_there=began)
    return said(
        "{nobody_was_there}, and the next one, {name}, came at {at}.",
        nobody_was_there=began,
        name=following.name,
        at=words.at(following.started_at),
    )


def _unheard(role: Role, queue: str | None) -> Said:
    if role is Role.BEAT:
        return said("No beat was heard of in the day before")
    if queue is None:
        return said("No worker was heard of in the day before")
    return said("No worker for queue {queue!r} was heard of in the day before", queue=queue)


def _last(role: Role, queue: str | None, last: Life, words: Wording) -> Said:
    name, at = last.name, words.at(last.until)
    if last.in_order:
        ended = said("the last one, {name}, ended in order at {at}", name=name, at=at)
    else:
        ended = said("the last one, {name}, was last heard of at {at}", name=name, at=at)
    if role is Role.BEAT:
        return said("No beat is known to have been there: {last_one_ended}", last_one_ended=ended)
    if queue is None:
        return said("No worker is known to have been there: {last_one_ended}", last_one_ended=ended)
    return said(
        "No worker for queue {queue!r} is known to have been there: {last_one_ended}", queue=queue, last_one_ended=ended
    )
