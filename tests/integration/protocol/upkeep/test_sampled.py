"""How rotations stand, noted every ten minutes."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from routines_app.core.words import MemberStatus, RoutineStatus
from routines_app.models import RotationSample, Routine
from routines_app.protocol.rotate.counts import Counts
from routines_app.protocol.upkeep import reconcile, sampled
from routines_app.protocol.upkeep.orphans import Observer
from routines_app.protocol.upkeep.sampled import EVERY, KEPT, Sampling, prune_samples
from tests.integration.conftest import MONDAY
from tests.integration.protocol.rotate.members import member_row, rotation_row

pytestmark = pytest.mark.usefixtures("ledger")


def test_a_sample_says_how_the_rotation_stands() -> None:
    rotation = rotation_row()
    member_row(rotation, "owed", stale_since=MONDAY - timedelta(hours=3))
    member_row(rotation, "fresh", MemberStatus.FRESH, due_at=MONDAY + EVERY, stale_since=MONDAY - timedelta(hours=1))
    assert Sampling().once(MONDAY) == 1
    sample = RotationSample.objects.get()
    assert (sample.rotation_id, sample.at) == (rotation.pk, MONDAY.replace(second=0))
    assert (sample.owed, sample.fresh, sample.in_flight, sample.failing, sample.left_out) == (1, 1, 0, 0, 0)
    assert (sample.stalest_seconds, sample.median_seconds) == (3 * 3_600.0, 2 * 3_600.0)


def test_a_rotation_has_one_sample_of_ten_minutes_whoever_comes() -> None:
    rotation_row()
    beat, other = Sampling(), Sampling()
    for minutes in range(20):
        beat.once(MONDAY + timedelta(minutes=minutes))
        other.once(MONDAY + timedelta(minutes=minutes))
    assert list(RotationSample.objects.values_list("at", flat=True)) == [
        MONDAY.replace(second=0),
        MONDAY.replace(second=0) + EVERY,
    ]


def test_where_nothing_is_left_to_sample_a_pass_costs_no_statement(django_assert_num_queries: Any) -> None:
    """For nine minutes and more; where there is no rotation at all too."""
    sampling = Sampling()
    sampling.once(MONDAY)
    with django_assert_num_queries(0):
        sampling.once(MONDAY + timedelta(minutes=9))


def test_an_archived_rotation_is_not_sampled_and_many_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampled, "SAMPLED_AT_ONCE", 2)
    rotations = [rotation_row(f"rotation {number}") for number in range(4)]
    Routine.objects.filter(pk=rotations[0].pk).update(status=RoutineStatus.ARCHIVED)
    sampling = Sampling()
    assert [sampling.once(MONDAY) for _ in range(3)] == [2, 1, 0]
    assert set(RotationSample.objects.values_list("rotation_id", flat=True)) == {each.pk for each in rotations[1:]}


def test_a_rotation_that_cannot_be_sampled_keeps_no_other_from_its_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampled, "SAMPLED_AT_ONCE", 2)
    rotations = [rotation_row(f"rotation {number}") for number in range(5)]
    broken = {rotation.pk for rotation in rotations[:3]}
    read, tried = sampled.counts_of, []

    def counts_of(rotation_id: int, now: datetime) -> Counts:
        tried.append(rotation_id)
        if rotation_id in broken:
            raise ValueError("no such number")
        return read(rotation_id, now)

    monkeypatch.setattr(sampled, "counts_of", counts_of)
    sampling = Sampling()
    assert [sampling.once(MONDAY) for _ in range(4)] == [0, 1, 1, 0]
    assert set(RotationSample.objects.values_list("rotation_id", flat=True)) == {each.pk for each in rotations[3:]}
    assert len(tried) == 5
    broken.clear()
    assert [sampling.once(MONDAY + EVERY) for _ in range(3)] == [2, 2, 1]


def test_samples_go_after_a_month_an_archived_rotations_too() -> None:
    rotation = rotation_row()
    Routine.objects.filter(pk=rotation.pk).update(status=RoutineStatus.ARCHIVED)
    none = dict.fromkeys(("owed", "in_flight", "fresh", "failing", "left_out"), 0)
    kept = MONDAY - KEPT
    for at in (kept - EVERY, kept, MONDAY):
        RotationSample.objects.create(rotation=rotation, at=at, **none)
    assert prune_samples(MONDAY) == 1
    assert list(RotationSample.objects.values_list("at", flat=True)) == [kept, MONDAY]
    assert prune_samples(MONDAY) == 0


def test_whichever_beat_has_the_turn_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconcile, "_sampling", Sampling())
    rotation_row()
    reconcile.reconcile_once(timezone.now(), Observer(), 0.0)
    assert RotationSample.objects.count() == 1
