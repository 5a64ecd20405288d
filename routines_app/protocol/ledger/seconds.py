"""A difference between two times as a number, in each database's own words."""

from __future__ import annotations

from typing import Any

from django.db.models import FloatField, Func


class Seconds(Func):
    """Seconds of a `DurationField` expression."""

    output_field = FloatField()
    template = "(%(expressions)s / 1e6)"  # microseconds, where the database has no type for it

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        context["template"] = "EXTRACT(EPOCH FROM %(expressions)s)::double precision"
        return self.as_sql(compiler, connection, **context)
