"""Fault 5: a beat frozen inside its claim: its rows are free again within 10 s; nothing doubles when it wakes."""

from __future__ import annotations

import signal
from datetime import UTC, datetime

import pytest

from routines_app import service
from routines_app.models import RoutineRun
from tests.acceptance.fault import NOTE, Fault, crashes, ready_beats
from tests.acceptance.stack import Stack
from tests.processes import signal_tree


@pytest.mark.slow
def test_fault_05_the_rows_of_a_frozen_beat_are_free_again_and_nothing_doubles(stack: Stack, fault: Fault) -> None:
    """The database ends the frozen beat's transaction; awake again it finds that out and goes on."""
    stack.beat()
    frozen = stack.beat(ROUTINES_CRASH_AT="inside-claim:SIGSTOP")
    ready_beats(stack, 2)
    # The beats race for every slot; sooner or later the one that is to freeze claims some.
    for number in range(10):
        service.create_routine(f"tick {number}", task=NOTE, interval_ms=1000 + number * 41)
    stack.wait_until(lambda: crashes(stack), 40, "the beat was never inside a claim")
    (crash,) = crashes(stack)
    claimed = {int(key) for key in crash["keys"]}
    stopped = datetime.fromtimestamp(crash["wall"], UTC)

    def free() -> bool:
        rows = RoutineRun.objects.filter(routine_id__in=claimed, dispatched_at__gt=stopped)
        return set(rows.values_list("routine_id", flat=True)) == claimed

    stack.wait_until(free, 30, "the frozen beat's routines stayed locked")
    first = RoutineRun.objects.filter(routine_id__in=claimed, dispatched_at__gt=stopped).earliest("dispatched_at")
    assert first.dispatched_at is not None
    fault.recovered((first.dispatched_at - stopped).total_seconds(), 10, "5: rows of a frozen beat are free again")

    signal_tree(frozen.pid, signal.SIGCONT)
    frozen.wait_for_log("the database is back", 30)

    woke = datetime.now(UTC)
    stack.wait_until(lambda: RoutineRun.objects.filter(scheduled_for__gt=woke).count() > 10, 20, "nothing fires")
    fault.balances(stack, until=woke)
