"""From runs to the messages that ring them in. What these look like on the wire is in `coordination/envelope.py`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from routines_app.coordination.envelope import Message
from routines_app.core.words import is_exclusive
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


def message_of(
    run_id: UUID, name: str, task: str, queue: str, priority: str, timeout_ms: int, policy: str, routine_id: int
) -> Message:
    """The message of one run; the order of the arguments is that of `admit_runs.sql`."""
    return Message(str(run_id), name, task, queue, priority, timeout_ms, routine_id if is_exclusive(policy) else 0)


def messages_of(runs: QuerySet[RoutineRun]) -> list[Message]:
    """One message for each of the runs, in one statement."""
    return messages_from(runs.values_list(*_COLUMNS))


def messages_from(rows: Iterable[tuple[Any, ...]]) -> list[Message]:
    """The same for rows that were already read."""
    return [message_of(*row) for row in rows]
