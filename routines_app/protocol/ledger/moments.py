"""Times that a column can hold and nobody can read: `infinity`, a year after 9999 or before 1, a date of zeros.

Plain SQL can write them. Whoever reads such a row fails, the admin included, so the row is mended: the value is taken
away, and the reason is written where people look.
"""

from __future__ import annotations

from datetime import UTC, datetime

from django.db.models import DateTimeField, Model, Q, QuerySet

# With a day to spare on each side, whatever zone they are shown in.
FIRST_MOMENT = datetime(1, 1, 2, tzinfo=UTC)
LAST_MOMENT = datetime(9999, 12, 30, tzinfo=UTC)


def unreadable(column: str) -> Q:
    """The rows whose time nobody can read."""
    return Q(**{f"{column}__lt": FIRST_MOMENT}) | Q(**{f"{column}__gt": LAST_MOMENT})


def take_unreadable_away(rows: QuerySet[Model], now: datetime) -> list[str]:
    """Empty the times of these rows that cannot be read, or write the present where there must be one; which columns.

    Nothing is read of them: the database compares.
    """
    times = [field for field in rows.model._meta.concrete_fields if isinstance(field, DateTimeField)]
    return [
        field.attname
        for field in times
        if rows.filter(unreadable(field.attname)).update(**{field.attname: None if field.null else now})
    ]
