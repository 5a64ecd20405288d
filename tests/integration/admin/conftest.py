"""A database and an empty Redis for every page."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def ready(redis_url: str, measured_clock: None) -> None:
    """Pages are tested with what they ask the database."""
