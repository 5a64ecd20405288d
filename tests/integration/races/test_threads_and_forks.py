"""What threads of one process share, and what a forked child must not inherit."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from routines_app.coordination import redis_client
from routines_app.coordination.broker import broker
from routines_app.execution import background
from routines_app.execution.watchdog import watchdog
from routines_app.protocol.ledger import clock

pytestmark = pytest.mark.usefixtures("ledger", "short_lived_threads")

forking = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads take turns all the time."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("restless")
def test_threads_that_need_a_client_at_once_each_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error in the heart's thread would end the heartbeats."""
    urls = threading.local()
    monkeypatch.setattr(redis_client, "source", lambda: ("REDIS_URL", urls.mine))
    monkeypatch.setattr(redis_client, "addresses", lambda: [urls.mine])
    monkeypatch.setattr(redis_client, "client_of", lambda url: url)

    def ask(url: str) -> set[object]:
        urls.mine = url
        return {redis_client.client() for _ in range(20_000)}

    with ThreadPoolExecutor(2) as executor:
        assert list(executor.map(ask, ("one", "other"))) == [{"one"}, {"other"}]


@forking
@pytest.mark.parametrize(
    "lock",
    [
        lambda: clock._clock._lock,
        lambda: background._lock,
        lambda: watchdog()._lock,
        lambda: broker()._lock,
    ],
)
def test_a_child_does_not_wait_for_a_lock_that_was_held_when_it_was_forked(lock: Callable[[], threading.Lock]) -> None:
    """The thread that held it is not there to open it."""
    with lock():
        child = os.fork()
        if child == 0:
            os._exit(0 if lock().acquire(timeout=1) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
