"""Which reads of a beat get limits, by the driver's cursor."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from routines_app.protocol.ledger.timeouts import _is_plain_read


@pytest.mark.parametrize(
    ("drivers_cursor", "is_plain"),
    [
        (SimpleNamespace(), True),  # psycopg 3, and the drivers of the other databases
        (SimpleNamespace(name=None), True),  # psycopg2: each cursor has the attribute
        (SimpleNamespace(name="_django_curs_1"), False),
    ],
)
def test_only_a_cursor_of_the_server_has_a_name(drivers_cursor: SimpleNamespace, is_plain: bool) -> None:
    """One of psycopg2 without a name reads plainly, and is limited as well."""
    assert _is_plain_read("SELECT 1", SimpleNamespace(cursor=drivers_cursor)) is is_plain
