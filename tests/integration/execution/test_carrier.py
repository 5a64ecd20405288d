"""Messages that nobody of ours has written: they cost nothing, and change nothing."""

from __future__ import annotations

import logging
import time
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import DataError, connection
from django.utils import timezone

from routines_app.coordination import leases
from routines_app.core.words import RunStatus, RunTrigger
from routines_app.execution import executor
from routines_app.execution.carrier import execute_run
from routines_app.models import RoutineRun, RoutineState
from routines_app.protocol.end.finish import finish
from routines_app.protocol.record.outcome import succeeded
from routines_app.protocol.run.start import Started, start
from tests.acceptance.ringing import ring, routine
from tests.processes import stretched

pytestmark = pytest.mark.usefixtures("ledger", "short_lived_threads")


def deliver(*args: Any, **kwargs: Any) -> str:
    """As a worker calls it. Refusing is quick: a worker's place is for bodies."""
    began = time.monotonic()
    said = str(execute_run(*args, **kwargs))
    assert time.monotonic() - began < stretched(3)
    return said


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        pytest.param([], {}, id="nothing"),
        pytest.param(["not an id"], {}, id="not an id"),
        pytest.param(["z" * 36], {}, id="as long as an id"),
        pytest.param([7], {}, id="a number"),
        pytest.param([None], {}, id="none"),
        pytest.param([["a", {"b": 1}]], {}, id="a list"),
        pytest.param(["x" * 10_000_000], {}, id="ten million characters"),
        pytest.param(["RUN", "abc"], {}, id="the hint is a text"),
        pytest.param(["RUN"], {"exclusive": 2**70}, id="the hint is too large"),
        pytest.param(["RUN"], {"exclusive": -1}, id="the hint is negative"),
        pytest.param(["RUN"], {"exclusive": 1.5}, id="the hint is a fraction"),
        pytest.param(["RUN"], {"exclusive": [1]}, id="the hint is a list"),
        pytest.param(["RUN"], {"exclusive": None}, id="the hint is none"),
        pytest.param(["RUN", False, "more"], {}, id="too many arguments"),
        pytest.param(["RUN"], {"shell": "rm"}, id="an argument that there is not"),
    ],
)
def test_what_is_no_message_of_ours_is_refused_at_once(
    args: list[Any], kwargs: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """In a line of the log, however long the message is; the run that it names stays as it was."""
    run = ring(routine("named", concurrency_policy="FORBID"), send=False)
    with caplog.at_level(logging.WARNING):
        assert deliver(*[str(run.id) if arg == "RUN" else arg for arg in args], **kwargs) == "refused"
    [record] = [record for record in caplog.records if "refused" in record.getMessage()]
    assert len(record.getMessage()) < 300
    assert run.refresh() == RunStatus.PENDING
    assert RoutineState.objects.get(pk=run.row.routine_id).fence == 0


def test_an_unknown_run_of_a_routine_raises_no_fence_and_keeps_no_lease() -> None:
    made = routine("alone", concurrency_policy="FORBID")
    assert deliver(str(uuid4()), exclusive=made.pk) == "nothing to do"
    assert RoutineState.objects.get(pk=made.pk).fence == 0
    assert leases.holder(made.pk) is None


@pytest.mark.parametrize("held", [False, True])
def test_a_run_with_another_routines_id_leaves_that_routine_alone(held: bool) -> None:
    """Neither its lease nor its fence; what the hint says of the run does not matter."""
    alone, other = routine("alone", concurrency_policy="FORBID"), routine("other", concurrency_policy="FORBID")
    if held:
        leases.acquire(alone.pk, "its owner", 30)
    run = ring(other, send=False)
    assert deliver(str(run.id), exclusive=alone.pk) == RunStatus.SUCCESS
    assert RoutineState.objects.get(pk=alone.pk).fence == 0
    holder = leases.holder(alone.pk)
    assert (holder[0] if holder else None) == ("its owner" if held else None)


def test_a_running_run_with_another_routines_id_keeps_no_lease_of_that_routine() -> None:
    alone = routine("alone", concurrency_policy="FORBID")
    run = ring(routine("other", concurrency_policy="FORBID"), send=False)
    begun = start(run.id, "me")
    assert isinstance(begun, Started)
    assert deliver(str(run.id), exclusive=alone.pk) == "nothing to do"
    assert leases.holder(alone.pk) is None
    finish(begun.facts, succeeded(None))


@pytest.mark.parametrize("policy", ["ALLOW", "FORBID"])
@pytest.mark.parametrize("hint", [False, True, "id"])
@pytest.mark.parametrize("held", [False, True])
def test_a_waiting_retry_is_not_started_before_its_time(policy: str, hint: Any, held: bool) -> None:
    """Nor is it handed back, which would send it in a second: the row is as it was."""
    made = routine("waits", concurrency_policy=policy)
    if held:
        leases.acquire(made.pk, "its owner", 30)
    at = timezone.now() + timedelta(hours=1)
    waiting = {"eligible_at": at, "publish_after": at, "admitted_at": None, "dispatched_at": None}
    run = ring(made, send=False, trigger=RunTrigger.RETRY, reason="not_yet", **waiting)
    before = RoutineRun.objects.values().get(id=run.id)
    assert deliver(str(run.id), exclusive=made.pk if hint == "id" else hint) == "nothing to do"
    assert RoutineRun.objects.values().get(id=run.id) == before
    assert (leases.holder(made.pk) is not None) == held


def test_a_start_that_the_database_refuses_is_not_tried_for_half_a_minute(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """That is no outage: it would refuse it the next time too."""

    def refuse(*_: Any, **__: Any) -> None:
        raise DataError("out of range")

    monkeypatch.setattr(executor, "start", refuse)
    run = ring(routine("plain"), send=False)
    assert deliver(str(run.id)) == "refused"
    assert "out of range" in caplog.text


@pytest.mark.skipif(connection.vendor != "postgresql", reason="other databases have no search path")
def test_a_connection_that_a_body_has_spoilt_costs_no_other_run_its_start() -> None:
    """It is refused once, and tried again over a new one."""
    run = ring(routine("plain"), send=False)
    with connection.cursor() as cursor:
        cursor.execute("SET search_path TO pg_catalog")
    connection.close_at = None  # as in a worker, it outlives its run
    assert deliver(str(run.id)) == RunStatus.SUCCESS
