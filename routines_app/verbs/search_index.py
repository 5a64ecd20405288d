"""Searching routines by any part of their names: PostgreSQL can, with trigrams, once somebody has made the index.

The index is made apart from the migrations: its extension may be missing or forbidden, and on a large table it is made
beside the work (CONCURRENTLY), which no transaction can hold.
"""

from __future__ import annotations

from django.db import Error, connections

from routines_app.core.errors import NotAllowed
from routines_app.core.said import said
from routines_app.protocol.ledger.database import ledger_alias

INDEX = "routine_search"
TRIGRAM = 3  # characters: of a shorter word there is none

_MADE = f"""
CREATE INDEX CONCURRENTLY {INDEX} ON routines_routine USING gin (
    UPPER(name::text) gin_trgm_ops, UPPER(task::text) gin_trgm_ops, UPPER("group"::text) gin_trgm_ops
)
"""

_found: dict[str, bool] = {}  # by alias: whether the index is there, as this process has last seen it


def finds_parts(*, anew: bool = False) -> bool:
    """Whether any part of a name can be searched for, not only how it begins. Asked once, and `anew` while it is no."""
    alias = ledger_alias()
    if alias not in _found or (anew and not _found[alias]):
        _found[alias] = _is_there(alias)
    return _found[alias]


def index_search() -> bool:
    """Make the index by which any part of a routine's name, task or group is found; False when it was there.

    Raises `NotAllowed` where the database has no trigrams (pg_trgm) or does not let us have them.
    """
    alias = ledger_alias()
    connection = connections[alias]
    if connection.vendor != "postgresql":
        raise NotAllowed(
            "database", connection.vendor, said("only PostgreSQL can search for parts of names by an index")
        )
    if connection.in_atomic_block:
        raise NotAllowed("transaction", "open", said("call it outside of one: the index is made beside the work"))
    if _is_there(alias):
        return False
    _make(alias)
    _found[alias] = True
    return True


def _is_there(alias: str) -> bool:
    if connections[alias].vendor != "postgresql":
        return False
    with connections[alias].cursor() as cursor:
        cursor.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", [INDEX])
        row = cursor.fetchone()
    return bool(row and row[0])


def _make(alias: str) -> None:
    with connections[alias].cursor() as cursor:
        try:
            cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
        except Error as error:
            expected = said(
                "let somebody who may run CREATE EXTENSION pg_trgm, then call this again ({error})", error=str(error)
            )
            raise NotAllowed("extension", "pg_trgm", expected) from error
        cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {INDEX}")  # what an interrupted attempt has left
        cursor.execute(_MADE)
        cursor.execute("ANALYZE routines_routine")  # or nothing is known yet of how common a word is
