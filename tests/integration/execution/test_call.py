"""Celery's own signals, sent for the task that a run calls: what error trackers and tracers listen to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import current_app, signals
from celery.exceptions import SoftTimeLimitExceeded

from routines_app.core.words import RunStatus
from routines_app.execution.stops import Stop
from routines_app.execution.watchdog import watchdog
from routines_app.models import RoutineRun
from tests.integration.execution import tasks
from tests.integration.execution.test_body import pending

HERE = tasks.__name__
Heard = list[tuple[str, dict[str, Any]]]
SENT = ("task_prerun", "task_success", "task_failure", "task_retry", "task_postrun")


@pytest.fixture
def heard() -> Iterator[Heard]:
    """What was sent for the tasks of these tests, in order."""
    found: Heard = []
    receivers: list[tuple[Any, Callable[..., None]]] = []
    for name in SENT:

        def receive(sender: Any, name: str = name, **facts: Any) -> None:
            if sender.name.startswith(HERE):
                found.append((name, facts | {"task_name": sender.name}))
                raise RuntimeError("a receiver that fails changes nothing")

        getattr(signals, name).connect(receive, weak=False)
        receivers.append((getattr(signals, name), receive))
    yield found
    for signal, receive in receivers:
        signal.disconnect(receive)


def names(heard: Heard) -> list[str]:
    return [name for name, _ in heard]


def test_a_success_is_told(run_it: Callable[..., RoutineRun], heard: Heard) -> None:
    row = run_it(pending("bound", args=[1]))
    assert row.status == RunStatus.SUCCESS
    assert names(heard) == ["task_prerun", "task_success", "task_postrun"]
    before, success, after = (facts for _, facts in heard)
    assert (before["task_id"], before["args"], before["task_name"]) == (str(row.id), (1,), f"{HERE}.bound")
    assert success["result"]["id"] == str(row.id)
    assert (after["state"], after["retval"]["id"]) == ("SUCCESS", str(row.id))


def test_a_failure_is_told_with_its_exception(run_it: Callable[..., RoutineRun], heard: Heard) -> None:
    """As an error tracker wants it: exception, traceback and einfo."""
    row = run_it(pending("hooked", kwargs={"fail": True}))
    assert row.status == RunStatus.FAILED
    assert names(heard) == ["task_prerun", "task_failure", "task_postrun"]
    failure = heard[1][1]
    assert (failure["task_id"], str(failure["exception"])) == (str(row.id), "asked to")
    assert failure["traceback"] is not None
    assert "asked to" in failure["einfo"].traceback
    assert heard[2][1]["state"] == "FAILURE"


def test_a_retry_is_told(run_it: Callable[..., RoutineRun], heard: Heard) -> None:
    run_it(pending("retrying", kwargs={"countdown": 120}))
    assert names(heard) == ["task_prerun", "task_retry", "task_postrun"]
    assert heard[2][1]["state"] == "RETRY"


def test_the_django_fixup_leaves_the_connection_alone(run_it: Callable[..., RoutineRun]) -> None:
    """Celery's Django fix-up closes the database around every task that is not eager; a run still needs it."""
    asked: list[bool] = []

    def as_the_fixup_asks(sender: Any, **_: Any) -> None:
        asked.append(sender.request.is_eager)

    task = current_app.tasks[f"{HERE}.bound"]
    for signal in (signals.task_prerun, signals.task_postrun):
        signal.connect(as_the_fixup_asks, sender=task, weak=False)
    try:
        run_it(pending("bound"))
        assert asked == [True, True]
        assert task.request.is_eager is False
    finally:
        for signal in (signals.task_prerun, signals.task_postrun):
            signal.disconnect(as_the_fixup_asks, sender=task)


@pytest.mark.parametrize("signal", [signals.task_success, signals.task_postrun])
def test_a_receiver_that_is_cut_short_does_not_undo_a_success(run_it: Callable[..., RoutineRun], signal: Any) -> None:
    """The body has returned: that its time is over while a tracker still talks to its server changes nothing."""

    def receive(**_: Any) -> None:
        live = watchdog().runs()
        for run in live:
            run.stop = Stop.TIMEOUT
        raise SoftTimeLimitExceeded

    task = current_app.tasks[f"{HERE}.bound"]
    signal.connect(receive, sender=task, weak=False)
    try:
        assert run_it(pending("bound")).status == RunStatus.SUCCESS
    finally:
        signal.disconnect(receive, sender=task)


def test_a_stop_that_comes_before_the_body_keeps_it_from_running(run_it: Callable[..., RoutineRun]) -> None:
    """Celery logs what its receivers raise, interrupts too."""

    def receive(**_: Any) -> None:
        for run in watchdog().runs():
            run.stop = Stop.CANCELLED
        raise SoftTimeLimitExceeded

    task = current_app.tasks[f"{HERE}.hooked"]
    tasks.seen.clear()
    signals.task_prerun.connect(receive, sender=task, weak=False)
    try:
        row = run_it(pending("hooked"))
    finally:
        signals.task_prerun.disconnect(receive, sender=task)
    assert (row.status, "call" in tasks.seen) == (RunStatus.CANCELLED, False)


def test_a_cancellation_is_no_failure_to_an_error_tracker(run_it: Callable[..., RoutineRun], heard: Heard) -> None:
    def receive(**_: Any) -> None:
        for run in watchdog().runs():
            run.stop = Stop.REPLACED

    task = current_app.tasks[f"{HERE}.hooked"]
    signals.task_prerun.connect(receive, sender=task, weak=False)
    try:
        run_it(pending("hooked", kwargs={"fail": True}))
    finally:
        signals.task_prerun.disconnect(receive, sender=task)
    assert "task_failure" not in names(heard)


def test_an_exception_that_cannot_be_formatted_is_still_the_failure(
    run_it: Callable[..., RoutineRun], heard: Heard
) -> None:
    row = run_it(pending("unformattable"))
    assert (row.status, row.error.partition(":")[0]) == (RunStatus.FAILED, "SyntaxError")
    assert heard[1][1]["einfo"] is None


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("how", ["return", "exit", "raise", "retry", "ignore"])
def test_a_forked_process_calls_neither_handlers_nor_receivers(
    run_it: Callable[..., RoutineRun], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, how: str
) -> None:
    """They would speak to servers over connections that are its parent's."""
    called = tmp_path / "called"

    def note(*_: Any, **__: Any) -> None:
        with called.open("a") as file:
            file.write(f"{os.getpid()}\n")

    task = current_app.tasks[f"{HERE}.forking"]
    for handler in ("on_success", "on_failure", "on_retry", "after_return"):
        monkeypatch.setattr(tasks.Hooked, handler, note)
    for name in SENT:
        getattr(signals, name).connect(note, sender=task, weak=False)
    try:
        assert run_it(pending("forking", kwargs={"how": how})).status == RunStatus.SUCCESS
    finally:
        for name in SENT:
            getattr(signals, name).disconnect(note, sender=task)
    assert set(called.read_text().split()) == {str(os.getpid())}
