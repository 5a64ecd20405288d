"""Lost messages: a broker that lost its queues, or a worker killed between taking a message and starting its run.

A published run that does not start is looked at after FIRST_LOOK, twice that, and so on up to LAST_LOOK. At first it is
published again only when its queue holds fewer messages than there are published runs waiting for it, and only as many
as are missing: a long queue is no loss. But a queue may be full of somebody else's messages, so at a late look it is
published again whatever the queue holds; a message too many does nothing.

A run whose row somebody holds is left alone: nobody could start it, nor note that it was published again.

A broker that was away or restarted may have lost everything, and pools would stand still until the first look: what its
queues have no message for is published again at once (`Losses`).
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Count, F, Q, QuerySet

from routines_app.coordination.broker import BrokerAway, Refused, broker
from routines_app.coordination.envelope import Message
from routines_app.coordination.turns import turn
from routines_app.core.words import RunStatus
from routines_app.models import RoutineRun
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.locks import unheld, update_free
from routines_app.protocol.ledger.moments import FIRST_MOMENT, LAST_MOMENT
from routines_app.protocol.ledger.said_once import SaidOnce
from routines_app.protocol.ledger.timeouts import bounded
from routines_app.protocol.publish import outbox
from routines_app.protocol.record.messages import (
    ARGUMENT_COLUMNS,
    as_text,
    messages_of,
    own_arguments,
    with_arguments,
)

logger = logging.getLogger(__name__)

_said = SaidOnce(logger)
_OPTIONS = as_text("routine__options")

LATE_LOOK = outbox.FIRST_LOOK * 8  # the fourth
LAST_LOOK = timedelta(hours=1)
BATCH = 500
MOST_HELD = 5_000  # that are passed over to find others
AT_ONCE = 5_000  # of one queue, when a broker has come back
COUNTED = 5_000  # of those that have to be routed one by one,
COUNTING_SECONDS = 0.5  # and no longer than this: each asks the project's routers
TURN_SECONDS = 5.0  # of a beat that died while it looked for losses
LOOKS = 3  # after a return: another beat may stamp late what it had sent to the broker that died


def republish_lost(now: datetime) -> int:
    """Publish again what seems lost; how many. A broker that is away is left for the next pass."""
    with bounded():
        sent_at = _due(now)
    suspects = messages_of(_published().filter(id__in=sent_at).order_by("dispatched_at", "id"))
    if not suspects:
        return 0
    late = {str(run_id) for run_id, at in sent_at.items() if at is not None and at + LATE_LOOK <= now}
    try:
        lost = _missing(suspects, late)
        refused = outbox.publish(lost)
    except BrokerAway:
        return 0
    _look_later(suspects, sent_at, now)
    return _count(lost, refused)


def _due(now: datetime) -> dict[UUID, datetime | None]:
    """When those were published that are to be looked at, oldest look first. Held ones take no place: they stay due."""
    due = _published().filter(publish_after__lte=now).order_by("publish_after")
    found: dict[UUID, datetime | None] = {}
    held: set[UUID] = set()
    while len(found) < BATCH and len(held) < MOST_HELD:
        rows = dict(due.exclude(id__in=[*found, *held]).values_list("id", "dispatched_at")[:BATCH])
        free = unheld(RoutineRun, rows)
        found |= {run_id: rows[run_id] for run_id in free}
        held |= rows.keys() - free
        if len(free) == len(rows):  # as a rule, and at the first look
            break
    return found


class Losses:
    """Whether the broker may have lost messages since the last look, as one beat has seen it."""

    def __init__(self) -> None:
        self._era: tuple[object, ...] = ()
        self._looks = 0

    @property
    def are_suspected(self) -> bool:
        return self._looks > 0

    def suspect(self) -> None:
        """The broker was away, or took nothing for a while."""
        self._looks = LOOKS

    def republish(self, now: datetime) -> int:
        """Publish again what is missing, if something may be; how many. Asks the broker, or raises `BrokerAway`."""
        era = broker().era()
        if era != self._era:  # at the start of a beat as well: its machine and the broker's may be one
            self._era = era
            self.suspect()
        if not self._looks:
            return 0
        # One beat at a time, or each would publish all that is missing.
        with turn("losses", seconds=TURN_SECONDS) as is_ours:
            if not is_ours:
                return 0  # another beat publishes the same: what is missing behind it is seen by our next look
            self._looks -= 1
            return republish_missing(now)


def republish_missing(now: datetime) -> int:
    """Publish again, oldest first, as many as each queue holds too few; how many. Or raise `BrokerAway`."""
    waiting = _waiting_by_queue()
    sizes = _sizes(waiting)
    lost: list[Message] = []
    for queue, rows in waiting.items():
        missing = min(rows.count - sizes.get(queue, rows.count), AT_ONCE)
        if missing > 0:
            lost += messages_of(_published().filter(rows.which).order_by("dispatched_at", "id")[:missing])
    refused = outbox.publish(lost)
    with bounded():
        again = _published().filter(id__in=[message.run_id for message in lost])
        update_free(again, publish_after=now + outbox.FIRST_LOOK)
    return _count(lost, refused)


def _published() -> QuerySet[RoutineRun]:
    """Those with a time that nobody can read are left out: nothing could be counted from it."""
    pending = RoutineRun.objects.using(ledger_alias()).filter(status=RunStatus.PENDING)
    return pending.filter(dispatched_at__range=(FIRST_MOMENT, LAST_MOMENT)).alias(options=_OPTIONS)


def _missing(suspects: list[Message], late: Collection[str]) -> list[Message]:
    """Those that were looked at often enough, and of the others the oldest that their queues have no message for."""
    routed = with_arguments(suspects) if broker().routes_by_arguments else suspects
    queue_of = {message.run_id: _queue_of(message) for message in routed}
    sizes = _sizes({queue for queue in queue_of.values() if queue is not None})
    waiting = _waiting_by_queue()
    missing = Counter({queue: waiting[queue].count - size for queue, size in sizes.items() if queue in waiting})
    lost = []
    for message in suspects:
        queue = queue_of[message.run_id]
        if (queue is not None and missing[queue] > 0) or message.run_id in late:
            missing[queue or ""] -= 1
            lost.append(message)
    return lost


def _sizes(queues: Collection[str]) -> dict[str, int]:
    """What the queues hold. Of one that we may not look into nothing is known: it is not taken for empty."""
    sizes = broker().queue_sizes(queues)
    for queue in queues:
        if queue in sizes:
            _said.over(queue)
        else:
            _said.warn(queue, f"the broker does not tell what queue {queue} holds: its losses are found late")
    return sizes


def _queue_of(message: Message) -> str | None:
    return broker().queue_of(message.task, message.queue, message.arguments, message.options)


@dataclass(slots=True)
class _Waiting:
    """The published runs that wait for one queue."""

    count: int = 0
    which: Q = field(default_factory=Q)


def _waiting_by_queue() -> dict[str, _Waiting]:
    """What has no way to go any more is in none of them."""
    return _routed_one_by_one() if broker().routes_by_arguments else _routed_by_task()


def _routed_by_task() -> dict[str, _Waiting]:
    found: dict[str, _Waiting] = {}
    kinds = _published().values_list("task", "queue", _OPTIONS).annotate(waiting=Count("id")).order_by()
    for task, queue, options, count in kinds:
        if name := broker().queue_of(task, queue, None, options or ""):
            rows = found.setdefault(name, _Waiting())
            rows.count += count
            rows.which |= Q(task=task, queue=queue, options=options)
    return found


def _routed_one_by_one() -> dict[str, _Waiting]:
    """The oldest of them, as many as there is time for. With fewer counted, fewer are missed."""
    until = time.monotonic() + COUNTING_SECONDS
    ids: dict[str, list[UUID]] = {}
    columns = ("id", "task", "queue", _OPTIONS, *ARGUMENT_COLUMNS)
    oldest = _published().order_by("dispatched_at", "id").values_list(*columns)
    for run_id, task, queue, options, *arguments in oldest[:COUNTED]:
        if name := broker().queue_of(task, queue, own_arguments(*arguments), options or ""):
            ids.setdefault(name, []).append(run_id)
        if time.monotonic() > until:  # the others of this look wait meanwhile
            break
    return {name: _Waiting(len(run_ids), Q(id__in=run_ids)) for name, run_ids in ids.items()}


def _look_later(suspects: Iterable[Message], sent_at: dict[UUID, datetime | None], now: datetime) -> None:
    """Look again when the time since they were published has doubled."""
    delays: dict[timedelta, list[UUID]] = {}
    for run_id in (UUID(message.run_id) for message in suspects):
        delays.setdefault(_delay(now - (sent_at[run_id] or now)), []).append(run_id)
    for delay, run_ids in delays.items():
        # Only what is still waiting: a run that started meanwhile is left alone, and so is one that somebody holds.
        with bounded():
            update_free(_published().filter(id__in=run_ids), publish_after=now + delay)


def _delay(age: timedelta) -> timedelta:
    """In steps, so that runs of about the same age are written in one statement."""
    delay = outbox.FIRST_LOOK
    while delay * 2 <= age:
        delay *= 2
    return min(delay, LAST_LOOK)


def _count(lost: Collection[Message], refused: Collection[Refused]) -> int:
    """Note that they were published again, but for those that have no way to go any more."""
    sent = {message.run_id for message in lost} - {each.message.run_id for each in refused}
    with bounded():
        update_free(_published().filter(id__in=sent), publish_count=F("publish_count") + 1)
    return len(sent)
