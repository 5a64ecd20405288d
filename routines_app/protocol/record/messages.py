"""From runs to the messages that ring them in. What these look like on the wire is in `coordination/envelope.py`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from routines_app.coordination.envelope import Arguments, Message
from routines_app.core.words import is_exclusive
from routines_app.models import RoutineRun
from routines_app.protocol.ledger.database import ledger_alias

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


def with_arguments(messages: Sequence[Message]) -> list[Message]:
    """The same messages, for routers that may read the arguments of a run. A run that is gone has none."""
    runs = RoutineRun.objects.using(ledger_alias()).filter(id__in=[message.run_id for message in messages])
    known = {str(run_id): own_arguments(*columns) for run_id, *columns in runs.values_list("id", *ARGUMENT_COLUMNS)}
    return [replace(message, arguments=known.get(message.run_id)) for message in messages]


ARGUMENT_COLUMNS = ("args", "kwargs", "routine__args", "routine__kwargs")


def own_arguments(args: Any, kwargs: Any, routine_args: Any, routine_kwargs: Any) -> Arguments:
    """A run without arguments of its own has its routine's."""
    return Arguments(routine_args if args is None else args, routine_kwargs if kwargs is None else kwargs)
