"""What those need to know who read the ledger's querysets themselves: its time, its ids, its large columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connections
from django.db.models import FloatField, Func, Model, QuerySet

from routines_app.core.keys import EPOCH, uuid7_int
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias

LARGE_FIELDS = ("args", "kwargs", "result", "error", "traceback")
"""What a run brought along and left, up to megabytes: to be deferred where it is not shown."""


def now() -> datetime:
    """The ledger's present time: the database's clock, aware, in UTC."""
    return clock.now()


def oldest_run_id(at: datetime) -> UUID:
    """The smallest id that a run created at this time can have: ids carry the time of creation."""
    return UUID(int=uuid7_int(max(0, int(at.timestamp() * 1000)), 0))


def rows_together(rows: QuerySet[Any], each: Sequence[Mapping[str, Any]], *, limit: int) -> list[tuple[Any, ...]]:
    """The rows (`values_list`) of many filters in one statement, and of each filter at most so many.

    All filters have the same lookups, by equality or order, so they are put into words once: that would cost more than
    what an index leads to. Those of one filter come together, in the order of `rows`.
    """
    if not each:
        return []
    names, connection = sorted(each[0]), connections[ledger_alias()]
    compiler = rows.filter(**each[0])[:limit].query.get_compiler(ledger_alias())
    sql, values = compiler.as_sql()
    said = values[: len(values) - len(names)]  # the last filter's values are the statement's last ones
    fields = [_field(rows.model, name) for name in names]
    given = [
        [field.get_db_prep_value(part[name], connection) for part in each]
        for field, name in zip(fields, names, strict=True)
    ]
    types = [field.db_type(connection) for field in fields]
    statement = (
        _of_arrays(sql, said, given, types) if connection.vendor == "postgresql" else _of_parts(sql, said, given)
    )
    with connection.cursor() as cursor:
        cursor.execute(*statement)
        found = cursor.fetchall()
    converters = compiler.get_converters([column for column, *_ in compiler.select])
    return [tuple(row) for row in compiler.apply_converters(found, converters)] if converters else list(found)


def _of_arrays(
    sql: str, said: Sequence[Any], given: Sequence[list[Any]], types: Sequence[str]
) -> tuple[str, list[Any]]:
    """Planned once, however many filters there are: to plan one takes longer than to find its rows."""
    columns = [f"value_{place}" for place in range(len(types))]
    *parts, rest = sql.rsplit("%s", len(types))
    of_each = "".join(f"{part}given.{column}" for part, column in zip(parts, columns, strict=True)) + rest
    arrays = ", ".join(f"%s::{kind}[]" for kind in types)
    statement = (
        f"SELECT part.* FROM unnest({arrays}) AS given ({', '.join(columns)}) CROSS JOIN LATERAL ({of_each}) AS part"  # noqa: S608 # nosec B608
    )
    return statement, [*given, *said]


def _of_parts(sql: str, said: Sequence[Any], given: Sequence[list[Any]]) -> tuple[str, list[Any]]:
    each = list(zip(*given, strict=True))
    selects = [f"SELECT * FROM ({sql}) AS part_{place}" for place in range(len(each))]  # noqa: S608 # nosec B608
    return " UNION ALL ".join(selects), [value for values in each for value in (*said, *values)]


def _field(model: type[Model], lookup: str) -> Any:
    name = lookup.partition("__")[0]
    return model._meta.pk if name == "pk" else model._meta.get_field(name)


class SecondsBetween(Func):
    """How long after the first time the second one is; a float is read much faster than two times are."""

    output_field = FloatField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "EXTRACT(EPOCH FROM %(expressions)s)::float8"
        return self._reversed(compiler, connection, template=template, arg_joiner=" - ", **context)

    def as_mysql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(
            compiler, connection, template="TIMESTAMPDIFF(MICROSECOND, %(expressions)s) / 1e6", **context
        )

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "django_timestamp_diff(%(expressions)s) / 1e6"  # Django's own, in microseconds
        return self._reversed(compiler, connection, template=template, **context)

    def _reversed(self, compiler: Any, connection: Any, **context: Any) -> Any:
        later_first = self.copy()
        later_first.set_source_expressions(self.get_source_expressions()[::-1])
        return later_first.as_sql(compiler, connection, **context)


def run_created_at(run_id: UUID) -> datetime:
    """When a run was created, to the millisecond. One whose id plain SQL has made up is taken for new."""
    try:
        return EPOCH + timedelta(milliseconds=run_id.int >> 80)
    except OverflowError:  # ids that carry no time may carry a number beyond the calendar
        return clock.now()
