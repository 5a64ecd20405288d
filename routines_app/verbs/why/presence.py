"""Which beats and workers were there, by their lifetimes: when none was, since when and until when.

A process that ended without a word has been there until its last report at least. So a silence begins with the last
report of the last one, and ends when the next one came.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from routines_app.conf import get_settings
from routines_app.models import NodeLifetime, Role
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.moments import readable
from routines_app.protocol.upkeep.lifetimes import KEPT, REPORTS_MISSED

READ_AT_MOST = 2_000
LOOKED_BACK = timedelta(days=1)  # for the last one before a silence


class Life(NamedTuple):
    name: str
    started_at: datetime
    until: datetime
    in_order: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Silence:
    """A time in which none is known to have been there."""

    last: Life | None
    """The last one before; None: none within a day."""
    next: Life | None
    """The first one after; None: none yet."""


def is_known(since: datetime, now: datetime, silence: Silence) -> bool:
    """Whether the lifetimes reach back so far: they are kept for a month, and older releases wrote none."""
    if since < now - KEPT:
        return False
    if silence.last is not None:
        return True
    first = NodeLifetime.objects.using(ledger_alias()).order_by("id").values_list("started_at", flat=True).first()
    return first is not None and first <= since


def silence_at(role: Role, moment: datetime, now: datetime, queue: str | None = None) -> Silence | None:
    """The silence around this moment; None: somebody was there. `queue`: only workers that consumed it count."""
    rows = NodeLifetime.objects.using(ledger_alias()).filter(
        readable("seen_at", "started_at", "ended_at"), role=role, seen_at__gte=moment - LOOKED_BACK
    )
    # Those around the moment first: a crowd of later ones must not hide them.
    lives = _lives(rows.filter(started_at__lte=moment).order_by("-seen_at")[:READ_AT_MOST], queue)
    if any(moment <= life.until or (not life.in_order and life.until >= _missed_since(now)) for life in lives):
        return None  # it was there, or its next report is still to come
    most = 1 if queue is None else READ_AT_MOST
    following = _lives(rows.filter(started_at__gt=moment).order_by("started_at")[:most], queue)
    return Silence(last=max(lives, key=lambda life: life.until, default=None), next=following[0] if following else None)


def _lives(rows: Iterable[NodeLifetime], queue: str | None) -> list[Life]:
    return [
        Life(row.name, row.started_at, row.ended_at or row.seen_at, row.ended_at is not None)
        for row in rows
        if queue is None or queue in row.queues
    ]


def _missed_since(now: datetime) -> datetime:
    return now - timedelta(seconds=REPORTS_MISSED * get_settings().node_seconds)
