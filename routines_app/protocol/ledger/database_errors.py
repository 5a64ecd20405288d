"""What an error of the database says: that the database is away, or only that this statement could not be done now.

Everybody who goes on after an error asks here. Only an outage says something about all rows: heartbeats could not be
written, connections are gone. The others concern what the statement touched, and whoever made it leaves that for later.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar

from django.db import DataError, Error, InterfaceError, OperationalError

from routines_app.protocol.ledger.cancel_statements import leaving

Result = TypeVar("Result")

TRIES = 3  # of an act that meets others at the same rows: each time somebody has got on


class Trouble(StrEnum):
    """The kinds of error."""

    OUTAGE = "outage"
    """The connection is gone, nobody answers, or nothing can be written: it concerns every row."""
    CONFLICT = "conflict"
    """A deadlock, or a snapshot that could not be kept: done again at once, it works as a rule."""
    LOCKED = "locked"
    """Somebody holds a row, for longer than we wait."""
    LIMIT = "limit"
    """The statement took longer than it may, or was cancelled."""
    VALUE = "value"
    """A row holds a value that cannot be read or written: it stays so until somebody changes the row."""
    STATEMENT = "statement"
    """This statement is refused: by a constraint, a missing column, a permission."""


# PostgreSQL: SQLSTATE, or its first two characters. 25006 is a server that has become a standby; 53 and 58 are memory,
# disk, connections; 25P03 and 25P04 end the connection of a transaction that was left open.
_POSTGRESQL_OUTAGE = ("08", "28", "3D", "53", "57P", "58", "25006", "25P03", "25P04")
_POSTGRESQL = {"55P03": Trouble.LOCKED, "57014": Trouble.LIMIT}
_POSTGRESQL_CLASSES = {"22": Trouble.VALUE, "40": Trouble.CONFLICT}

# MariaDB and MySQL. All of the client's own errors (2000 and above) are about the connection.
_MYSQL_CLIENT = range(2000, 3000)
_MYSQL_OUTAGE = frozenset(
    {
        0,  # the driver has no connection
        *(1021, 1041, 1114, 3),  # no room on disk or in memory, an error while writing
        *(1040, 1203, 1226),  # too many connections
        *(1042, 1043, 1044, 1045, 1049, 1129, 1130),  # refused while connecting
        *(1053, 1927, 4031),  # shutting down, killed, idle for too long
        *(1152, 1153, 1154, 1155, 1156, 1157, 1158, 1159, 1160, 1161, 1184),  # the network
        *(1290, 1792, 1836),  # read-only
    }
)
_MYSQL = {
    1020: Trouble.CONFLICT,  # changed since the snapshot, where MariaDB looks for that
    1213: Trouble.CONFLICT,
    1614: Trouble.CONFLICT,
    1205: Trouble.LOCKED,
    3572: Trouble.LOCKED,
    1317: Trouble.LIMIT,
    1969: Trouble.LIMIT,
    3024: Trouble.LIMIT,
}

_SQLITE = {
    sqlite3.SQLITE_BUSY: Trouble.LOCKED,
    sqlite3.SQLITE_LOCKED: Trouble.LOCKED,
    sqlite3.SQLITE_INTERRUPT: Trouble.LIMIT,
    **dict.fromkeys(
        (
            sqlite3.SQLITE_PERM,
            sqlite3.SQLITE_NOMEM,
            sqlite3.SQLITE_READONLY,
            sqlite3.SQLITE_IOERR,
            sqlite3.SQLITE_CORRUPT,
            sqlite3.SQLITE_FULL,
            sqlite3.SQLITE_CANTOPEN,
            sqlite3.SQLITE_NOTADB,
        ),
        Trouble.OUTAGE,
    ),
}


def trouble_of(error: BaseException) -> Trouble:
    """What a `django.db.Error` is about."""
    cause = error.__cause__
    if isinstance(cause, Error):  # Django's own about a transaction that an earlier error has spoilt
        return trouble_of(cause)
    number = cause.args[0] if cause is not None and cause.args else None
    if isinstance(number, int):  # first: drivers of MySQL give an SQLSTATE too, which says less
        return _of_mysql(number) or _by_kind(error)
    state = sqlstate_of(error)
    if state:
        return _of_postgresql(state)
    sqlite_code = getattr(cause, "sqlite_errorcode", None)
    if sqlite_code is not None:
        return _SQLITE.get(sqlite_code & 0xFF) or _by_kind(error)  # the rest of an extended code is detail
    # Without a code it never reached the server: a driver that cannot connect, or has lost its connection.
    return Trouble.OUTAGE if isinstance(error, OperationalError | InterfaceError) else _by_kind(error)


def is_outage(error: BaseException) -> bool:
    """Whether it concerns everything, so that nobody goes on after it.

    A statement that we have cancelled ourselves, to leave, is as good as that: it is nobody's fault, and whoever looked
    for the row that is would begin work that the process has no time for.
    """
    trouble = trouble_of(error)
    return trouble is Trouble.OUTAGE or (trouble is Trouble.LIMIT and leaving.is_set())


def is_about_a_value(error: Exception) -> bool:
    """Whether reading a row has failed by what is in it; drivers raise errors of their own over such values, too."""
    if isinstance(error, Error):
        return trouble_of(error) is Trouble.VALUE
    return isinstance(error, ValueError | TypeError | AttributeError | ArithmeticError)


def sqlstate_of(error: BaseException) -> str:
    """PostgreSQL's code of the error; empty where there is none."""
    cause = error.__cause__
    return str(getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None) or "")


def _of_postgresql(state: str) -> Trouble:
    if state.startswith(_POSTGRESQL_OUTAGE):
        return Trouble.OUTAGE
    return _POSTGRESQL.get(state) or _POSTGRESQL_CLASSES.get(state[:2], Trouble.STATEMENT)


def _of_mysql(number: int) -> Trouble | None:
    if number in _MYSQL_CLIENT or number in _MYSQL_OUTAGE:
        return Trouble.OUTAGE
    return _MYSQL.get(number)


def _by_kind(error: BaseException) -> Trouble:
    return Trouble.VALUE if isinstance(error, DataError) else Trouble.STATEMENT


def retrying_conflicts(act: Callable[[], Result]) -> Result:
    """Do it, and again when it meets others at the same rows; TRIES times in all. Not inside a transaction."""
    for _ in range(TRIES - 1):
        try:
            return act()
        except Error as error:
            if trouble_of(error) is not Trouble.CONFLICT:
                raise
    return act()
