"""What is due and has not begun, and whether there is more and more of it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db.models import Min, Q, QuerySet

from routines_app.conf import get_settings
from routines_app.core.words import Reason, RunStatus
from routines_app.models import RoutineRun
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.moments import readable
from routines_app.verbs.health.movement import unbegun, unsent
from routines_app.verbs.health.notices.notice import MOST_WAITING, Notice, NoticeKind, NoticeLevel
from routines_app.verbs.health.notices.work import at_most
from routines_app.verbs.health.shared import read, write

DUE_FOR = timedelta(minutes=1)
HELD_BY_PEOPLE = (Reason.PAUSED, Reason.PARKED)
"""Reasons of runs that are not late, however long they wait: somebody has to let their routines go."""

SAMPLE_SECONDS = 30  # between two that are remembered
COMPARED_SECONDS = (60, 600)  # how old a sample is that tells something
LONG_AGO_SECONDS = 300  # the one nearest to this is told

Samples = list[tuple[float, int]]


def backlog(now: datetime) -> Iterator[Notice]:
    """Runs that have been due for more than a minute.

    Whether it grows is told by how many there were when somebody looked a few minutes ago: numbers that are kept in
    Django's cache whenever this is asked, so while a page of ours is open. Where nobody looked, nothing is said of it.
    """
    waiting = _due(now - DUE_FOR)
    count = at_most(waiting, MOST_WAITING)
    earlier = _compared(_remember(count, now), now)
    if not count:
        return
    oldest = waiting.order_by("pk")[:MOST_WAITING].aggregate(at=Min("eligible_at"))["at"]
    yield Notice(
        kind=NoticeKind.BACKLOG,
        level=NoticeLevel.ALARM if unsent(now) or unbegun(now) else NoticeLevel.WARNING,
        count=count,
        since=oldest,
        earlier=None if earlier is None else earlier[1],
        earlier_seconds=0 if earlier is None else round(now.timestamp() - earlier[0]),
    )


def _due(before: datetime) -> QuerySet[RoutineRun]:
    """What was due before that, may begin as far as people are concerned, and has not."""
    runs = RoutineRun.objects.using(ledger_alias()).filter(readable("eligible_at"), status=RunStatus.PENDING)
    held = Q(reason__in=HELD_BY_PEOPLE) | Q(reason=Reason.CEILING, pool__max_concurrent=0)  # or it was drained
    return runs.filter(eligible_at__lt=before).exclude(held)


def _remember(count: int, at: datetime) -> Samples:
    """The samples of the last minutes, this one included where the last is old enough."""
    key, now = f"{get_settings().key_prefix}backlog-1", at.timestamp()
    kept = read(key)
    samples: Samples = [each for each in kept if now - each[0] < COMPARED_SECONDS[1]] if isinstance(kept, list) else []
    if not samples or now - samples[-1][0] >= SAMPLE_SECONDS:
        samples.append((now, count))
        write(key, samples, COMPARED_SECONDS[1])
    return samples


def _compared(samples: Samples, at: datetime) -> tuple[float, int] | None:
    """The one that is nearest to five minutes old."""
    now = at.timestamp()
    old = [each for each in samples if COMPARED_SECONDS[0] <= now - each[0] <= COMPARED_SECONDS[1]]
    return min(old, key=lambda each: abs(now - each[0] - LONG_AGO_SECONDS), default=None)
