"""The messages that ring runs in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet

from routines_app.coordination.envelope import Message
from routines_app.core.words import ConcurrencyPolicy
from routines_app.models import RoutineRun

_COLUMNS = (
    "id",
    "routine__name",
    "task",
    "queue",
    "routine__priority",
    "timeout_ms",
    "routine__concurrency_policy",
    "routine_id",
)


def messages_of(runs: QuerySet[RoutineRun]) -> list[Message]:
    """One message for each of the runs, in one statement."""
    return messages_from(runs.values_list(*_COLUMNS))


def messages_from(rows: Iterable[tuple[Any, ...]]) -> list[Message]:
    """The same for rows that were already read; the order of their columns is that of `admit_runs.sql`."""
    return [
        Message(
            str(run_id), name, task, queue, priority, timeout_ms, 0 if policy == ConcurrencyPolicy.ALLOW else routine_id
        )
        for run_id, name, task, queue, priority, timeout_ms, policy, routine_id in rows
    ]
