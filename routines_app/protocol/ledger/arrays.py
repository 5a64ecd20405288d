"""PostgreSQL arrays: how a batch's columns, or the ids of many rows, reach the database as one value each.

psycopg would look at every element's type and quote it by pattern matching, and Django would prepare each by itself,
which costs more than the rest of a claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import F
from django.db.models.lookups import In


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


class AnyOf(In):
    """`filter(AnyOf("id", ids))`: what `id__in=ids` says, as one array on PostgreSQL."""

    lookup_name = "any_of"

    def __init__(self, field: str | Any, values: Any) -> None:
        super().__init__(F(field) if isinstance(field, str) else field, values)

    def get_prep_lookup(self) -> Any:
        return list(self.rhs)  # our own ids, of the right type already

    def as_postgresql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        column, params = self.process_lhs(compiler, connection)
        kind = self.lhs.output_field.db_type(connection)
        return f"{column} = ANY (%s::{kind}[])", [*params, array_literal(self.rhs)]
