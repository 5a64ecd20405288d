"""What a worker's main process knows of its monitors, its children read on the board."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from celery import current_app

from routines_app.coordination import monitors, redis_client
from routines_app.coordination.monitors import Hearsay
from routines_app.execution import board, monitored
from routines_app.execution.background import drain


class Timer:
    """Celery's: calls nobody here."""

    def __init__(self) -> None:
        self.cancelled = False

    def call_repeatedly(self, seconds: float, fun: Any, args: Any = ()) -> Timer:
        return self

    def cancel(self) -> None:
        self.cancelled = True


@pytest.fixture
def step(monkeypatch: pytest.MonkeyPatch) -> Iterator[monitored.Listening]:
    """Of a worker that has just been started."""
    monkeypatch.setattr(board, "_board", board.Board())
    monkeypatch.setattr(redis_client, "_known_state", redis_client._State())  # which nothing was away for yet
    monkeypatch.setattr(monitors, "_asks", monitored.are_wanted)
    yield monitored.Listening(SimpleNamespace())
    drain(5)


def consumer(groups: set[str] | None, enabled: bool = True) -> Any:
    dispatcher = current_app.events.Dispatcher(enabled=False, groups=groups)
    dispatcher.enabled = enabled
    return SimpleNamespace(event_dispatcher=dispatcher, timer=Timer())


@pytest.mark.parametrize(
    ("groups", "enabled", "wanted"),
    [(None, True, True), ({"worker"}, True, False), ({"worker", "task"}, True, True), (None, False, False)],
)
def test_a_worker_is_asked_as_celery_is(
    step: monitored.Listening, redis_url: str, groups: set[str] | None, enabled: bool, wanted: bool
) -> None:
    """-E, neither, by remote control; and a worker that sends no events at all."""
    step.start(consumer(groups, enabled))
    assert monitors.wanted() is wanted
    drain(5)
    assert Hearsay().wanted() is wanted  # so other processes are told
    step.stop(None)


def test_remote_control_is_heard_both_ways(step: monitored.Listening, redis_url: str) -> None:
    parent = consumer({"worker"})
    step.start(parent)
    assert not monitors.wanted()
    parent.event_dispatcher.groups.add("task")
    step.look(parent)
    assert monitors.wanted()
    parent.event_dispatcher.groups.discard("task")
    step.look(parent)
    assert not monitors.wanted()
    step.stop(parent)
    assert parent.timer.cancelled


def test_between_two_connections_there_is_nobody_to_tell(step: monitored.Listening) -> None:
    parent = consumer(None)
    parent.event_dispatcher = None
    step.look(parent)
    assert not monitors.wanted()
