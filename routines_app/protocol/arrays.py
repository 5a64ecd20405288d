"""PostgreSQL array literals: how a batch's columns reach the database as one value each.

psycopg would look at every element's type and quote it by pattern matching, which costs more than the rest of a claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime


def array_literal(values: Sequence[object]) -> str:
    """Texts, numbers, UUIDs and times with a zone, as the text of an array; the statement casts it."""
    if values and values.count(values[0]) == len(values):  # most columns of a batch say the same in every row
        return "{" + ",".join([_element(values[0])] * len(values)) + "}"
    return "{" + ",".join([_element(value) for value in values]) + "}"


def _element(value: object) -> str:
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if value is None:
        return "NULL"
    return value.isoformat() if isinstance(value, datetime) else str(value)
