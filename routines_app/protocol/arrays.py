"""PostgreSQL array literals: how a batch's columns reach the database as one value each.

psycopg would look at every element's type and quote it by pattern matching, which costs more than the rest of a claim.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime


def array_literal(values: Iterable[object]) -> str:
    """Texts, numbers, UUIDs and times with a zone, as the text of an array; the statement casts it."""
    return "{" + ",".join([_element(value) for value in values]) + "}"


def _element(value: object) -> str:
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if value is None:
        return "NULL"
    return value.isoformat() if isinstance(value, datetime) else str(value)
