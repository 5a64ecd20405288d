"""What an error of the database is taken for."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import psycopg
import pytest
from django.db import DatabaseError, DataError, Error, IntegrityError, InterfaceError, OperationalError
from django.db.transaction import TransactionManagementError

from routines_app.protocol.ledger.database_errors import (
    TRIES,
    Trouble,
    is_about_a_value,
    is_outage,
    retrying_conflicts,
    trouble_of,
)


def wrapped(kind: type[Error], cause: BaseException | None) -> Error:
    error = kind("as Django raises it")
    error.__cause__ = cause
    return error


def postgresql(state: str, kind: type[Error] = OperationalError) -> Error:
    return wrapped(kind, psycopg.errors.lookup(state)("as psycopg raises it"))


def mysql(number: int, kind: type[Error] = OperationalError) -> Error:
    cause = Exception(number, "as the driver raises it")
    cause.sqlstate = "HY000"  # type: ignore[attr-defined]
    return wrapped(kind, cause)


def sqlite(code: int, kind: type[Error] = OperationalError) -> Error:
    cause = sqlite3.OperationalError("as sqlite3 raises it")
    cause.sqlite_errorcode = code
    return wrapped(kind, cause)


@pytest.mark.parametrize(
    ("error", "trouble"),
    [
        (postgresql("57P01"), Trouble.OUTAGE),
        (postgresql("57P03"), Trouble.OUTAGE),
        (postgresql("08006"), Trouble.OUTAGE),
        (postgresql("53300"), Trouble.OUTAGE),
        (postgresql("53100"), Trouble.OUTAGE),
        (postgresql("25006"), Trouble.OUTAGE),
        (postgresql("25P03"), Trouble.OUTAGE),
        (postgresql("40P01"), Trouble.CONFLICT),
        (postgresql("40001"), Trouble.CONFLICT),
        (postgresql("55P03"), Trouble.LOCKED),
        (postgresql("57014"), Trouble.LIMIT),
        (postgresql("23503", IntegrityError), Trouble.STATEMENT),
        (postgresql("22003", DataError), Trouble.VALUE),
        (postgresql("42P01", DatabaseError), Trouble.STATEMENT),
        (mysql(2003), Trouble.OUTAGE),
        (mysql(2006), Trouble.OUTAGE),
        (mysql(2013), Trouble.OUTAGE),
        (mysql(1927), Trouble.OUTAGE),
        (mysql(1290), Trouble.OUTAGE),
        (mysql(1213), Trouble.CONFLICT),
        (mysql(1020), Trouble.CONFLICT),
        (mysql(1205), Trouble.LOCKED),
        (mysql(1969), Trouble.LIMIT),
        (mysql(3024), Trouble.LIMIT),
        (mysql(1451, IntegrityError), Trouble.STATEMENT),
        (mysql(1264, DataError), Trouble.VALUE),
        (mysql(0, InterfaceError), Trouble.OUTAGE),
        (sqlite(sqlite3.SQLITE_BUSY), Trouble.LOCKED),
        (sqlite(sqlite3.SQLITE_BUSY_SNAPSHOT), Trouble.LOCKED),
        (sqlite(sqlite3.SQLITE_FULL), Trouble.OUTAGE),
        (sqlite(sqlite3.SQLITE_CANTOPEN), Trouble.OUTAGE),
        (sqlite(sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY, IntegrityError), Trouble.STATEMENT),
        (sqlite(sqlite3.SQLITE_ERROR), Trouble.STATEMENT),
        (wrapped(OperationalError, psycopg.OperationalError("connection failed")), Trouble.OUTAGE),
        (wrapped(InterfaceError, None), Trouble.OUTAGE),
        (wrapped(DatabaseError, None), Trouble.STATEMENT),
        (wrapped(DataError, psycopg.DataError("timestamp too large (after year 10K)")), Trouble.VALUE),
    ],
)
def test_an_error_is_taken_for_what_it_says(error: Error, trouble: Trouble) -> None:
    """By the server's code where there is one, else by the kind that Django gives it."""
    assert trouble_of(error) is trouble
    assert is_outage(error) == (trouble is Trouble.OUTAGE)


def test_a_spoilt_transaction_is_what_spoilt_it() -> None:
    """Django raises an error of its own over the one that counts."""
    assert trouble_of(wrapped(TransactionManagementError, postgresql("40P01"))) is Trouble.CONFLICT
    assert trouble_of(wrapped(TransactionManagementError, None)) is Trouble.STATEMENT


def failing(error: Error, times: int) -> tuple[Callable[[], str], list[int]]:
    tries: list[int] = []

    def act() -> str:
        tries.append(len(tries))
        if len(tries) <= times:
            raise error
        return "done"

    return act, tries


def test_a_conflict_is_tried_again_and_not_for_ever() -> None:
    """Whoever lost a deadlock gets on the next time, as a rule."""
    act, _ = failing(postgresql("40001"), TRIES - 1)
    assert retrying_conflicts(act) == "done"
    act, tries = failing(postgresql("40001"), TRIES)
    with pytest.raises(OperationalError):
        retrying_conflicts(act)
    assert len(tries) == TRIES


def test_nothing_else_is_tried_again() -> None:
    """A lock was waited for already, and an outage lasts."""
    for error in (postgresql("55P03"), postgresql("57P01"), postgresql("22003", DataError)):
        act, tries = failing(error, 1)
        with pytest.raises(Error):
            retrying_conflicts(act)
        assert len(tries) == 1


@pytest.mark.parametrize(
    ("error", "is_one"),
    [
        (wrapped(DataError, psycopg.DataError("timestamp too large")), True),
        (postgresql("22008", DataError), True),
        (ValueError("year 20000 is out of range"), True),
        (OverflowError("date value out of range"), True),
        (AttributeError("'str' object has no attribute 'tzinfo'"), True),
        (postgresql("55P03"), False),
        (postgresql("57014"), False),
        (mysql(2006), False),
        (MemoryError(), False),
        (KeyError("a bug"), False),
    ],
)
def test_a_row_that_could_not_be_read_by_what_is_in_it(error: Exception, is_one: bool) -> None:
    """Everything else may pass, and says nothing about the row."""
    assert is_about_a_value(error) is is_one
