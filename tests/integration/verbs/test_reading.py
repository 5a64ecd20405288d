"""Rows of many filters in one statement, and times that the database subtracts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import DateTimeField, F, Value
from django.test.utils import CaptureQueriesContext

from routines_app.models import Routine, RoutineRun
from routines_app.verbs.reading import SecondsBetween, oldest_run_id, rows_together
from tests.integration.conftest import MONDAY, Time
from tests.integration.verbs.rows import made_at, waiting_run

pytestmark = [pytest.mark.django_db, pytest.mark.each_database]

Make = Callable[..., Routine]


def made(routine: Routine, minute: int, number: int) -> RoutineRun:
    return waiting_run(routine, number, id=made_at(MONDAY + timedelta(minutes=minute)))


def test_each_filter_has_its_own_limit_and_order_in_one_statement(make: Make, time: Time) -> None:
    """The newest two of each routine; of one without runs none."""
    routines = [make(name) for name in ("a", "b", "c")]
    of_each = {
        routine.pk: [made(routine, minute, place * 3 + minute) for minute in range(3)]
        for place, routine in enumerate(routines[:2])
    }
    rows = RoutineRun.objects.filter(status="PENDING").order_by("-id").values_list("routine_id", "id", "eligible_at")
    with CaptureQueriesContext(connection) as captured:
        found = rows_together(rows, [{"routine_id": routine.pk} for routine in routines], limit=2)
    assert len(captured) == 1
    assert [row[:2] for row in found] == [(pk, run.pk) for pk, runs in of_each.items() for run in runs[:0:-1]]
    assert all(row[2].tzinfo is not None for row in found)
    assert rows_together(rows, [], limit=2) == []


def test_filters_with_two_bounds_keep_them_apart(make: Make, time: Time) -> None:
    """From one moment on, and before another."""
    routine = make("a")
    runs = [made(routine, minute, minute) for minute in range(4)]
    ids = [oldest_run_id(MONDAY + timedelta(minutes=n)) for n in range(5)]
    each = [{"pk__lt": beyond, "pk__gte": first} for first, beyond in zip(ids[:2], ids[2:4], strict=True)]
    rows = RoutineRun.objects.filter(routine_id=routine.pk).order_by("id").values_list("id", flat=False)
    assert rows_together(rows, each, limit=9) == [(runs[0].pk,), (runs[1].pk,), (runs[1].pk,), (runs[2].pk,)]


def test_seconds_between_two_times_are_exact_to_the_microsecond(make: Make, time: Time) -> None:
    """Also of a value, below zero, over days, and of nothing."""
    run = waiting_run(make("a"), 1)
    RoutineRun.objects.filter(pk=run.pk).update(
        scheduled_for=MONDAY, eligible_at=MONDAY + timedelta(days=40, microseconds=250_001), started_at=None
    )
    (found,) = RoutineRun.objects.filter(pk=run.pk).values_list(
        SecondsBetween("scheduled_for", "eligible_at"),
        SecondsBetween("eligible_at", F("scheduled_for")),
        SecondsBetween("scheduled_for", "started_at"),
        SecondsBetween("scheduled_for", Value(MONDAY + timedelta(seconds=1.5), output_field=DateTimeField())),
    )
    whole = 40 * 86_400 + 0.250001
    assert found == (pytest.approx(whole, abs=1e-6), pytest.approx(-whole, abs=1e-6), None, 1.5)
