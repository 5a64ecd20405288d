"""Taking back what was asked for by hand."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from routines_app import service, signals
from routines_app.core.words import Reason, RunStatus, Source
from routines_app.models import Routine, RoutineRun, RoutineState
from routines_app.verbs import clear_overrides as module
from tests.integration.conftest import MONDAY, Time
from tests.integration.verbs.rows import running_run, waiting_run

Make = Callable[..., Routine]

pytestmark = pytest.mark.django_db

ASKED = {"trigger": "manual", "requested_at": MONDAY, "admitted_at": None, "publish_after": None, "reason": "ceiling"}


def cancelled() -> set[str]:
    return set(RoutineRun.objects.filter(status=RunStatus.CANCELLED).values_list("idempotency_key", flat=True))


def test_only_waiting_requests_are_taken_away(make: Make) -> None:
    """In a pool's queue or outside, and their waiting retries; not what is sent, runs, or goes by itself."""
    pool = service.create_pool("db", max_concurrent=1)
    routine = make(pool=pool)
    waiting_run(routine, 1, pool=pool, **ASKED)
    waiting_run(routine, 2, pool=pool, **ASKED | {"trigger": "retry", "reason": "not_yet", "attempt": 2})
    waiting_run(make("free"), 3, **ASKED | {"admitted_at": MONDAY, "publish_after": MONDAY, "reason": ""})
    waiting_run(routine, 4, pool=pool, **ASKED | {"requested_at": None, "trigger": "schedule"})
    waiting_run(routine, 5, pool=pool, **ASKED | {"admitted_at": MONDAY, "dispatched_at": MONDAY})
    running_run(routine, 6, pool=pool, requested_at=MONDAY, trigger="manual")
    assert service.clear_overrides(actor="ann", reason="too many") == 3
    assert cancelled() == {"test:1", "test:2", "test:3"}
    ended = RoutineRun.objects.filter(status=RunStatus.CANCELLED)
    assert set(ended.values_list("reason", "completed_at", "publish_after", "error")) == {
        (Reason.CANCELLED, MONDAY, None, "cancelled by ann: too many")
    }
    assert service.clear_overrides() == 0


def test_of_one_pool_only_its_own(make: Make) -> None:
    """The pool of the run counts, whatever its routine has now."""
    one, other = (service.create_pool(name, max_concurrent=1) for name in ("one", "other"))
    routine = make(pool=other)
    waiting_run(routine, 1, pool=one, **ASKED)
    waiting_run(routine, 2, pool=other, **ASKED)
    waiting_run(routine, 3, **ASKED)
    assert service.clear_overrides("one") == 1
    assert cancelled() == {"test:1"}
    with pytest.raises(service.NotFound):
        service.clear_overrides("none")


def test_each_is_told_and_beats_are_woken(make: Make, django_capture_on_commit_callbacks: Any) -> None:
    """As when somebody cancels them one by one."""
    for number in (1, 2):
        waiting_run(make(f"routine {number}"), number, **ASKED)
    told: list[str] = []

    def receive(run: RoutineRun, **_: Any) -> None:
        told.append(run.idempotency_key)

    signals.run_cancelled.connect(receive)
    with django_capture_on_commit_callbacks(execute=True) as callbacks:
        service.clear_overrides()
    signals.run_cancelled.disconnect(receive)
    assert sorted(told) == ["test:1", "test:2"]
    assert "wake_beats" in [callback.__name__ for callback in callbacks]


def test_a_catch_up_that_waited_for_a_request_goes_on(make: Make, time: Time) -> None:
    """It must not hang on a run that was taken away."""
    routine = make(cron="0 * * * *", catch_up_policy="ALL")
    RoutineState.objects.update(next_source=Source.CATCHING_UP, next_run_at=None)
    waiting_run(routine, 1, **ASKED)
    service.clear_overrides()
    state = RoutineState.objects.get()
    assert (state.next_source, state.next_run_at) == (Source.BASELINE_CRON, MONDAY)


def test_many_are_taken_away_batch_by_batch(
    make: Make, monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    """Statements for each batch, not for each run."""
    for number in range(12):
        waiting_run(make(f"routine {number}"), number, **ASKED)
    with django_assert_max_num_queries(14):
        assert service.clear_overrides() == 12
    RoutineRun.objects.update(status=RunStatus.PENDING, completed_at=None)
    monkeypatch.setattr(module, "CANCELLED_AT_ONCE", 2)
    monkeypatch.setattr(module, "READ_AT_ONCE", 4)
    so_far: list[int] = []
    assert service.clear_overrides(progress=so_far.append) == 12
    assert so_far == [2, 4, 6, 8, 10, 12]


def test_what_is_asked_for_meanwhile_is_not_meant(make: Make) -> None:
    """Whoever presses the button has seen what was there."""
    waiting_run(make(), 1, **ASKED | {"requested_at": MONDAY + timedelta(seconds=1)})
    assert service.clear_overrides() == 0


def test_what_would_be_cancelled_can_be_looked_at_first(make: Make) -> None:
    """In the order of the requests, and no more of them than wanted."""
    pool = service.create_pool("db", max_concurrent=1)
    routine = make("report", pool=pool)
    asked = [MONDAY - timedelta(seconds=number) for number in (1, 3, 2)]
    for number, at in enumerate(asked):
        waiting_run(routine, number, pool=pool, **ASKED | {"requested_at": at, "requested_by": "ann"})
    waiting_run(make("other"), 9, **ASKED)
    found = service.requests_to_clear("db", limit=2)
    assert found.count == 3
    assert [(each.name, each.requested_at, each.requested_by) for each in found.first] == [
        ("report", asked[1], "ann"),
        ("report", asked[2], "ann"),
    ]
    assert service.requests_to_clear(until=asked[2]).count == 2
    with pytest.raises(service.NotFound):
        service.requests_to_clear("none")


def test_a_time_to_come_spares_nothing_less(make: Make) -> None:
    """What is asked for later than now is never meant."""
    waiting_run(make(), 1, **ASKED | {"requested_at": MONDAY + timedelta(seconds=1)})
    assert service.clear_overrides(until=MONDAY + timedelta(hours=1)) == 0


def test_a_bound_without_a_timezone_is_refused() -> None:
    """It could mean many moments."""
    with pytest.raises(service.RoutineError, match="until"):
        service.clear_overrides(until=datetime(2026, 1, 1))
