"""Messages that a broker lost are published again, as many as are missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import pytest

from routines_app import service
from routines_app.coordination.envelope import Message
from routines_app.models import RoutineRun
from routines_app.protocol.ledger import clock
from routines_app.protocol.publish.outbox import FIRST_LOOK
from routines_app.protocol.upkeep import lost_messages
from routines_app.protocol.upkeep.lost_messages import LATE_LOOK, republish_lost

pytestmark = pytest.mark.django_db(transaction=True)

TASK = "tests.acceptance.tasks.note"


class FakeBroker:
    """One queue that holds as many messages as a test says."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.published: list[str] = []

    def queue_of(self, task: str, queue: str) -> str:
        return queue or "celery"

    def queue_sizes(self, queues: Iterable[str]) -> dict[str, int]:
        return dict.fromkeys(queues, self.size)

    def publish(self, messages: Sequence[Message]) -> list[Message]:
        self.published += [message.run_id for message in messages]
        return []


def published(count: int, sent_at: datetime) -> list[RoutineRun]:
    """Runs that were sent and have not started, the first one first."""
    routine = service.create_routine("tick", task=TASK)
    return RoutineRun.objects.bulk_create(
        RoutineRun(
            routine=routine,
            task=TASK,
            scheduled_for=sent_at,
            eligible_at=sent_at,
            admitted_at=sent_at,
            dispatched_at=sent_at + at * timedelta(milliseconds=1),
            publish_after=sent_at + FIRST_LOOK,
            publish_count=1,
            idempotency_key=f"published:{at}",
        )
        for at in range(count)
    )


def look(monkeypatch: pytest.MonkeyPatch, size: int, now: datetime) -> list[str]:
    broker = FakeBroker(size)
    monkeypatch.setattr(lost_messages, "broker", lambda: broker)
    republish_lost(now)
    return broker.published


def test_only_as_many_as_are_missing_are_published_again(monkeypatch: pytest.MonkeyPatch):
    """A long queue that lost two messages gets two, for the runs that have waited longest."""
    now = clock.now()
    runs = published(10, now - FIRST_LOOK)
    assert look(monkeypatch, 8, now) == [str(run.pk) for run in runs[:2]]


def test_a_queue_full_of_others_messages_does_not_hide_a_loss_for_ever(monkeypatch: pytest.MonkeyPatch):
    """At the late look the run is published again, whatever the queue holds."""
    sent_at = clock.now() - FIRST_LOOK
    (run,) = published(1, sent_at)
    looks = []
    for at in (FIRST_LOOK, FIRST_LOOK * 2, FIRST_LOOK * 4, LATE_LOOK):
        found = look(monkeypatch, 500, sent_at + at)
        looks.append(bool(found))
        assert RoutineRun.objects.get(pk=run.pk).publish_after == sent_at + at * 2

    assert looks == [False, False, False, True]
