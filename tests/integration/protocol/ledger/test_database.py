"""Database connections of our own processes: kept where the project says nothing, left alone where it pools them."""

from __future__ import annotations

import pytest
from django.db import connections

from routines_app.protocol.ledger.database import keep_connection


@pytest.mark.parametrize(
    ("age", "options", "expected"),
    [(0, {}, 60.0), (0, {"pool": True}, 0), (0, {"pool": {"max_size": 1}}, 0), (10, {}, 10), (None, {}, None)],
)
def test_a_connection_is_kept_only_where_nobody_has_chosen(
    monkeypatch: pytest.MonkeyPatch, age: int | None, options: dict[str, object], expected: float | None
) -> None:
    """Django refuses an age beside its own pool; another age is the project's choice."""
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", age)
    monkeypatch.setitem(connections.settings["default"], "OPTIONS", options)
    keep_connection("default", 60.0)
    assert connections.settings["default"]["CONN_MAX_AGE"] == expected
