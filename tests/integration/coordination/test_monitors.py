"""Monitors are told by any process, many things in one message, and nobody waits for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from celery import Celery
from django.test import override_settings

from routines_app.coordination import monitors
from routines_app.coordination.monitors import Event, Hearsay, Teller
from routines_app.coordination.redis_client import asking, client, key
from tests.processes import stretched, wait_for
from tests.receiving import monitoring
from tests.servers import EmbeddedRedis


@pytest.fixture
def server() -> Iterator[EmbeddedRedis]:
    server = EmbeddedRedis()
    server.start()
    yield server
    server.dispose()


@pytest.fixture
def app(server: EmbeddedRedis, monkeypatch: pytest.MonkeyPatch) -> Celery:
    """The current app, whose broker a test may kill."""
    app = Celery("monitored", broker=server.url(), set_as_current=False)
    monkeypatch.setattr(monitors, "app_or_default", lambda: app)
    monkeypatch.setattr(monitors, "REST_SECONDS", (0.05, 0.2))
    return app


@pytest.fixture
def teller(monkeypatch: pytest.MonkeyPatch) -> Iterator[Teller]:
    monkeypatch.setattr(monitors, "IDLE_SECONDS", 0.1)
    yield Teller("me@here")
    wait_for(lambda: not is_telling(), 15, "the thread lives on")


def is_telling() -> bool:
    return any(thread.name == monitors.THREAD for thread in threading.enumerate())


def test_many_events_are_a_few_messages(app: Celery, teller: Teller) -> None:
    """Ten thousand overlaps of one look must not be ten thousand round trips."""
    with monitoring(app) as monitor:
        for number in range(3_000):
            teller.tell("routine-run-skipped", {"routine": f"r{number}"})
        teller.flush(20)
        wait_for(lambda: len(monitor.events) == 3_000, 15, "not all arrived")
    assert [event["routine"] for event in monitor.events] == [f"r{number}" for number in range(3_000)]
    assert monitor.messages <= 3_000 / 50
    assert {event["hostname"] for event in monitor.events} == {"me@here"}


def test_a_broker_that_is_away_or_frozen_delays_nobody(
    app: Celery, teller: Teller, server: EmbeddedRedis, caplog: pytest.LogCaptureFixture
) -> None:
    """What could not be sent is sent when it is back; that it is away is said once."""
    with monitoring(app) as monitor:
        server.freeze()
        began = time.monotonic()
        for number in range(100):
            teller.tell("routine-run-started", {"routine": f"r{number}"})
        assert time.monotonic() - began < stretched(0.2)
        wait_for(lambda: "monitors cannot be told" in caplog.text, 15, "it never gave up")
        server.thaw()
        monitor.wait_for("routine-run-started", routine="r99")
    assert caplog.text.count("monitors cannot be told") == 1


def test_what_failed_is_sent_again_in_order(app: Celery, teller: Teller, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    answers = iter([OSError("away"), OSError("still")])

    class Dispatcher:
        def __init__(self) -> None:
            self.waiting: list[str] = []

        def send(self, kind: str, routine: str, **_: object) -> None:
            self.waiting.append(routine)

        def flush(self, errors: bool) -> None:
            if error := next(answers, None):
                raise error
            sent.extend(self.waiting)
            self.waiting.clear()

    monkeypatch.setattr(app.events, "Dispatcher", lambda *_, **__: Dispatcher())
    for number in range(5):
        teller.tell("routine-run-started", {"routine": f"r{number}"})
    teller.flush(15)
    assert sent == [f"r{number}" for number in range(5)]


def test_what_cannot_be_sent_for_long_is_given_up(
    app: Celery, teller: Teller, server: EmbeddedRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that ends does not wait for it either."""
    monkeypatch.setattr(monitors, "OLD_SECONDS", 0.3)
    server.kill()
    teller.tell("routine-run-started", {})
    began = time.monotonic()
    teller.flush(0.1)
    assert time.monotonic() - began < stretched(1)
    wait_for(lambda: not is_telling(), 15, "it tries for ever")


def test_each_is_given_up_by_its_own_age(app: Celery, teller: Teller) -> None:
    teller._events.append(Event("routine-run-started", {"routine": "old", "timestamp": time.time() - 100}))
    with monitoring(app) as monitor:
        teller.tell("routine-run-started", {"routine": "new"})
        monitor.wait_for("routine-run-started", routine="new")
    assert [event["routine"] for event in monitor.events] == ["new"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_died_is_replaced(app: Celery, teller: Teller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of something that is no error of a broker: an exit, a memory that is full."""

    def die(*_: object) -> bool:
        raise SystemExit

    with monitoring(app) as monitor:
        with monkeypatch.context() as patch:
            patch.setattr(monitors.Wire, "send", die)
            teller.tell("routine-run-started", {"routine": "first"})
            wait_for(lambda: not is_telling(), 15, "it did not die")
        teller.tell("routine-run-started", {"routine": "second"})
        monitor.wait_for("routine-run-started", routine="second")
    assert [event["routine"] for event in monitor.events] == ["first", "second"]


def test_only_the_newest_wait(app: Celery, server: EmbeddedRedis, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long outage costs a bounded memory."""
    monkeypatch.setattr(monitors, "MOST_WAITING", 10)
    monkeypatch.setattr(monitors, "IDLE_SECONDS", 0.1)
    teller = Teller()
    server.freeze()
    for number in range(50):
        teller.tell("routine-run-started", {"routine": f"r{number}"})
    with_all = [event.facts["routine"] for event in teller._events]
    assert with_all == [f"r{number}" for number in range(40, 50)]
    server.thaw()
    wait_for(lambda: not is_telling(), 15, "the thread lives on")


@pytest.mark.parametrize(
    ("said", "conf", "wanted"),
    [
        (True, {}, True),
        (False, {"worker_send_task_events": True}, False),
        (None, {}, False),
        (None, {"worker_send_task_events": True}, True),
        (None, {"task_send_sent_event": True}, True),
        (None, {"task_send_sent_event": True, "task_always_eager": True}, False),
        (True, {"task_always_eager": True}, True),
    ],
)
def test_settings_say_whether_somebody_wants_events(
    app: Celery, redis_url: str, said: bool | None, conf: dict[str, bool], wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(monitors, "_hearsay", Hearsay())
    app.conf.update(conf)
    with override_settings(ROUTINES={"REDIS_URL": redis_url, "EVENTS": said}):
        assert monitors.wanted() is wanted


def test_a_worker_that_was_asked_tells_the_others(redis_url: str) -> None:
    """Flower asks workers by remote control, which beats and web processes do not hear."""
    assert not Hearsay().wanted()
    monitors.announce()
    heard = Hearsay()
    assert heard.wanted()
    assert 0 < client().ttl(key("events")) <= monitors.WANTED_SECONDS
    client().delete(key("events"))
    assert heard.wanted()  # not asked again at every event


def test_without_redis_nobody_is_told_and_nobody_fails(redis_url: str) -> None:
    with override_settings(ROUTINES={"REDIS_URL": "redis://127.0.0.1:1/0"}):
        monitors.announce()
        asked = Hearsay()
        began = time.monotonic()
        assert not any(asked.wanted() for _ in range(1_000))
        assert time.monotonic() - began < stretched(0.5)
    with asking() as there:
        there.ping()
    monitors.announce()
    assert Hearsay().wanted()  # when it is back
