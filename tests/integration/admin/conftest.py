"""A database and an empty Redis for every page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.admin import pages


@pytest.fixture(autouse=True)
def ready(redis_url: str, measured_clock: None, unhurried: None) -> None:
    """Pages are tested with what they ask the database."""


@pytest.fixture
def unrendered() -> Iterator[None]:
    """For a test that reads no page's text."""
    with pages.unrendered():
        yield
