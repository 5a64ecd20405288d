"""In an old beat's process: what it sends is written down, and it never waits for that nor sees it fail."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from celery.app import app_or_default
from celery.beat import ScheduleEntry, Scheduler
from celery.schedules import schedule
from celery.signals import beat_init
from django.db import DataError, OperationalError
from redbeat import RedBeatScheduler

from routines_app import service
from routines_app.beat import old_beat
from routines_app.beat.scheduler import RoutinesScheduler
from routines_app.models import MovedEntry, OldFire
from routines_app.verbs.moving.old_entries import OldScheduler
from tests.integration.conftest import NOTE
from tests.processes import wait_for

pytestmark = pytest.mark.django_db(transaction=True)


class FakeResult:
    def __init__(self, task_id: str) -> None:
        self.id = task_id


class Beat:
    """Celery's own scheduler, whose messages go nowhere, as a beat starts it."""

    def __init__(self) -> None:
        self.scheduler: Any = Scheduler(app_or_default(), lazy=True)
        self.sent: list[str] = []
        self.scheduler.send_task = self._send
        self.scheduler.app = app_or_default()
        beat_init.send(sender=self)

    def _send(self, *_: Any, **__: Any) -> FakeResult:
        self.sent.append(f"message {len(self.sent)}")
        return FakeResult(self.sent[-1])

    def fire(self, name: str) -> Any:
        entry = ScheduleEntry(name, "nobody.knows.it", datetime.now(UTC), schedule=schedule(10), app=app_or_default())
        return self.scheduler.apply_async(entry, producer=object(), advance=False)


@pytest.fixture
def beat(monkeypatch: pytest.MonkeyPatch) -> Iterator[Beat]:
    monkeypatch.setattr(old_beat, "IDLE_SECONDS", 0.2)  # so that no connection outlives a test
    monkeypatch.setattr(old_beat, "AGAIN_SECONDS", 0.05)
    monkeypatch.setattr(old_beat, "KNOWN_SECONDS", 0.0)
    yield Beat()
    wait_for(lambda: "routines-old-beat" not in {each.name for each in threading.enumerate()}, 10, "it lives on")


def moved(name: str = "tick") -> None:
    routine = service.create_routine(name, task=NOTE, every="10s")
    MovedEntry.objects.create(routine=routine, scheduler="beat_schedule", key=name)


def fires() -> list[tuple[str, str, str]]:
    return list(OldFire.objects.order_by("pk").values_list("scheduler", "key", "task_id"))


def test_what_it_sends_of_moved_entries_is_recorded(beat: Beat) -> None:
    """With the id of its message and the time of this machine; others are nobody's business."""
    moved()
    before = datetime.now(UTC)
    assert beat.fire("other").id == "message 0"
    beat.fire("tick")
    wait_for(fires, 10, "nothing is recorded")
    assert fires() == [("beat_schedule", "tick", "message 1")]
    assert before <= OldFire.objects.get().fired_at <= datetime.now(UTC)


def test_a_message_that_was_not_sent_is_not_recorded(beat: Beat) -> None:
    """And its error is the old beat's, as before."""
    moved()
    beat.scheduler.send_task = _refuse
    with pytest.raises(Exception, match="no broker"):
        beat.fire("tick")
    beat.scheduler.send_task = beat._send
    beat.fire("tick")
    wait_for(fires, 10, "nothing is recorded")
    assert len(fires()) == 1


def _refuse(*_: Any, **__: Any) -> None:
    raise ConnectionError("no broker")


def test_while_the_database_is_away_fires_are_kept(
    beat: Beat, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is told once, and afterwards they are written down, in their order."""
    moved()
    attempts, is_away = [], threading.Event()
    is_away.set()
    record = old_beat.record_fires

    def write(kind: OldScheduler, fires: list[Any]) -> None:
        attempts.append(1)
        if is_away.is_set():
            raise OperationalError("the server is away")
        record(kind, fires)

    monkeypatch.setattr(old_beat, "record_fires", write)
    with caplog.at_level(logging.WARNING, "routines_app.beat.old_beat"):
        for _ in range(3):
            beat.fire("tick")
        wait_for(lambda: len(attempts) > 3, 10, "it is not tried again")
        assert fires() == []
        is_away.clear()
        wait_for(lambda: len(fires()) == 3, 10, "they are lost")
    assert [task_id for *_, task_id in fires()] == beat.sent
    assert len([each for each in caplog.messages if "the server is away" in each]) == 1


def test_what_the_database_will_never_take_keeps_no_later_fire_waiting(
    beat: Beat, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is no outage: tried again and again, it would be refused for ever."""
    moved()
    record = old_beat.record_fires

    def write(kind: OldScheduler, fires: list[Any]) -> None:
        if any(fire.task_id == "message 0" for fire in fires):
            raise DataError("value too long")
        record(kind, fires)

    monkeypatch.setattr(old_beat, "record_fires", write)
    beat.fire("tick")
    wait_for(lambda: "not recorded" in caplog.text, 10, "it is tried again")
    beat.fire("tick")
    wait_for(fires, 10, "the next one waits")
    assert fires() == [("beat_schedule", "tick", "message 1")]


def test_more_than_it_can_keep_is_said_once(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """The old beat goes on all the same."""
    recorder = old_beat.Recorder(OldScheduler.BEAT_SCHEDULE)
    monkeypatch.setattr(recorder, "_start", lambda: None)
    monkeypatch.setattr(recorder, "_notes", old_beat.queue.Queue(1))
    entry = type("Entry", (), {"name": "tick"})
    for _ in range(3):
        recorder.note(entry, None, datetime.now(UTC))
    assert len([each for each in caplog.messages if "could not be recorded" in each]) == 1


@pytest.mark.usefixtures("beat")
def test_what_is_left_is_written_before_the_beat_ends() -> None:
    """A moment is enough."""
    moved()
    recorder = old_beat.Recorder(OldScheduler.BEAT_SCHEDULE)
    for number in range(20):
        recorder.note(type("Entry", (), {"name": "tick"}), FakeResult(f"last {number}"), datetime.now(UTC))
    recorder.close()
    assert len(fires()) == 20


@pytest.mark.parametrize(
    ("scheduler", "kind"),
    [
        (Scheduler, OldScheduler.BEAT_SCHEDULE),
        (RedBeatScheduler, OldScheduler.REDBEAT),
        (type("OfAProject", (RedBeatScheduler,), {}), OldScheduler.REDBEAT),
        (RoutinesScheduler, None),
    ],
)
def test_whose_beat_it_is(scheduler: type, kind: OldScheduler | None) -> None:
    """Ours records nothing about itself."""
    assert old_beat.kind_of(scheduler.__new__(scheduler)) == kind
