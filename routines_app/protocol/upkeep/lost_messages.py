"""Lost messages: a broker that lost its queues, or a worker killed between taking a message and starting its run.

A published run that does not start is looked at after FIRST_LOOK, twice that, and so on up to LAST_LOOK. At first it is
published again only when its queue holds fewer messages than there are published runs waiting for it, and only as many
as are missing: a long queue is no loss. But a queue may be full of somebody else's messages, so at a late look it is
published again whatever the queue holds; a message too many does nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Count, F, QuerySet

from routines_app.coordination.broker import BrokerAway, broker
from routines_app.coordination.envelope import Message
from routines_app.core.words import RunStatus
from routines_app.models import RoutineRun
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.publish import outbox
from routines_app.protocol.record.messages import messages_of

LATE_LOOK = outbox.FIRST_LOOK * 8  # the fourth
LAST_LOOK = timedelta(hours=1)
BATCH = 500


def republish_lost(now: datetime) -> int:
    """Publish again what seems lost; how many. A broker that is away is left for the next pass."""
    due = _published().filter(publish_after__lte=now).order_by("publish_after")[:BATCH]
    sent_at = dict(due.values_list("id", "dispatched_at"))
    suspects = messages_of(_published().filter(id__in=sent_at).order_by("dispatched_at", "id"))
    if not suspects:
        return 0
    late = {str(run_id) for run_id, at in sent_at.items() if at is not None and at + LATE_LOOK <= now}
    try:
        lost = _missing(suspects, late)
        broker().publish(lost)
    except BrokerAway:
        return 0
    _look_later(suspects, sent_at, now)
    _count([UUID(message.run_id) for message in lost])
    return len(lost)


def _published() -> QuerySet[RoutineRun]:
    return RoutineRun.objects.using(ledger_alias()).filter(status=RunStatus.PENDING, dispatched_at__isnull=False)


def _missing(suspects: list[Message], late: Collection[str]) -> list[Message]:
    """Those that were looked at often enough, and of the others the oldest that their queues have no message for."""
    queue_of = {message.run_id: broker().queue_of(message.task, message.queue) for message in suspects}
    sizes = broker().queue_sizes(set(queue_of.values()))
    missing = _published_per_queue()
    missing.subtract(sizes)
    lost = []
    for message in suspects:
        queue = queue_of[message.run_id]
        if missing[queue] > 0 or message.run_id in late:
            missing[queue] -= 1
            lost.append(message)
    return lost


def _published_per_queue() -> Counter[str]:
    """How many published runs wait for each queue."""
    rows = _published().values_list("task", "queue").annotate(waiting=Count("id")).order_by()
    waiting: Counter[str] = Counter()
    for task, queue, count in rows:
        waiting[broker().queue_of(task, queue)] += count
    return waiting


def _look_later(suspects: Iterable[Message], sent_at: dict[UUID, datetime | None], now: datetime) -> None:
    """Look again when the time since they were published has doubled."""
    delays: dict[timedelta, list[UUID]] = {}
    for run_id in (UUID(message.run_id) for message in suspects):
        delays.setdefault(_delay(now - (sent_at[run_id] or now)), []).append(run_id)
    for delay, run_ids in delays.items():
        # Only what is still waiting: a run that started meanwhile is left alone.
        _published().filter(id__in=run_ids).update(publish_after=now + delay)


def _delay(age: timedelta) -> timedelta:
    """In steps, so that runs of about the same age are written in one statement."""
    delay = outbox.FIRST_LOOK
    while delay * 2 <= age:
        delay *= 2
    return min(delay, LAST_LOOK)


def _count(run_ids: Collection[UUID]) -> None:
    _published().filter(id__in=run_ids).update(publish_count=F("publish_count") + 1)
