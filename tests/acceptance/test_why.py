"""Why it did not run: after a night of killed processes the answer names them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import psycopg

from routines_app import service
from routines_app.models import NodeLifetime, RoutineRun
from routines_app.service import Because
from tests.acceptance.fault import NOTE, ready_beats
from tests.acceptance.stack import Stack

AWAY = timedelta(seconds=6)


def test_the_answer_names_the_beat_that_was_killed_and_the_worker_that_was_not_there(
    make_stack: Callable[..., Stack],
) -> None:
    """One slot came while no beat was there, and its message waited for the first worker.

    A beat is known to be gone when it has missed some reports: so here they come every second.
    """
    stack = make_stack(settings={"ROUTINES": {"NODE_SECONDS": 1}})
    doomed = stack.beat()
    ready_beats(stack, 1)
    doomed.kill9()
    slot = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=2)
    service.create_routine("late", task=NOTE, at=slot, misfire_grace_ms=3_600_000)
    stack.wait_until(lambda: datetime.now(UTC) > slot + AWAY, 30, "time stands still")

    leaving = stack.beat()
    sent = RoutineRun.objects.filter(dispatched_at__isnull=False)
    stack.wait_until(sent.exists, 40, "nobody came to the slot")
    stack.wait_until(lambda: datetime.now(UTC) > sent.get().dispatched_at + AWAY, 30, "time stands still")
    stack.worker()
    stack.wait_until(lambda: RoutineRun.objects.filter(status="SUCCESS").exists(), 40, "it did not run")

    story = service.why("late", slot)
    assert story.codes == (
        Because.PLANNED,
        Because.LATE,
        Because.NO_BEAT,
        Because.IN_THE_BROKER,
        Because.NO_WORKER,
        Because.SUCCEEDED,
    ), str(story)
    first, second = NodeLifetime.objects.filter(role="beat").order_by("pk")
    assert f"{first.name}, was last heard of" in str(story)
    assert f"{second.name}, came at" in str(story)

    leaving.terminate()
    stack.wait_until(lambda: not leaving.running, 10, "the beat does not leave")
    second.refresh_from_db()
    assert second.ended_at is not None


@contextmanager
def held_by_a_stranger(stack: Stack, name: str) -> Iterator[None]:
    """Its state's row, in a transaction that somebody left open."""
    with psycopg.connect(stack.database_url) as session:
        routine = "(SELECT id FROM routines_routine WHERE name = %s)"
        session.execute(f"SELECT 1 FROM routines_routinestate WHERE routine_id = {routine} FOR UPDATE", [name])
        yield
        session.rollback()


def soon() -> datetime:
    return datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=3)


def test_the_answer_names_a_strangers_lock_and_a_broker_that_was_away(stack: Stack) -> None:
    """Beats were there all the time: one slot could not be claimed, the message of the other could not be sent."""
    stack.beat()
    stack.worker()
    ready_beats(stack, 1)
    ran = RoutineRun.objects.filter(status="SUCCESS")
    slot = soon()
    service.create_routine("held", task=NOTE, at=slot, misfire_grace_ms=3_600_000)
    with held_by_a_stranger(stack, "held"):
        stack.wait_until(lambda: datetime.now(UTC) > slot + AWAY, 30, "time stands still")
        assert "Somebody holds its row" in str(service.why("held", slot))
    stack.wait_until(ran.filter(routine__name="held").exists, 40, "it did not run")
    story = service.why("held", slot)
    assert story.codes[:3] == (Because.PLANNED, Because.LATE, Because.WAITED), str(story)
    assert "somebody held the routine's row" in str(story)
    assert Because.NOT_KNOWN not in story.codes, str(story)

    slot = soon()
    service.create_routine("unsent", task=NOTE, at=slot, misfire_grace_ms=3_600_000)
    stack.redis.kill()
    stack.wait_until(lambda: datetime.now(UTC) > slot + AWAY, 30, "time stands still")
    stack.redis.start()
    stack.wait_until(ran.filter(routine__name="unsent").exists, 60, "it did not run")
    story = service.why("unsent", slot)
    assert "could not reach the broker" in str(story)
    assert Because.LATE not in story.codes, str(story)
