"""Celery's own signals, sent for the task that a run calls: what error trackers and tracers listen to."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import current_app, signals
from celery.exceptions import SoftTimeLimitExceeded
from celery.fixups.django import DjangoFixup, DjangoWorkerFixup

from routines_app import service
from routines_app.core.words import Reason, RunStatus
from routines_app.execution import fixup as fixups
from routines_app.execution.stops import Stop
from routines_app.execution.watchdog import watchdog
from routines_app.models import RoutineRun
from tests.acceptance.ringing import routine
from tests.integration.execution import tasks
from tests.integration.execution.test_body import pending
from tests.processes import wait_for

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


def test_the_django_fixup_leaves_the_connections_of_a_run_alone(
    run_it: Callable[..., RoutineRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Celery's Django fix-up closes them around every task; a run still needs them. Nobody is told that it is eager."""
    [fixup] = [each for each in current_app._fixups if isinstance(each, DjangoFixup)]
    closed: list[bool] = []
    monkeypatch.setattr(fixup, "_worker_fixup", DjangoWorkerFixup(fixup.app))
    monkeypatch.setattr(fixup.worker_fixup, "_close_database", lambda: closed.append(True))
    monkeypatch.setattr(fixups, "_kept", set())
    eager: list[bool] = []

    def ask(sender: Any, **_: Any) -> None:
        eager.append(sender.request.is_eager)

    task = current_app.tasks[f"{HERE}.bound"]
    around = {
        signals.task_prerun: (fixup.worker_fixup.on_task_prerun, ask),
        signals.task_postrun: (fixup.worker_fixup.on_task_postrun, ask),
    }
    for signal, receivers in around.items():
        for receiver in receivers:
            signal.connect(receiver, sender=task, weak=False)
    try:
        run_it(pending("bound"))
        assert (closed, eager) == ([], [False, False])
        fixup.worker_fixup.on_task_postrun(sender=task)
        assert closed == [True]
    finally:
        for signal, receivers in around.items():
            for receiver in receivers:
                signal.disconnect(receiver, sender=task)


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


def test_handlers_that_fail_are_called_once_and_change_nothing(
    run_it: Callable[..., RoutineRun], heard: Heard, caplog: pytest.LogCaptureFixture
) -> None:
    """Celery would call the first of them once more, and report its error in place of the body's."""
    tasks.seen.clear()
    row = run_it(pending("clumsy", kwargs={"fail": True}))
    assert (row.status, row.error) == (RunStatus.FAILED, "ValueError: asked to")
    assert tasks.seen == ["on_failure", "after_return"]
    assert [str(facts.get("exception")) for name, facts in heard if name == "task_failure"] == ["asked to"]
    assert caplog.text.count("of task tests.integration.execution.tasks.clumsy failed") == 2
    tasks.seen.clear()
    assert run_it(pending("clumsy", name="again")).status == RunStatus.SUCCESS
    assert tasks.seen == ["after_return"]


def test_celery_stores_nothing_of_a_run(run_it: Callable[..., RoutineRun], monkeypatch: pytest.MonkeyPatch) -> None:
    """It is in the ledger, and masked in its copy; also where a project wants errors of ignored results stored."""
    stored: list[Any] = []
    task = current_app.tasks[f"{HERE}.hooked"]
    monkeypatch.setattr(task, "store_errors_even_if_ignored", True)
    monkeypatch.setattr(task, "track_started", True)
    monkeypatch.setattr(task.backend, "store_result", lambda *told, **_: stored.append(told))
    run_it(pending("hooked", kwargs={"fail": True}))
    run_it(pending("hooked", name="fine"))
    assert stored == []


def test_a_before_start_that_fails_is_the_runs_failure(run_it: Callable[..., RoutineRun], heard: Heard) -> None:
    """The body is not called, as under Celery."""
    row = run_it(pending("unprepared"))
    assert (row.status, row.error) == (RunStatus.FAILED, "LookupError: not prepared")
    assert names(heard) == ["task_prerun", "task_failure", "task_postrun"]
    assert RoutineRun.objects.filter(retry_of=row).count() == 1


