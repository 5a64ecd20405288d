"""Ids of runs: nobody makes one twice."""

from __future__ import annotations

import os
from datetime import UTC, datetime

import pytest

from routines_app.models import ledger_time
from routines_app.models.run import new_run_id

IDS = 50


def made_ids() -> list[str]:
    return [str(new_run_id()) for _ in range(IDS)]


def ids_of_a_forked_child() -> list[str]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, " ".join(made_ids()).encode())
        finally:
            os._exit(0)  # whatever happened: the rest of the test run is the parent's
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return text.split()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_forked_children_make_other_ids_than_their_parent_and_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even within one millisecond: a worker's children are forked with the same random numbers ahead of them."""
    monkeypatch.setattr(ledger_time, "_source", lambda: datetime(2026, 3, 1, tzinfo=UTC))
    before = made_ids()

    ids = [*before, *ids_of_a_forked_child(), *ids_of_a_forked_child(), *made_ids()]

    assert len(ids) == 4 * IDS
    assert len(set(ids)) == 4 * IDS
