"""Messages that a broker lost are published again, as many as are missing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import pytest
import redis

from routines_app import service
from routines_app.coordination.broker import Refused
from routines_app.coordination.envelope import Arguments, Message
from routines_app.models import RoutineRun
from routines_app.protocol.ledger import clock
from routines_app.protocol.publish import outbox
from routines_app.protocol.publish.outbox import FIRST_LOOK
from routines_app.protocol.upkeep import lost_messages
from routines_app.protocol.upkeep.lost_messages import LATE_LOOK, LOOKS, Losses, republish_lost
from tests.integration.holding import needs_row_locks, row_locked

pytestmark = pytest.mark.django_db(transaction=True)

TASK = "tests.acceptance.tasks.note"


class FakeBroker:
    """One queue that holds as many messages as a test says."""

    routes_by_arguments = False

    def __init__(self, size: int) -> None:
        self.size = size
        self.server = "the first"
        self.published: list[str] = []

    def queue_of(self, task: str, queue: str, arguments: Arguments | None = None, options: str = "") -> str | None:
        if options:
            return str(json.loads(options)["routing_key"])
        return arguments.args[0] if arguments and arguments.args else queue or "celery"

    def era(self) -> tuple[object, ...]:
        return (self.server,)

    def queue_sizes(self, queues: Iterable[str]) -> dict[str, int]:
        return dict.fromkeys(queues, self.size)

    def publish(self, messages: Sequence[Message]) -> list[Refused]:
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


def use(monkeypatch: pytest.MonkeyPatch, broker: FakeBroker) -> FakeBroker:
    for module in (lost_messages, outbox):
        monkeypatch.setattr(module, "broker", lambda: broker)
    return broker


def look(monkeypatch: pytest.MonkeyPatch, size: int, now: datetime) -> list[str]:
    broker = use(monkeypatch, FakeBroker(size))
    republish_lost(now)
    return broker.published


def test_only_as_many_as_are_missing_are_published_again(monkeypatch: pytest.MonkeyPatch):
    """A long queue that lost two messages gets two, for the runs that have waited longest."""
    now = clock.now()
    runs = published(10, now - FIRST_LOOK)
    assert look(monkeypatch, 8, now) == [str(run.pk) for run in runs[:2]]


@needs_row_locks
def test_runs_whose_rows_are_held_are_left_alone_and_take_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are: the one behind them is found, and they when they are free."""
    monkeypatch.setattr(lost_messages, "BATCH", 2)
    now = clock.now()
    runs = published(4, now - FIRST_LOOK)
    RoutineRun.objects.filter(pk=runs[3].pk).update(publish_after=now)
    with row_locked(runs[0].pk), row_locked(runs[1].pk), row_locked(runs[2].pk):
        assert look(monkeypatch, 0, now) == [str(runs[3].pk)]
    again = [run_id for _ in range(2) for run_id in look(monkeypatch, 0, now)]
    assert sorted(again) == sorted(str(run.pk) for run in runs[:3])  # they are all due at one moment


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


