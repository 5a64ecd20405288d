"""Rows to be refused, and the refusal."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.db.utils import DatabaseError

from routines_app.models import Routine, RoutineRun

NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)
ROUTINE = {"name": "report", "task": "t"}
CRON = ROUTINE | {"trigger_kind": "CRON", "cron": "0 * * * *"}


def routine(**values: Any) -> Routine:
    return Routine.objects.create(**(ROUTINE | values))


def run(of: Routine, **values: Any) -> RoutineRun:
    defaults = {"routine": of, "task": "t", "scheduled_for": NOW, "eligible_at": NOW, "idempotency_key": "k"}
    return RoutineRun.objects.create(**(defaults | values))


ALSO = {
    # SQLite names the columns of a unique index instead of the index.
    "one_open_batch_of_a_name": "routines_pausebatch.name, routines_pausebatch.is_open",
    "one_saved_filter_per_name": "routines_savedfilter.listed, routines_savedfilter.owner, routines_savedfilter.name",
    "one_run_per_slot_and_attempt": "idempotency_key",
    "one_exclusive_run_at_a_time": "running_key",
    # An unknown word breaks this rule too, and PostgreSQL names the first in the alphabet.
    "routine_trigger_is_known": "routine_has_what_its_trigger_needs",
    "one_sample_at_a_time": "rotation_id",
    "run_status_is_known": "run_completed_means_ended",
}


def assert_refused(name: str, write: Callable[[], object]) -> None:
    """The database refuses the write and names the constraint (or, for a plain unique column, the column)."""
    with pytest.raises((IntegrityError, DatabaseError)) as caught, transaction.atomic():
        write()
    text = str(caught.value)
    assert name in text or ALSO.get(name, name) in text
