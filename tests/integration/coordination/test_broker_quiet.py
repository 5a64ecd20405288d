"""A broker that is away: one publisher finds that out, the others are told for a while, and then it is tried again."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from celery import Celery

from routines_app.coordination import broker as module
from routines_app.coordination.broker import QUIET_SECONDS, Broker, BrokerAway
from routines_app.coordination.envelope import Message
from tests.processes import free_port, wait_for
from tests.servers import EmbeddedRedis

MESSAGES = [Message("0190", "nightly", "a.task", "", "MEDIUM", 1000, 0)]
TOLD = "a moment ago"


def broker_at(port: int, scheme: str = "redis") -> Broker:
    app = Celery("away", broker=f"{scheme}://127.0.0.1:{port}//", set_as_current=False)
    app.conf.broker_transport_options = {}
    return Broker(app)


def failure(broker: Broker) -> str:
    """Why it cannot be published; empty when it was."""
    try:
        broker.publish(MESSAGES)
    except BrokerAway as error:
        return str(error)
    return ""


def listening_at(port: int) -> socket.socket:
    listener = socket.create_server(("127.0.0.1", port))
    listener.setblocking(False)
    return listener


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The broker's clock: it stands still until the test moves it on."""
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


@pytest.mark.parametrize("scheme", ["redis", "amqp"])
def test_after_a_failure_others_fail_at_once_and_the_next_after_the_quiet_time_tries(
    scheme: str, clock: SimpleNamespace
):
    """Nobody connects meanwhile, although the port would answer by then."""
    port = free_port()
    broker = broker_at(port, scheme)
    assert "refused" in failure(broker)

    clock.now += QUIET_SECONDS - 0.01
    with listening_at(port) as listener:
        with ThreadPoolExecutor(3) as executor:
            told = list(executor.map(failure, [broker] * 3))
        assert all(TOLD in text for text in told), told
        with pytest.raises(BlockingIOError):
            listener.accept()

    clock.now += 0.02
    assert "refused" in failure(broker)
    assert TOLD in failure(broker), "the second failure is followed by a quiet time of its own"


@pytest.mark.usefixtures("clock")
def test_asking_for_queue_sizes_keeps_quiet_as_well():
    """A look at the queues and a publish learn from each other."""
    broker = broker_at(free_port())
    with pytest.raises(BrokerAway, match="refused"):
        broker.queue_sizes(["celery"])

    assert TOLD in failure(broker)


def test_a_broker_that_is_back_is_published_to_after_the_quiet_time():
    """Without anybody telling it so."""
    server = EmbeddedRedis()
    broker = broker_at(server.port)
    try:
        assert "refused" in failure(broker)
        server.start()
        wait_for(lambda: failure(broker) == "", QUIET_SECONDS + 10, "it was never published")
        assert broker.queue_sizes(["celery"]) == {"celery": 1}
    finally:
        broker.close()
        server.dispose()


class WatchedLock:
    """A lock that lets the test know when somebody comes to wait for it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.wanted = threading.Event()

    def acquire(self, timeout: float = -1) -> bool:
        if self.lock.locked():
            self.wanted.set()
        return self.lock.acquire(timeout=timeout)

    def release(self) -> None:
        self.lock.release()


@pytest.fixture
def silent() -> Iterator[tuple[int, threading.Event]]:
    """A port that takes connections and answers nothing, until the event ends them."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connections = []
            server.settimeout(0.01)
            while not over.is_set():
                try:
                    connections.append(server.accept()[0])
                except TimeoutError:
                    continue
            server.close()  # whoever tries again is refused
            for connection in connections:
                connection.close()

        serving = threading.Thread(target=serve)
        serving.start()
        yield server.getsockname()[1], over
        over.set()
        serving.join(10)


@pytest.mark.usefixtures("clock")
def test_who_waited_for_the_first_to_find_out_does_not_try_by_itself(silent: tuple[int, threading.Event]):
    """A queue of publishers would otherwise wait for one time-out after another."""
    port, over = silent
    broker = broker_at(port)
    lock = WatchedLock()
    broker._lock = lock  # type: ignore[assignment]
    with ThreadPoolExecutor(2) as executor:
        first = executor.submit(failure, broker)
        wait_for(lock.lock.locked, 10, "nobody publishes")
        second = executor.submit(failure, broker)
        assert lock.wanted.wait(10)
        over.set()

    assert first.result() != ""
    assert TOLD not in first.result()
    assert TOLD in second.result()
