"""Array literals come back from PostgreSQL as the values that went in."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest
from django.db import connection

from routines_app.protocol.arrays import array_literal

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif("connection.vendor != 'postgresql'", reason="only PostgreSQL has arrays"),
]

ODD_TEXTS = ["", "NULL", 'a"b', "a\\b", '\\"', "{a,b}", " ", "it's", "100%s", "\N{PARTY POPPER}", "a\nb", None]
MOMENT = datetime(2024, 2, 29, 23, 59, 59, 999001, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("text", ODD_TEXTS),
        ("bigint", [0, -1, 2**62, None]),
        ("uuid", [UUID(int=7), None]),
        ("timestamptz", [MOMENT, MOMENT.replace(microsecond=0), None]),
    ],
)
def test_values_survive_the_way_through_an_array(kind, values):
    """Whatever a routine's name or task contains, the row holds exactly that."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM unnest(%s::{kind}[])", [array_literal(values)])
        assert [value for (value,) in cursor.fetchall()] == values
