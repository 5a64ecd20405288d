"""The different values of a column, one step along its index for each: what a million rows have costs as little as what
ten have."""

from __future__ import annotations

from django.db import connections

from routines_app.models import Node, Role, Routine
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.checking.known_tasks import is_ours, registered_tasks

TASKS = 1_000  # different ones that are compared with what is registered

_STEPS = """
WITH RECURSIVE found (value, place) AS (
    SELECT MIN({column}), 1 FROM {table} WHERE {column} > ''
    UNION ALL
    SELECT (SELECT MIN({column}) FROM {table} WHERE {column} > found.value), place + 1
    FROM found WHERE found.value IS NOT NULL AND place < %s
)
SELECT value FROM found WHERE value IS NOT NULL
"""


def groups_of_routines(limit: int) -> list[str]:
    """The first groups that there are, by name."""
    return _distinct("group", limit)


def unregistered_tasks() -> list[str] | None:
    """The tasks of routines that neither this process nor any worker knows; None: there are too many to say."""
    wanted = _distinct("task", TASKS + 1)
    if len(wanted) > TASKS:
        return None
    known = known_anywhere()
    return [name for name in wanted if name not in known and not is_ours(name)]


def known_anywhere() -> set[str]:
    """The tasks that this process has registered, and those that workers have said they have."""
    nodes = Node.objects.using(ledger_alias()).filter(role=Role.WORKER).values_list("tasks", flat=True)
    reported = {name for tasks in nodes if isinstance(tasks, list) for name in tasks}
    return {*registered_tasks(), *reported}


def _distinct(column: str, limit: int) -> list[str]:
    connection = connections[ledger_alias()]
    quoted = {"column": connection.ops.quote_name(column), "table": Routine._meta.db_table}
    with connection.cursor() as cursor:
        cursor.execute(_STEPS.format(**quoted), [limit])
        return [str(value) for (value,) in cursor.fetchall()]
