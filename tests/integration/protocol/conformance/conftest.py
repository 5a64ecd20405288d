"""Conformance: what PostgreSQL does in one statement, every database does, and both are judged by the same cases.

A test file names in `MODULES` the modules whose way it takes. Each test says in full what is returned and what the rows
hold afterwards, so that no way is measured by another.
"""

from __future__ import annotations

import pytest
from django.db import DEFAULT_DB_ALIAS

from routines_app.protocol.ledger.database import is_postgresql

WAYS = ["one statement", "portable"] if is_postgresql(DEFAULT_DB_ALIAS) else ["portable"]


@pytest.fixture(autouse=True, params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each way that this database has; the portable one is there on PostgreSQL as well."""
    if request.param == "portable":
        for module in request.module.MODULES:
            monkeypatch.setattr(module, "is_postgresql", lambda alias: False)
    return str(request.param)
