"""Finishing runs: what an end does to the routine's plan, and to what waits for it."""

from __future__ import annotations

from datetime import timedelta
from unittest.mock import ANY

import pytest
from django.db import transaction
from django.utils import timezone

from routines_app.core.words import Reason, RoutineStatus, Source
from routines_app.models import ChangeKind, RoutineState, ScheduleChange
from routines_app.protocol.end.finish import finish
from routines_app.protocol.end.overlap import request_stop
from routines_app.protocol.end.transaction import Recorded
from routines_app.protocol.record.outcome import cancelled, succeeded
from routines_app.protocol.run.start import Started, start
from tests.acceptance.ringing import ring, routine
from tests.integration.protocol.end.finishing import BROKEN, begin, retry_of, state

pytestmark = pytest.mark.usefixtures("ledger", "short_lived_threads")


def test_enough_failed_chains_park_the_routine() -> None:
    """Not picked again until somebody resets it; the history says why."""
    made = routine("parked", max_attempts=1, park_after=2, trigger_kind="INTERVAL", interval_ms=60_000, status="ACTIVE")
    later = timezone.now() + timedelta(minutes=1)
    RoutineState.objects.filter(pk=made.pk).update(
        next_slot=later, next_run_at=later, next_source=Source.BASELINE_INTERVAL, last_slot=timezone.now()
    )
    ends = [finish(begin(made), BROKEN) for _ in range(2)]
    assert [isinstance(end, Recorded) and bool(end.parked) for end in ends] == [False, True]
    made.refresh_from_db()
    assert (made.status, made.pause_reason) == (RoutineStatus.PARKED, "2 failed chains in a row")
    assert (state(made).next_run_at, state(made).next_source) == (None, Source.PARKED)
    assert ScheduleChange.objects.filter(routine=made, kind=ChangeKind.PARKED).count() == 1


def test_an_interval_backs_off_with_failures_and_recovers_with_the_first_success() -> None:
    """And every move of the plan is in the schedule's history."""
    anchor = timezone.now().replace(microsecond=0)
    made = routine("polling", max_attempts=1, trigger_kind="INTERVAL", interval_ms=3_600_000)
    planned = anchor + timedelta(hours=1)
    RoutineState.objects.filter(pk=made.pk).update(
        last_slot=anchor, grid_from=anchor, next_slot=planned, next_run_at=planned, next_source=Source.BASELINE_INTERVAL
    )
    finish(begin(made), BROKEN)
    assert state(made).next_slot == state(made).next_run_at == anchor + timedelta(hours=2)
    finish(begin(made), BROKEN)
    assert state(made).next_slot == anchor + timedelta(hours=4)
    finish(begin(made), succeeded(None))
    assert (state(made).next_slot, state(made).failure_count) == (planned, 0)
    changes = ScheduleChange.objects.filter(routine=made, kind=ChangeKind.REPLANNED)
    assert [change.next_slot for change in changes.order_by("id")] == [
        anchor + timedelta(hours=2),
        anchor + timedelta(hours=4),
        planned,
    ]


def test_a_success_beside_a_failure_still_recovers() -> None:
    """Two runs overlap: the one that succeeds did not know, when it started, that the other would fail."""
    anchor = timezone.now().replace(microsecond=0)
    made = routine("polling", max_attempts=1, trigger_kind="INTERVAL", interval_ms=3_600_000)
    RoutineState.objects.filter(pk=made.pk).update(
        last_slot=anchor,
        grid_from=anchor,
        next_slot=anchor + timedelta(hours=1),
        next_run_at=anchor + timedelta(hours=1),
        next_source=Source.BASELINE_INTERVAL,
    )
    good, bad = begin(made), begin(made)
    finish(bad, BROKEN)
    finish(good, succeeded(None))
    assert (state(made).failure_count, state(made).next_slot) == (0, anchor + timedelta(hours=1))


@pytest.mark.parametrize("known_at_start", [True, False])
def test_the_end_of_a_chain_lets_an_all_catch_up_go_on(known_at_start: bool) -> None:
    """A retry is not the end of the chain."""
    made = routine("catching", trigger_kind="CRON", cron="* * * * *", max_attempts=2)

    def catch_up() -> None:
        slot = timezone.now() - timedelta(hours=1)
        RoutineState.objects.filter(pk=made.pk).update(
            next_slot=slot, slot_source=Source.BASELINE_CRON, next_source=Source.CATCHING_UP
        )

    if known_at_start:
        catch_up()
    run = begin(made)
    if not known_at_start:
        catch_up()
    finish(run, BROKEN)
    assert state(made).next_run_at is None
    retry = retry_of(run)
    assert retry is not None
    begun = start(retry.id, "me")
    assert isinstance(begun, Started)
    finish(begun.facts, succeeded(None))
    assert (state(made).next_run_at, state(made).next_source) == (ANY, Source.BASELINE_CRON)
    assert state(made).next_run_at is not None


def test_the_end_of_a_replaced_run_lets_its_replacement_go() -> None:
    """It is looked at now, not when its grace is over."""
    made = routine("newest", concurrency_policy="REPLACE")
    run = begin(made)
    later = timezone.now() + timedelta(seconds=20)
    waiting = ring(made, send=False, dispatched_at=None, admitted_at=None, publish_after=later, reason=Reason.REPLACING)
    with transaction.atomic():
        request_stop([run.id], Reason.REPLACED, timezone.now())
    finish(run, cancelled(Reason.REPLACED))
    waiting.refresh()
    assert waiting.row.publish_after is not None
    assert waiting.row.publish_after <= timezone.now()
