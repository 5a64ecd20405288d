"""From runs to the messages that ring them in. What these look like on the wire is in `coordination/envelope.py`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast, Coalesce, Left

from routines_app.coordination.envelope import Arguments, Message
from routines_app.coordination.shown_arguments import MOST_READ
from routines_app.core.words import is_exclusive
from routines_app.models import RoutineRun
from routines_app.protocol.ledger.database import ledger_alias

# As much of stored JSON as a message shows something of: longer ones are not carried about. As SQL, and for the ORM.
BRIEF_SQL = f"left({{}}::text, {MOST_READ + 1})"


def brief(path: str) -> Left:
    return Left(as_text(path), MOST_READ + 1)


def as_text(path: str) -> Cast:
    return Cast(path, TextField())


# A run without arguments of its own has its routine's.
SHOWN_COLUMNS = (
    Left(Cast(Coalesce("args", "routine__args"), TextField()), MOST_READ + 1),
    Left(Cast(Coalesce("kwargs", "routine__kwargs"), TextField()), MOST_READ + 1),
    as_text("routine__options"),
)
_COLUMNS = (
    "id",
    "routine__name",
    "task",
    "queue",
    "routine__priority",
    "timeout_ms",
    "routine__concurrency_policy",
    "routine_id",
    *SHOWN_COLUMNS,
)


def message_of(
    run_id: UUID,
    name: str,
    task: str,
    queue: str,
    priority: str,
    timeout_ms: int | None,
    policy: str,
    routine_id: int,
    args: str | None,
    kwargs: str | None,
    options: str | None,
) -> Message:
    """The message of one run; the order of the arguments is that of `admit_runs.sql`, the last three are JSON."""
    exclusive = routine_id if is_exclusive(policy) else 0
    return Message(
        str(run_id), name, task, queue, priority, timeout_ms, exclusive, args or "", kwargs or "", options or ""
    )


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
