"""A beat that waits for a wake-up is ended by a signal, as Celery's own handler does it."""

from __future__ import annotations

import signal
from typing import NoReturn

import pytest

from routines_app.coordination.wakeups import BEATS, Listener


def test_a_signal_handler_that_closes_the_listener_ends_the_wait(redis_url: str) -> None:
    """The handler's SystemExit arrives; an error of the socket that it closed does not take its place."""
    listener = Listener(BEATS)
    listener.wait(0.01)  # subscribed

    def close_and_exit(*_: object) -> NoReturn:
        listener.close()
        raise SystemExit

    before = signal.signal(signal.SIGALRM, close_and_exit)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(SystemExit):
            listener.wait(1.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        listener.close()
