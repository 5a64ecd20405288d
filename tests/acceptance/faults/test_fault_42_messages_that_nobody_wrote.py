"""Fault 42: forged and broken messages: refused at once; no fence raised, no slot held."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any
from uuid import uuid4

from django.utils import timezone

from routines_app.coordination import leases
from routines_app.coordination.envelope import EXECUTE_TASK
from routines_app.core.words import RunStatus
from routines_app.models import RoutineState
from tests.acceptance.app import app
from tests.acceptance.fault import Fault
from tests.acceptance.ringing import ring, routine
from tests.acceptance.stack import Stack


def send(*args: Any, task_id: str | None = None, **kwargs: Any) -> None:
    with app.connection_for_write() as connection:
        options = {"connection": connection, "ignore_result": True, "task_id": task_id}
        app.send_task(EXECUTE_TASK, args=list(args), kwargs=kwargs, **options)


def test_fault_42_messages_that_nobody_wrote_are_refused_at_once(stack: Stack, fault: Fault) -> None:
    """One place for bodies, and a dozen such messages before the run that it is for."""
    stack.worker(concurrency=1)
    alone = routine("alone", concurrency_policy="FORBID")
    soon = timezone.now() + timedelta(hours=1)
    waiting = {"eligible_at": soon, "publish_after": soon, "admitted_at": None, "dispatched_at": None}
    retry = ring(alone, send=False, trigger="retry", reason="not_yet", **waiting)
    named = str(ring(routine("named", concurrency_policy="FORBID"), send=False).id)
    began = time.monotonic()
    send(named, exclusive="abc")
    send(named, exclusive=2**70)
    send(named, exclusive=[1], task_id="not an id either")
    send(named, more="than we write")
    send("not an id")
    send("x" * 1_000_000)
    send({"run": named})
    send()
    send(str(uuid4()), exclusive=alone.pk)
    send(str(retry.id))
    send(str(retry.id), exclusive=alone.pk)
    send(str(retry.id), exclusive=True)
    after = ring(routine("after"))
    stack.wait_until(lambda: after.refresh() == RunStatus.SUCCESS, 10, "the run that came after them did not start")
    fault.recovered(time.monotonic() - began, 5, "42: twelve messages that nobody wrote hold nobody up")
    assert [body.routine for body in stack.bodies()] == ["after"]
    assert (retry.refresh(), retry.row.eligible_at) == (RunStatus.PENDING, soon)
    assert RoutineState.objects.get(pk=alone.pk).fence == 0
    assert leases.holder(alone.pk) is None
