"""How a rotation stands, in numbers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from routines_app.core.words import MemberStatus, RoutineStatus
from routines_app.protocol.rotate.counts import Tally, counts_of, counts_of_many
from tests.integration.conftest import MONDAY
from tests.integration.protocol.rotate.members import member_row, rotation_row

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


def test_every_member_counts_once() -> None:
    rotation = rotation_row(ticks=10)
    member_row(rotation, "owed")
    member_row(rotation, "due", MemberStatus.FRESH, due_at=MONDAY)
    member_row(rotation, "fresh", MemberStatus.FRESH, due_at=MONDAY + HOUR)
    member_row(rotation, "tried again by the next tick", MemberStatus.FAILED, retry_tick=11, failures=1)
    member_row(rotation, "failing", MemberStatus.FAILED, retry_tick=12, failures=2)
    member_row(rotation, "in flight", MemberStatus.IN_FLIGHT)
    member_row(rotation, "paused in flight", MemberStatus.IN_FLIGHT, routine_status=RoutineStatus.PAUSED)
    member_row(rotation, "resumed", MemberStatus.LEFT_OUT)
    member_row(rotation, "paused", MemberStatus.LEFT_OUT, routine_status=RoutineStatus.PAUSED)
    member_row(rotation, "parked and not yet noted", routine_status=RoutineStatus.PARKED)
    member_row(
        rotation, "paused and fresh", MemberStatus.FRESH, due_at=MONDAY + HOUR, routine_status=RoutineStatus.PAUSED
    )
    member_row(rotation_row("others"), "of another rotation")
    counts = counts_of(rotation.pk, MONDAY)
    assert (counts.owed, counts.in_flight, counts.fresh, counts.failing, counts.left_out) == (4, 2, 1, 1, 3)
    assert counts.members == 11
    tally = counts_of_many([rotation.pk], MONDAY)[rotation.pk]
    names = ("members", "owed", "in_flight", "fresh", "failing", "left_out")
    assert [getattr(tally, name) for name in names] == [getattr(counts, name) for name in names]


def test_the_stalest_and_the_median_are_of_those_that_take_part() -> None:
    rotation = rotation_row()
    member_row(rotation, "left out", routine_status=RoutineStatus.PAUSED, stale_since=MONDAY - 100 * HOUR)
    oldest = member_row(rotation, "oldest", stale_since=MONDAY - 10 * HOUR)
    member_row(rotation, "older", stale_since=MONDAY - 4 * HOUR)
    member_row(rotation, "newer", MemberStatus.FRESH, due_at=MONDAY + HOUR, stale_since=MONDAY - 2 * HOUR)
    member_row(rotation, "newest", MemberStatus.IN_FLIGHT, stale_since=MONDAY + HOUR)
    counts = counts_of(rotation.pk, MONDAY)
    assert (counts.stalest_id, counts.stalest_seconds, counts.median_seconds) == (oldest.pk, 36_000.0, 3 * 3_600.0)
    member_row(rotation, "one more", stale_since=MONDAY - 3 * HOUR)
    assert counts_of(rotation.pk, MONDAY).median_seconds == 3 * 3_600.0


def test_a_rotation_without_members_has_no_staleness() -> None:
    counts = counts_of(rotation_row().pk, MONDAY)
    assert (counts.members, counts.stalest_seconds, counts.median_seconds, counts.stalest_id) == (0, None, None, None)


def test_many_rotations_are_counted_in_one_statement(django_assert_num_queries: Any) -> None:
    one, other, empty = rotation_row(), rotation_row("other"), rotation_row("empty")
    member_row(one, "left out", routine_status=RoutineStatus.PAUSED, stale_since=MONDAY - 100 * HOUR)
    member_row(one, "in flight", MemberStatus.IN_FLIGHT, stale_since=MONDAY - 10 * HOUR)
    member_row(other, "owed", stale_since=MONDAY - HOUR)
    with django_assert_num_queries(1):
        found = counts_of_many([one.pk, other.pk, empty.pk], MONDAY)
    assert found == {
        one.pk: Tally(members=2, in_flight=1, left_out=1, stale_since=MONDAY - 10 * HOUR),
        other.pk: Tally(members=1, owed=1, stale_since=MONDAY - HOUR),
    }


def test_it_takes_three_statements_however_many_there_are(django_assert_num_queries: Any) -> None:
    rotation = rotation_row()
    for number in range(5):
        member_row(rotation, f"member {number}")
    with django_assert_num_queries(3):
        counts_of(rotation.pk, MONDAY)
