"""Times that a column can hold and nobody can read: `infinity`, a year after 9999 or before 1, a date of zeros.

Plain SQL can write them. Whoever reads such a row fails, the admin included, so the row is mended: the value is taken
away, and the reason is written where people look.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime

from django.db.models import DateTimeField, F, Model, Q, QuerySet

# With a day to spare on each side, whatever zone they are shown in.
FIRST_MOMENT = datetime(1, 1, 2, tzinfo=UTC)
LAST_MOMENT = datetime(9999, 12, 30, tzinfo=UTC)


def unreadable(column: str) -> Q:
    """The rows whose time nobody can read."""
    return Q(**{f"{column}__lt": FIRST_MOMENT}) | Q(**{f"{column}__gt": LAST_MOMENT})


def readable(*columns: str) -> Q:
    """The rows whose times can all be read, or are none: for whoever shows many, and must not fail for one."""
    found = Q()
    for column in columns:
        found &= ~unreadable(column)  # not asked whether it is NULL: to MariaDB a date of zeros is, where none may be
    return found


def take_unreadable_away(rows: QuerySet[Model], now: datetime, *, needed: Collection[str] = ()) -> list[str]:
    """Empty the times of these rows that cannot be read, or write the present where there must be one; which columns.

    `needed` are those that may be empty in other rows. Nothing is read of them: the database compares. A row that has a
    version gets a new one.
    """
    fields = rows.model._meta.concrete_fields
    version = {"version": F("version") + 1} if any(field.name == "version" for field in fields) else {}
    gone = []
    for field in fields:
        if isinstance(field, DateTimeField):
            instead = None if field.null and field.name not in needed else now
            if rows.filter(unreadable(field.attname)).update(**{field.attname: instead}, **version):
                gone.append(field.attname)
    return gone
