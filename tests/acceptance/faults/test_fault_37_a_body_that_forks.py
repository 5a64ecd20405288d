"""A body that forks: whatever its children do, one end is recorded, and no process is left behind."""

from __future__ import annotations

import pytest

from routines_app.core.transitions import ACTIVE
from routines_app.core.words import RunStatus
from tests.acceptance.fault import Fault
from tests.acceptance.ringing import ring, routine
from tests.acceptance.stack import Stack

FORK = "tests.acceptance.tasks.fork"
CODES = {"exit": 3, "return": 0, "raise": 1}


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("pool", ["prefork", "solo"])
def test_fault_37_a_forked_process_neither_records_an_end_nor_stays(stack: Stack, fault: Fault, pool: str) -> None:
    """Row 37: it ends where it would leave the body, with the code that Python would give it."""
    worker = stack.worker(pool=pool, concurrency=1)
    before = len(worker.children())
    for how, code in CODES.items():
        run = ring(routine(f"forks: {how}", task=FORK, kwargs={"how": how}, max_attempts=1))
        stack.wait_until(lambda run=run: run.refresh() not in ACTIVE, 20, "the run did not end")
        assert (run.row.status, run.row.result) == (RunStatus.SUCCESS, [code, code])
        assert run.retries() == []
    assert len(worker.children()) == before
    assert len([line for line in stack.body_lines() if "forked" in line and line["event"] == "note"]) == 6
