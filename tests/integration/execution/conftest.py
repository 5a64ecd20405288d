"""A ledger and an empty Redis for every test of the executor, and no thread that outlives it."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def alone(ledger: None, short_lived_threads: None) -> None:
    """Each test begins with nothing that runs and leaves nothing that does."""
