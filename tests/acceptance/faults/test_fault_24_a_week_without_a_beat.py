"""Fault 24: a week without any beat: what each policy says, and one summary row for the rest, within seconds."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from django.db.models import F

from routines_app import service
from routines_app.models import Routine, RoutineRun, RoutineState, ScheduleChange
from tests.acceptance.fault import NOTE, Fault
from tests.acceptance.stack import Stack

WEEK = timedelta(days=7)
SLOTS = 7 * 24 * 60


def a_week_ago() -> None:
    """Everything that was created just now was created a week ago, and nobody has looked since."""
    Routine.objects.update(created_at=F("created_at") - WEEK)
    ScheduleChange.objects.update(at=F("at") - WEEK, next_slot=F("next_slot") - WEEK)
    RoutineState.objects.update(
        last_slot=F("last_slot") - WEEK, next_slot=F("next_slot") - WEEK, next_run_at=F("next_run_at") - WEEK
    )


def ran(name: str) -> int:
    return RoutineRun.objects.filter(routine__name=name, trigger="catch_up", status="SUCCESS").count()


@pytest.mark.slow
def test_fault_24_a_week_of_missed_minutes_is_accounted_for_by_each_policy(stack: Stack, fault: Fault) -> None:
    """SKIP runs none of them, LAST the newest, ALL the newest five one after another; the rest is one row each."""
    for kind, schedule in (("cron", {"cron": "* * * * *"}), ("interval", {"every": "1m"})):
        service.create_routine(f"{kind} SKIP", task=NOTE, catch_up_policy="SKIP", **schedule)
        service.create_routine(f"{kind} LAST", task=NOTE, catch_up_policy="LAST", **schedule)
        service.create_routine(f"{kind} ALL", task=NOTE, catch_up_policy="ALL", catch_up_limit=5, **schedule)
    a_week_ago()
    stack.worker()
    stack.beat()
    began = time.monotonic()

    def caught_up() -> bool:
        asleep = RoutineState.objects.filter(next_source="catching-up").exists()
        overdue = RoutineState.objects.filter(next_run_at__lt=datetime.now(UTC) - timedelta(seconds=5)).exists()
        pending = RoutineRun.objects.filter(status__in=["PENDING", "RUNNING"]).exists()
        # Between two steps of a catch-up all of that can hold for a moment.
        done = ran("cron ALL") >= 5 and ran("interval ALL") >= 5
        return done and not (asleep or overdue or pending)

    stack.wait_until(caught_up, 60, "the week was not caught up with")

    fault.recovered(time.monotonic() - began, 20, "24: a week without a beat, six routines caught up")
    for kind in ("cron", "interval"):
        assert [ran(f"{kind} {policy}") for policy in ("SKIP", "LAST", "ALL")] == [0, 1, 5]
        for policy, kept in (("SKIP", 0), ("LAST", 1), ("ALL", 5)):
            (summary,) = RoutineRun.objects.filter(routine__name=f"{kind} {policy}", status="SKIPPED")
            assert summary.reason == "misfire"
            # The newest minute or two were within the grace and fired as usual.
            assert SLOTS - 3 <= summary.occurrences + kept <= SLOTS
    one_after_another("cron ALL")
    one_after_another("interval ALL")
    fault.balances(stack, until=datetime.now(UTC) - timedelta(seconds=2))


def one_after_another(name: str) -> None:
    runs = list(RoutineRun.objects.filter(routine__name=name, trigger="catch_up").order_by("scheduled_for"))
    for before, after in pairwise(runs):
        assert before.completed_at is not None
        assert after.started_at is not None
        assert before.completed_at <= after.started_at
