"""The ledger does what it is asked, and its answer does not come: the connection was lost on the way back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import OperationalError, connection

from routines_app.coordination import leases
from routines_app.core.words import Reason, RunStatus
from routines_app.models import Routine, RoutineRun
from routines_app.protocol.end import finish as finish_module
from routines_app.protocol.end.finish import Lost, close_run, finish
from routines_app.protocol.record.outcome import failed, succeeded
from routines_app.protocol.run import begin as begin_module
from routines_app.protocol.run import start as start_module
from routines_app.protocol.run.start import NotOurs, Started, start
from tests.acceptance.ringing import ring, routine
from tests.integration.conftest import Execute
from tests.integration.hearing import Heard, hearing, names_of

pytestmark = pytest.mark.usefixtures("ledger", "short_lived_threads")

FAIL = "tests.acceptance.tasks.fail"

both_kinds = pytest.mark.parametrize("policy", ["ALLOW", "FORBID"])


def lose_the_first_answer(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[Any]:
    """What it was called with, each time."""
    act: Callable[..., Any] = getattr(module, name)
    calls: list[Any] = []

    def lossy(*args: Any, **kwargs: Any) -> Any:
        calls.append(args)
        answer = act(*args, **kwargs)
        if len(calls) == 1:
            connection.close()
            raise OperationalError("server closed the connection unexpectedly")
        return answer

    monkeypatch.setattr(module, name, lossy)
    return calls


@both_kinds
@pytest.mark.parametrize("hint", [True, False])
def test_a_start_whose_answer_was_lost_runs_its_body(
    policy: str, hint: bool, run_it: Execute, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the row would be RUNNING, and nobody at work."""
    made = routine("unheard", concurrency_policy=policy)
    calls = lose_the_first_answer(monkeypatch, start_module, "begin")
    row = run_it(ring(made, send=False).row, exclusive=made.pk if hint and policy == "FORBID" else False)
    assert (row.status, row.reason) == (RunStatus.SUCCESS, "")
    assert len(calls) >= 2
    assert leases.holder(made.pk) is None


@both_kinds
def test_only_the_same_delivery_is_told_once_more(policy: str) -> None:
    """A worker's name says nothing: it repeats under threads, and the message may have come twice."""
    run = ring(routine("twice", concurrency_policy=policy), send=False)
    by = begin_module.Starter(worker="me")
    begun = start(run.id, "me", token=by.token)
    assert isinstance(begun, Started)
    assert start(run.id, "me") == NotOurs()
    assert start(run.id, "me", token=by.token) == begun
    finish(begun.facts, succeeded(None))
    assert start(run.id, "me", token=by.token) == NotOurs()


@pytest.fixture
def heard() -> Iterator[Heard]:
    with hearing("run_succeeded", "run_failed", "routine_exhausted", "routine_parked") as heard:
        yield heard


@both_kinds
@pytest.mark.parametrize(
    ("task", "told"),
    [
        (None, ["run_succeeded"]),
        (FAIL, ["run_failed", "routine_exhausted", "routine_parked"]),
    ],
)
def test_an_end_whose_answer_was_lost_is_told_once(
    policy: str, task: str | None, told: list[str], run_it: Execute, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the worker itself, at once; it gives its lease back, and notes that nobody else need tell it."""
    made = routine("unheard", concurrency_policy=policy, max_attempts=1, park_after=1)
    if task:
        Routine.objects.filter(pk=made.pk).update(task=task)
        made.task = task
    lose_the_first_answer(monkeypatch, finish_module, "_end")
    row = run_it(ring(made, send=False).row)
    assert row.status == (RunStatus.FAILED if task else RunStatus.SUCCESS)
    assert names_of(heard) == told
    assert row.tell_after is None
    assert leases.holder(made.pk) is None
    assert RoutineRun.objects.count() == 1


def test_an_end_that_somebody_else_wrote_is_not_taken_for_our_own(heard: Heard) -> None:
    """Our first try never arrived, and a beat has orphaned the run meanwhile: that one has told it."""
    begun = start(ring(routine("silent", max_attempts=1), send=False).id, "me")
    assert isinstance(begun, Started)
    close_run(begun.facts.id, failed(Reason.ORPHANED, "silent"))
    assert finish(begun.facts, succeeded(None), again=True) == Lost()
    assert names_of(heard) == ["run_failed", "routine_exhausted"]
