"""A stranger's session that holds rows, for tests of who waits for whom."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

needs_row_locks = pytest.mark.skipif(connection.vendor == "sqlite", reason="only where rows are locked one by one")
needs_postgresql = pytest.mark.skipif(connection.vendor != "postgresql", reason="only where times have an infinity")


@contextmanager
def stranger() -> Iterator[Any]:
    """A session of its own, inside a transaction that is rolled back at the end."""
    other = connection.copy()
    other.set_autocommit(False)
    try:
        yield other
    finally:
        other.rollback()
        other.close()


@contextmanager
def held(table: str, column: str, values: Sequence[object]) -> Iterator[Any]:
    """Somebody has locked these rows, as `SELECT … FOR UPDATE` does; one by one, or a scan may lock others as well."""
    with stranger() as other:
        with other.cursor() as cursor:
            for value in values:
                cursor.execute(f"SELECT 1 FROM routines_{table} WHERE {column} = %s FOR UPDATE", [value])
                cursor.fetchall()
        yield other


def row_locked(run_id: UUID) -> AbstractContextManager[Any]:
    """Somebody has locked this run's row."""
    return held("routinerun", "id", [key_of(run_id)])


def key_of(run_id: UUID) -> object:
    """An id as the column has it: MariaDB and MySQL keep it as text."""
    return run_id.hex if connection.vendor == "mysql" else run_id


def somebody_waits() -> bool:
    """For a lock, in the database of these tests: others on the same server have waits of their own."""
    with connection.cursor() as cursor:
        return waits_on_mariadb(cursor) if connection.vendor == "mysql" else waits_on_postgresql(cursor)


def waits_on_postgresql(cursor: Any) -> bool:
    """Said by the sessions themselves."""
    cursor.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    return bool(cursor.fetchone()[0])


def waits_on_mariadb(cursor: Any) -> bool:
    """Said by InnoDB's monitor: its tables of transactions are a cache that is not filled anew for 100 ms after it was
    last read, so whoever asks more often than that sees the same answer for ever.
    """
    cursor.execute("SELECT id FROM information_schema.processlist WHERE db = DATABASE()")
    ours = {thread for (thread,) in cursor.fetchall()}
    cursor.execute("SHOW ENGINE INNODB STATUS")
    transactions = cursor.fetchone()[2].split("---TRANSACTION ")[1:]
    waiting = [re.search(r"thread id (\d+)", each) for each in transactions if "LOCK WAIT" in each]
    return any(found and int(found[1]) in ours for found in waiting)
