"""Which database holds the ledger, and what it can do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from importlib import resources
from typing import Any

from django.db import connections, router, transaction
from django.db.models import QuerySet

from routines_app.models import RoutineRun


def ledger_alias() -> str:
    """The database alias that all protocol work uses."""
    return router.db_for_write(RoutineRun)


def keep_connection(alias: str, seconds: float | None) -> None:
    """Let a process of ours keep its connection, where the project leaves Django's default: one for each request.

    A project that uses Django's connection pool has chosen otherwise, and may not set an age.
    """
    settings = connections.settings[alias]
    if settings.get("CONN_MAX_AGE") == 0 and not settings.get("OPTIONS", {}).get("pool"):
        settings["CONN_MAX_AGE"] = seconds


def is_postgresql(alias: str) -> bool:
    return connections[alias].vendor == "postgresql"


def on_commit(act: Callable[[], object], *, robust: bool = False) -> None:
    """Do this after the ledger's transaction commits, or at once outside of one.

    If it fails, the caller gets the error, though its work is done; `robust`: the error is logged.
    """
    transaction.on_commit(act, using=ledger_alias(), robust=robust)


def load_times_fast(cursor: Any) -> None:
    """Let psycopg read times by itself, where it is psycopg 3: Django's reader is Python and most of a long result."""
    adapters = getattr(cursor.cursor, "adapters", None)
    if adapters is not None:
        from psycopg.types.datetime import TimestamptzLoader  # not there with psycopg2 or another database

        adapters.register_loader("timestamptz", TimestamptzLoader)


def fast_rows(rows: QuerySet[Any, tuple[Any, ...]]) -> Iterable[tuple[Any, ...]]:
    """The rows of a `values_list` of the driver's own types (no JSON, say); faster on PostgreSQL."""
    alias = ledger_alias()
    if not is_postgresql(alias):
        return rows
    with connections[alias].cursor() as cursor:
        load_times_fast(cursor)
        cursor.execute(*rows.query.get_compiler(alias).as_sql())
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


def words(values: Iterable[str]) -> str:
    """Words of ours (never a user's text) as they stand in a statement: `'FORBID', 'REPLACE'`."""
    return ", ".join(f"'{value}'" for value in sorted(values))


@lru_cache(maxsize=32)
def sql(name: str) -> str:
    """The text of `protocol/<name>.sql`, which stands beside the module that uses it."""
    return resources.files("routines_app.protocol").joinpath(f"{name}.sql").read_text(encoding="utf-8")
