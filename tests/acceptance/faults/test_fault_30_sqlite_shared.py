"""Fault 30: SQLite with beat, two workers and the admin writing: nobody sees `database is locked`."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest

from routines_app import service
from routines_app.models import Pool, RoutineRun
from tests.acceptance.admin import Admin
from tests.acceptance.conftest import StackFactory
from tests.acceptance.fault import NOTE, SLEEPY, Fault

WRITING_SECONDS = 15


@pytest.mark.slow
def test_fault_30_beat_workers_and_admin_share_a_sqlite_file(make_stack: StackFactory, fault: Fault) -> None:
    """All of them write for a while; every write succeeds, and the ledger balances."""
    stack = make_stack(database="sqlite")
    for number in range(20):
        policy = ("ALLOW", "FORBID", "REPLACE")[number % 3]
        service.create_routine(f"tick {number}", task=NOTE, interval_ms=1000 + 50 * number, concurrency_policy=policy)
    service.create_routine("slow", task=SLEEPY, args=[3], every="2s", concurrency_policy="FORBID")
    stack.worker()
    stack.worker()
    stack.beat()
    _, address = stack.web()
    admin = Admin(address)

    began, writes = time.monotonic(), 0
    slowest = 0.0
    while time.monotonic() - began < WRITING_SECONDS:
        write_began = time.monotonic()
        admin.post("/admin/routines/pool/add/", name=f"pool {writes}", max_concurrent="3")
        slowest, writes = max(slowest, time.monotonic() - write_began), writes + 1

    fault.recovered(slowest, 10, f"30: the slowest of {writes} writes in the admin, beside a beat and two workers")
    assert Pool.objects.count() == writes > 5
    assert RoutineRun.objects.filter(status="SUCCESS").count() > 50
    for process in stack.processes:
        assert "database is locked" not in process.log()
    fault.balances(stack, until=datetime.now(UTC) - timedelta(seconds=5))
