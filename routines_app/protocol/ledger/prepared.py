"""Prepared statements: planning what a worker does for each run costs more than doing it, so it is planned once.

They are prepared by SQL, under names made from their text: a name can never stand for another statement, whoever else
uses the same server connection. A pooler that gives each transaction another server connection (PgBouncer in
transaction mode) does not find them; nothing has happened then, and this process sends plain text from there on.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from django.db import Error, connections

from routines_app.protocol.ledger.database_errors import sqlstate_of

logger = logging.getLogger(__name__)

ALREADY_THERE = "42P05"
# Not there (a pooler), or planned for columns that a migration has changed since; nothing has been executed then.
UNUSABLE = {"26000", "0A000"}
_ARGUMENT = re.compile(r"%\((\w+)\)s")

_known: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()  # by the driver's connection
_forgetful: set[str] = set()  # aliases behind a pooler that forgets


def run_statement(alias: str, text: str, arguments: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Execute one of our statements, with `%(name)s` for its arguments; the rows that it returns."""
    connection = connections[alias]
    with connection.cursor() as cursor:
        if _may_prepare(alias, connection):
            try:
                _execute_prepared(cursor, connection.connection, _prepared(text), arguments)
                return _rows(cursor)
            except Error as error:
                if sqlstate_of(error) not in UNUSABLE:
                    raise
                _forgetful.add(alias)
                logger.info("database %s forgets prepared statements (%s): plain ones are used", alias, error)
        cursor.execute(text, arguments)
        return _rows(cursor)


class _Prepared(NamedTuple):
    name: str
    prepare: str
    execute: str


@lru_cache(maxsize=32)
def _prepared(text: str) -> _Prepared:
    arguments = list(dict.fromkeys(_ARGUMENT.findall(text)))
    body = _ARGUMENT.sub(lambda found: f"${arguments.index(found[1]) + 1}", text)
    name = f"routines_{blake2b(body.encode(), digest_size=8).hexdigest()}"
    given = ", ".join(f"%({argument})s" for argument in arguments)
    return _Prepared(name, f"PREPARE {name} AS {body}", f"EXECUTE {name} ({given})")


def _may_prepare(alias: str, connection: Any) -> bool:
    """Not where an error would spoil a caller's transaction, and not where Django is told of a pooler.

    EXECUTE takes no parameters that the server binds, only values in its text.
    """
    settings = connection.settings_dict
    pooled = settings.get("DISABLE_SERVER_SIDE_CURSORS") or settings["OPTIONS"].get("server_side_binding")
    return not (alias in _forgetful or connection.in_atomic_block or pooled)


def _execute_prepared(cursor: Any, driver: Any, statement: _Prepared, arguments: Mapping[str, Any]) -> None:
    known = _known.setdefault(driver, set())
    if statement.name not in known:
        try:
            cursor.execute(statement.prepare)
        except Error as error:
            if sqlstate_of(error) != ALREADY_THERE:  # by another client of a pooler: the same text
                raise
        known.add(statement.name)
    cursor.execute(statement.execute, arguments)


def _rows(cursor: Any) -> list[tuple[Any, ...]]:
    # Not its description, which takes longer to build than a row to read.
    return list(cursor.fetchall()) if cursor.rowcount > 0 else []
