"""Bounds on how long a transaction of a beat may wait or be left open, and the isolation that it works at.

Whatever a beat writes stands in `bounded()`: a row that somebody else holds costs it a moment, never its other
routines. What it reads outside of that has limits too (`bounded_reads`): a whole table may be locked. And a beat that
is frozen inside its claim hides its rows from everybody's SKIP LOCKED: the database ends its transaction.

PostgreSQL takes the limits for the transaction alone (`SET LOCAL`): nothing is left behind on a connection that a
pooler hands to somebody else. MariaDB and MySQL know limits of a session only. Either may be a caller's own (`run_now`
in a web request lets runs into their pool, `prune_runs` stands in somebody's `atomic()`): what was set before is set
again afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

from django.db import Error, connections, transaction

from routines_app.protocol.ledger.database import ledger_alias

IDLE_MS = 5_000  # rows of a frozen beat are free again after this
STATEMENT_MS = 10_000
LOCK_MS = 500  # a tick rather comes back than waits; those who hold a row for good reason hold it for milliseconds
QUICK_LOCK_MS = 100  # where it is known that some row is locked, and which is looked for

# Our decisions are made behind locks: what was committed while we waited for one must be seen.
_ISOLATION = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED"

_inside: ContextVar[bool] = ContextVar("inside", default=False)


@contextmanager
def bounded(*, lock_ms: int = LOCK_MS, using: str | None = None) -> Iterator[None]:
    """A transaction (of the ledger) that waits for no lock longer than this, and for nothing for long.

    Inside a caller's transaction the caller's own limits hold again when it is left. What is done on commit comes after
    it: whoever writes there needs limits of its own.
    """
    alias = ledger_alias() if using is None else using
    connection = connections[alias]
    with (
        _session_limits(connection, lock_ms),
        transaction.atomic(using=alias),
        _transaction_limits(connection, lock_ms),
        _noted(),
    ):
        yield


@contextmanager
def _noted() -> Iterator[None]:
    token = _inside.set(True)
    try:
        yield
    finally:
        _inside.reset(token)


def is_bounded() -> bool:
    """Whether this is done inside `bounded`, so by somebody who rather comes back than waits."""
    return _inside.get()


def run_bounded(statement: str, arguments: Sequence[Any]) -> int:
    """One statement of PostgreSQL, bounded, in a transaction of its own; how many rows it was about.

    In one round trip where that is possible: statements that are sent together are one transaction.
    """
    connection = connections[ledger_alias()]
    with connection.cursor() as cursor:
        if not _takes_several(connection, cursor):
            with bounded():
                cursor.execute(statement, arguments)
                return int(cursor.rowcount)
        cursor.execute(f"{_ISOLATION}; {_limits(LOCK_MS)}; {statement}", arguments)
        while cursor.nextset():  # the last result is that of our statement
            pass
        return int(cursor.rowcount)


@contextmanager
def bounded_reads() -> Iterator[None]:
    """In here a plain read of the ledger, outside of any transaction, has limits as well. In this thread."""
    with connections[ledger_alias()].execute_wrapper(_limit_read):
        yield


def _limit_read(execute: Callable[..., Any], statement: Any, arguments: Any, many: bool, context: Any) -> Any:
    """Still in one round trip, as a rule: an idle beat does little else than read."""
    connection, cursor = context["connection"], context["cursor"]
    if connection.in_atomic_block or not _is_plain_read(statement, cursor):
        return execute(statement, arguments, many, context)
    if connection.vendor != "postgresql":
        return execute(_limited_on_mysql(connection, statement), arguments, many, context)
    if not _takes_several(connection, cursor):
        with bounded(using=connection.alias):
            return execute(statement, arguments, many, context)
    found = execute(f"{_limits(LOCK_MS)}; {statement}", arguments, many, context)
    while cursor.nextset():  # the last result is that of the read
        pass
    return found


def _is_plain_read(statement: Any, cursor: Any) -> bool:
    """Not what a cursor of the server reads: that has a name, and takes no second statement."""
    is_named = getattr(cursor.cursor, "name", None) is not None  # those of psycopg2 all have the attribute
    return isinstance(statement, str) and statement.startswith("SELECT ") and not is_named


def _limited_on_mysql(connection: Any, statement: str) -> str:
    """For this statement alone. SQLite has nobody to wait for: who reads there sees what was before."""
    if connection.vendor != "mysql":
        return statement
    if connection.mysql_is_mariadb:
        return f"SET STATEMENT lock_wait_timeout = 1, max_statement_time = {STATEMENT_MS // 1000} FOR {statement}"
    return statement.replace("SELECT ", f"SELECT /*+ MAX_EXECUTION_TIME({STATEMENT_MS}) */ ", 1)


def _takes_several(connection: Any, cursor: Any) -> bool:
    """Outside of a transaction, by a driver that puts the arguments in itself and has more than one result."""
    inside = connection.in_atomic_block or not connection.get_autocommit()
    is_psycopg_3 = hasattr(cursor.cursor, "adapters")
    return is_psycopg_3 and not inside and not connection.settings_dict["OPTIONS"].get("server_side_binding")


@contextmanager
def _transaction_limits(connection: Any, lock_ms: int) -> Iterator[None]:
    if connection.vendor != "postgresql":
        yield
        return
    # Inside somebody else's transaction theirs is the isolation; only the first statement of one may set it.
    is_outermost = not connection.savepoint_ids
    before = "" if is_outermost else _limits_now(connection)
    _run(connection, f"{_ISOLATION}; {_limits(lock_ms)}" if is_outermost else _limits(lock_ms))
    yield
    # An error goes back to the savepoint, and the limits with it; else they would last until the caller's commit.
    if before and not connection.needs_rollback:
        _run(connection, before)


def _limits(lock_ms: int) -> str:
    return _local(idle_in_transaction_session_timeout=IDLE_MS, statement_timeout=STATEMENT_MS, lock_timeout=lock_ms)


def _limits_now(connection: Any) -> str:
    names = ("idle_in_transaction_session_timeout", "statement_timeout", "lock_timeout")
    with connection.cursor() as cursor:
        cursor.execute("SELECT " + ", ".join(f"current_setting('{name}')" for name in names))
        return _local(**dict(zip(names, cursor.fetchone(), strict=True)))


def _local(**values: object) -> str:
    return "; ".join(f"SET LOCAL {name} = '{value}'" for name, value in values.items())


def _run(connection: Any, statements: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statements)


@contextmanager
def _session_limits(connection: Any, lock_ms: int) -> Iterator[None]:
    wanted = _session_values(connection, lock_ms)
    if not wanted:
        yield
        return
    before = _read(connection, wanted)
    session = connection.connection
    with connection.cursor() as cursor:
        if not connection.in_atomic_block:
            cursor.execute(_ISOLATION)  # of the next transaction
        cursor.execute(_setting(wanted))
    try:
        yield
    finally:
        # A session that is gone has taken its limits along, and the error that ended it is the one to tell.
        if connection.connection is session:
            # By the driver's own cursor: after a deadlock inside a caller's transaction Django lets nothing through.
            with suppress(Error), connection.wrap_database_errors, session.cursor() as cursor:
                cursor.execute(_setting(before))


def _session_values(connection: Any, lock_ms: int) -> Mapping[str, float]:
    if connection.vendor != "mysql":
        return {}
    # Whole seconds. MariaDB takes a zero as well, but then SKIP LOCKED fails where there is something to skip (1180).
    lock_wait: dict[str, float] = {"innodb_lock_wait_timeout": max(1, round(lock_ms / 1000))}
    if not connection.mysql_is_mariadb:
        return lock_wait | {"max_execution_time": STATEMENT_MS}
    return lock_wait | {"idle_transaction_timeout": IDLE_MS // 1000, "max_statement_time": STATEMENT_MS // 1000}


def _read(connection: Any, names: Mapping[str, float]) -> dict[str, float]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT " + ", ".join(f"@@SESSION.{name}" for name in names))
        return dict(zip(names, cursor.fetchone(), strict=True))


def _setting(values: Mapping[str, float]) -> str:
    return "SET " + ", ".join(f"SESSION {name} = {value}" for name, value in values.items())
