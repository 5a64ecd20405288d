"""Array literals come back from PostgreSQL as the values that went in."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest
from django.db import connection

from routines_app.protocol.ledger.arrays import array_literal

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif("connection.vendor != 'postgresql'", reason="only PostgreSQL has arrays"),
]

ODD_TEXTS = ["", "NULL", 'a"b', "a\\b", '\\"', "{a,b}", " ", "it's", "100%s", "\N{PARTY POPPER}", "a\nb", None]
MOMENT = datetime(2024, 2, 29, 23, 59, 59, 999001, tzinfo=UTC)


def returned(kind: str, values: Sequence[object]) -> list[object]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM unnest(%s::{kind}[])", [array_literal(values)])
        return [value for (value,) in cursor.fetchall()]


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
    assert returned(kind, values) == values


@pytest.mark.parametrize("length", [1, 3])
@pytest.mark.parametrize(
    ("kind", "value"),
    [
        *(("text", text) for text in ODD_TEXTS),
        ("bigint", 0),
        ("bigint", None),
        ("uuid", UUID(int=7)),
        ("timestamptz", MOMENT),
        ("timestamptz", MOMENT.astimezone(timezone(timedelta(hours=-9, minutes=-30)))),
        ("timestamptz", None),
    ],
)
def test_a_column_that_says_the_same_in_every_row_says_it_in_every_row(kind: str, value: object, length: int):
    """The element is made once: it is escaped as any other, and there are as many as rows."""
    assert returned(kind, [value] * length) == [value] * length


def test_almost_the_same_is_not_the_same():
    """Only the last row differs."""
    values = ['a"b', 'a"b', "a\\b"]
    assert returned("text", values) == values


def test_a_column_without_rows_is_an_empty_array():
    """There is no first value to look at."""
    assert returned("text", []) == []
