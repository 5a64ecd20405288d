"""A database and an empty Redis for every page."""

from __future__ import annotations

import pytest

from routines_app.protocol.ledger import clock


@pytest.fixture(autouse=True)
def ready(db: None, redis_url: str) -> None:
    clock.now()  # the first reading asks the database, which would count as a query of the page