def test_a_queue_that_nobody_may_look_into_is_not_taken_for_empty(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its runs are published again at a late look, not at every one; which is said once."""
    sent_at = clock.now() - FIRST_LOOK
    published(3, sent_at)
    broker = use(monkeypatch, FakeBroker(size=0))
    monkeypatch.setattr(broker, "queue_sizes", lambda queues: {})
    assert Losses().republish(sent_at + FIRST_LOOK) == 0
    assert [republish_lost(sent_at + at) for at in (FIRST_LOOK, FIRST_LOOK * 2, FIRST_LOOK * 4)] == [0, 0, 0]
    assert republish_lost(sent_at + LATE_LOOK + timedelta(seconds=1)) == 3
    assert len([line for line in caplog.messages if "does not tell what queue celery holds" in line]) == 1


def test_another_server_gets_at_once_what_its_queues_miss(monkeypatch: pytest.MonkeyPatch):
    """Long before the first look; a few times, because others may stamp late, and then not any more."""
    now = clock.now()
    runs = [str(run.pk) for run in published(5, now)]
    broker = use(monkeypatch, FakeBroker(size=5))
    losses = Losses()
    assert [losses.republish(now) for _ in range(LOOKS + 2)] == [0] * (LOOKS + 2), "nothing is missing"

    broker.server, broker.size = "the second", 3
    assert [losses.republish(now) for _ in range(LOOKS + 2)] == [2] * LOOKS + [0, 0]

    assert broker.published[:2] == runs[:2]
    again = RoutineRun.objects.get(pk=runs[0])
    assert (again.publish_count, again.publish_after) == (1 + LOOKS, now + FIRST_LOOK)
    broker.published.clear()
    losses.suspect()
    assert losses.republish(now) == 2
    assert broker.published == runs[:2]


def test_two_beats_do_not_both_publish_what_is_missing(monkeypatch: pytest.MonkeyPatch, redis_client: redis.Redis):
    """All of them see the broker come back; whoever is second looks when the first has done."""
    now = clock.now()
    published(5, now)
    broker = use(monkeypatch, FakeBroker(size=0))
    first, second = Losses(), Losses()
    publish, meanwhile = broker.publish, []

    def publish_while_another_looks(messages: Sequence[Message]) -> list[Refused]:
        monkeypatch.setattr(broker, "publish", publish)
        meanwhile.append(second.republish(now))
        broker.size = len(messages)
        return publish(messages)

    monkeypatch.setattr(broker, "publish", publish_while_another_looks)
    assert (first.republish(now), meanwhile) == (5, [0])
    assert second.are_suspected
    assert second.republish(now) == 0
    assert len(broker.published) == 5


def test_what_the_routers_send_elsewhere_by_its_arguments_is_missed_there(monkeypatch: pytest.MonkeyPatch):
    """Each run is counted for the queue that it went to."""
    now = clock.now()
    runs = published(4, now - FIRST_LOOK)
    for run, tenant in zip(runs, "aabb", strict=True):
        run.args = [tenant]
        run.save()
    broker = use(monkeypatch, FakeBroker(size=1))
    broker.routes_by_arguments = True

    assert Losses().republish(now) == 2
    assert republish_lost(now + FIRST_LOOK) == 2

    oldest = [str(runs[0].pk), str(runs[2].pk)]
    assert broker.published == oldest * 2


def test_routers_that_take_their_time_do_not_hold_up_a_look(monkeypatch: pytest.MonkeyPatch):
    """What could not be counted in time is not missed yet; the oldest are."""
    now = clock.now()
    runs = published(3, now - FIRST_LOOK)
    broker = use(monkeypatch, FakeBroker(size=0))
    broker.routes_by_arguments = True
    monkeypatch.setattr(lost_messages, "COUNTING_SECONDS", -1)

    assert Losses().republish(now) == 1

    assert broker.published == [str(runs[0].pk)]


@pytest.mark.parametrize("by_arguments", [False, True])
def test_what_the_options_of_a_routine_send_elsewhere_is_missed_there(
    monkeypatch: pytest.MonkeyPatch, by_arguments: bool
):
    """Of two routines with one task each run is counted for the queue that it went to."""
    now = clock.now()
    runs = published(4, now - FIRST_LOOK)
    options = {"routing_key": "elsewhere", "headers": {"a": "é"}}
    other = service.create_routine("other", task=TASK, options=options)
    RoutineRun.objects.filter(pk__in=[runs[1].pk, runs[3].pk]).update(routine=other)
    broker = use(monkeypatch, FakeBroker(size=1))
    broker.routes_by_arguments = by_arguments

    assert Losses().republish(now) == 2
    assert republish_lost(now + FIRST_LOOK) == 2

    oldest = [str(runs[0].pk), str(runs[1].pk)]
    assert sorted(broker.published) == sorted(oldest * 2)


def test_what_has_no_way_to_go_any_more_hides_no_other_loss(monkeypatch: pytest.MonkeyPatch):
    """Its router fails by now: it is left as it is, and the others are published again."""
    now = clock.now()
    runs = published(2, now - FIRST_LOOK)
    RoutineRun.objects.filter(pk=runs[0].pk).update(task="a.broken.route")
    broker = use(monkeypatch, FakeBroker(size=0))
    monkeypatch.setattr(broker, "queue_of", lambda task, *_: "celery" if task == TASK else None)

    assert republish_lost(now) == 1
    assert broker.published == [str(runs[1].pk)]
