"""What the fault tests share: the oracle's word over a stack, and the measured recovery."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from routines_app.models import Node, RoutineState
from tests.acceptance.stack import Stack
from tests.oracle import Verdict, judge
from tests.processes import stretched

NOTE = "tests.acceptance.tasks.note"
SLEEPY = "tests.acceptance.tasks.sleepy"

# Everything that waits for silence is three times as impatient as usual. That a dead worker's run is tried again within
# the promised 40 s is shown with the usual settings once, by fault 8.
IMPATIENT = {"LEASE_SECONDS": 10, "HEARTBEAT_SECONDS": 3, "ORPHAN_SECONDS": 8}
IMPATIENT_RECOVERY_SECONDS = 20


class Fault:
    """One fault test: what it measured goes to the end of the test run's report."""

    def __init__(self, record_property: Callable[[str, object], None]) -> None:
        self._record = record_property

    def recovered(self, seconds: float, within: float, what: str) -> None:
        """Tell the measured recovery time, and hold it against what faults.md says of a machine with cores to spare."""
        self._record("recovery", f"{seconds:6.2f} s (of {within:g} s)  {what}")
        if seconds > within:
            allowed = stretched(within)
            assert seconds <= allowed, f"{what}: took {seconds:.2f} s; {within:g} s are promised, {allowed:.1f} s here"

    def balances(self, stack: Stack, *, until: datetime | None = None, settled: bool = False) -> Verdict:
        """The oracle judges the stack's ledger and body log; anything wrong fails the test with its page.

        Without `until`, up to now: as soon as the beats, which go on, have claimed what is due by now.
        """
        if until is None:
            until = datetime.now(UTC)
            late = RoutineState.objects.filter(next_run_at__lte=until)
            stack.wait_until(lambda: not late.exists(), 20, "what is due is not claimed")
        verdict = judge(stack.bodies, until=until, settled=settled)
        assert verdict.balances, verdict.page()
        return verdict


def crashes(stack: Stack) -> list[dict[str, Any]]:
    """What processes with a crash point wrote down before they sent themselves the signal."""
    path = stack.body_log.with_name("crashes.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def ready_beats(stack: Stack, count: int) -> None:
    """Wait until that many beats have made their first look."""
    stack.wait_until(lambda: Node.objects.filter(role="beat").count() >= count, 30, f"{count} beats did not start")
