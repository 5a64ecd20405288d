"""Runs as a claim and a start leave them, for tests of the verbs."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from routines_app import service
from routines_app.core.words import RunStatus
from routines_app.models import Routine, RoutineRun
from tests.integration.conftest import MONDAY


def waiting_run(routine: Routine, number: int, **values: object) -> RoutineRun:
    """A run that is about to be sent, as a claim leaves it."""
    defaults = {
        "routine": routine,
        "task": routine.task,
        "scheduled_for": MONDAY,
        "eligible_at": MONDAY,
        "admitted_at": MONDAY,
        "publish_after": MONDAY + timedelta(seconds=5),
        "idempotency_key": f"test:{number}",
    }
    return RoutineRun.objects.create(**(defaults | values))


def running_run(routine: Routine, number: int = 1, **values: Any) -> RoutineRun:
    """A run in the middle of its body."""
    started = {"status": RunStatus.RUNNING, "started_at": MONDAY, "heartbeat_at": MONDAY, "dispatched_at": MONDAY}
    return waiting_run(routine, number, **(started | values))


def made_at(moment: datetime) -> UUID:
    """An id that was made then: ids carry the time of their creation."""
    return UUID(int=service.oldest_run_id(moment).int | RoutineRun().pk.int & (1 << 62) - 1)
