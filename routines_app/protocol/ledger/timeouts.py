"""Bounds on how long a transaction of ours may wait or be left open.

A beat that is frozen inside its claim hides its rows from everybody's SKIP LOCKED: the database ends its transaction.
`SET LOCAL` leaves nothing behind on a connection that a pooler hands to somebody else.
"""

from __future__ import annotations

from django.db import connections

IDLE_MS = 5_000  # rows of a frozen beat are free again after this
STATEMENT_MS = 10_000
LOCK_MS = 2_000  # a tick rather comes back than waits

_POSTGRESQL = (
    f"SET LOCAL idle_in_transaction_session_timeout = {IDLE_MS};"
    f" SET LOCAL statement_timeout = {STATEMENT_MS};"
    f" SET LOCAL lock_timeout = {LOCK_MS}"
)
_MARIADB = (
    f"SET SESSION idle_transaction_timeout = {IDLE_MS // 1000}, innodb_lock_wait_timeout = {LOCK_MS // 1000},"
    f" max_statement_time = {STATEMENT_MS // 1000}"
)


def limit_waits(alias: str) -> None:
    """Call it first in a beat's transaction."""
    connection = connections[alias]
    if connection.vendor == "postgresql":
        statement = _POSTGRESQL
    elif connection.vendor == "mysql" and getattr(connection, "mysql_is_mariadb", False):
        statement = _MARIADB  # MariaDB knows no SET LOCAL; the values suit every transaction of this package
    else:
        return
    with connection.cursor() as cursor:
        cursor.execute(statement)