@pytest.mark.parametrize("how", ["hang", "swallow"])
def test_a_before_start_that_hangs_is_stopped_as_a_body_is(run_it: Callable[..., RoutineRun], how: str) -> None:
    """The body is not called, even if nothing is to be seen of the interrupt."""
    tasks.seen.clear()
    row = run_it(pending("unprepared", args=[how], timeout_ms=1000, max_attempts=1))
    assert (row.status, row.reason, row.error) == (RunStatus.FAILED, Reason.TIMEOUT, "timed out after 1 s")
    assert tasks.seen == []


def test_a_before_start_can_be_cancelled(run_it: Callable[..., RoutineRun], heard: Heard) -> None:
    row = pending("unprepared", args=["hang"])

    def cancel() -> bool:
        live = watchdog().find(str(row.id))
        return live is not None and live.ask_to_stop(Stop.CANCELLED, time.monotonic())

    thread = threading.Thread(target=lambda: wait_for(cancel, 15, "it could not be stopped"))
    thread.start()
    row = run_it(row)
    thread.join()
    assert (row.status, row.reason) == (RunStatus.CANCELLED, Reason.CANCELLED)
    assert names(heard) == ["task_prerun", "task_postrun"]


def test_retries_that_are_spent_in_before_start_end_the_chain(run_it: Callable[..., RoutineRun]) -> None:
    row = run_it(pending("unprepared", args=["retry"], max_attempts=3))
    assert (row.status, row.error) == (RunStatus.FAILED, "LookupError: not prepared")
    assert not RoutineRun.objects.filter(retry_of=row).exists()


def test_the_ledger_is_written_before_handlers_and_receivers_are_called(run_it: Callable[..., RoutineRun]) -> None:
    """One that hangs, or dies with its process, loses nothing."""
    found: list[tuple[str, bool]] = []

    def look(task_id: str, **_: Any) -> None:
        found.append((RoutineRun.objects.get(id=task_id).status, bool(watchdog().runs())))

    task = current_app.tasks[f"{HERE}.hooked"]
    signals.task_failure.connect(look, sender=task, weak=False)
    try:
        run_it(pending("hooked", kwargs={"fail": True}))
    finally:
        signals.task_failure.disconnect(look, sender=task)
    assert found == [(RunStatus.FAILED, False)]


def test_an_exception_that_cannot_be_formatted_is_still_the_failure(
    run_it: Callable[..., RoutineRun], heard: Heard
) -> None:
    row = run_it(pending("unformattable"))
    assert (row.status, row.error.partition(":")[0]) == (RunStatus.FAILED, "SyntaxError")
    assert str(heard[1][1]["exception"]).startswith("SyntaxError: ")


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


@pytest.fixture
def eager() -> Iterator[None]:
    current_app.conf.task_always_eager = True
    yield
    current_app.conf.task_always_eager = False


@pytest.mark.parametrize("fail", [False, True])
def test_an_eager_run_is_traced_in_the_same_way(eager: None, heard: Heard, fail: bool) -> None:
    """By `task_always_eager`: inline, with handlers and signals, and nothing is raised into who asked for it."""
    tasks.seen.clear()
    row = service.run_now(routine("eager", task=f"{HERE}.hooked", kwargs={"fail": fail}, max_attempts=1))
    row.refresh_from_db()
    assert row.status == (RunStatus.FAILED if fail else RunStatus.SUCCESS)
    ended = "task_failure" if fail else "task_success"
    assert names(heard) == ["task_prerun", ended, "task_postrun"]
    assert [handler[0] for handler in tasks.seen[2:]] == ["on_failure" if fail else "on_success", "after_return"]
    assert "routines_app" not in row.traceback
