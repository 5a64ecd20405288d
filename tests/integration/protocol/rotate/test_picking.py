"""Whom a tick picks is what the core would pick of all that are owed, however few of them are read."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from routines_app.core.rotation import NEVER, Owed, pick
from routines_app.core.words import MemberStatus
from routines_app.models import Rotation, RotationMember, Routine
from routines_app.protocol.rotate import picking
from routines_app.protocol.rotate.picking import highest, owed_of, ranked
from tests.integration.conftest import MONDAY
from tests.integration.protocol.rotate.rows import a_rotation, member, members_of, set_member

pytestmark = pytest.mark.django_db

EMPHASES = (0.5, 1.0, 2.0)


def scattered(rotation: Rotation, count: int, dice: random.Random, emphases: tuple[float, ...] = EMPHASES) -> None:
    rows = [member(routine) for routine in members_of(rotation, count)]
    for row in rows:
        row.phase, row.band, row.depth = dice.randrange(3), dice.randrange(3), dice.randrange(4)
        row.emphasis = dice.choice(emphases)
        row.attempted_at = dice.choice([NEVER, MONDAY - timedelta(seconds=dice.randrange(5_000))])
        row.status = dice.choice([MemberStatus.OWED, MemberStatus.OWED, MemberStatus.LEFT_OUT])
    RotationMember.objects.bulk_update(rows, ["phase", "band", "depth", "emphasis", "attempted_at", "status"])


def all_owed(rotation: Rotation) -> list[Owed]:
    rows = RotationMember.objects.filter(rotation=rotation, status=MemberStatus.OWED)
    fields = ("phase", "band", "depth", "emphasis", "attempted_at")
    return [Owed(id=row.pk, **{field: getattr(row, field) for field in fields}) for row in rows]


@pytest.mark.parametrize("seed", range(6))
def test_the_highest_are_those_that_the_core_would_pick_of_all(seed: int) -> None:
    dice = random.Random(seed)
    rotation = a_rotation(depth_weight=dice.choice([0.0, 0.5, 1.5]))
    scattered(rotation, 80, dice)
    for most in (0, 1, 3, 10, 100):
        found = highest(owed_of(rotation.pk), most, MONDAY, rotation.depth_weight)
        assert found == pick(all_owed(rotation), most, MONDAY, rotation.depth_weight)


@pytest.mark.parametrize("seed", range(3))
def test_where_each_has_an_emphasis_of_its_own_the_database_sorts_them_alike(seed: int) -> None:
    dice = random.Random(seed)
    rotation = a_rotation()
    scattered(rotation, 150, dice, tuple(dice.uniform(0.1, 3.0) for _ in range(150)))
    RotationMember.objects.update(phase=0, band=1)
    for most in (1, 7, 200):
        found = highest(owed_of(rotation.pk), most, MONDAY, rotation.depth_weight)
        assert found == pick(all_owed(rotation), most, MONDAY, rotation.depth_weight)


def test_the_band_with_very_many_classes_is_sorted_in_one_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picking, "MANY_CLASSES", 3)
    rotation = a_rotation()
    scattered(rotation, 60, random.Random(7), tuple(number / 20 for number in range(1, 60)))
    RotationMember.objects.update(phase=0, band=1)
    with CaptureQueriesContext(
        connection,
    ) as few:
        found = highest(owed_of(rotation.pk), 5, MONDAY, rotation.depth_weight)
    assert found == pick(all_owed(rotation), 5, MONDAY, rotation.depth_weight)
    assert len(few) < 15


@pytest.mark.parametrize(("few", "counted"), [(0, None), (1_000, None), (0, 60)])
@pytest.mark.parametrize("seed", range(4))
def test_what_ranks_is_the_same_however_it_is_read(
    monkeypatch: pytest.MonkeyPatch, few: int, counted: int | None, seed: int
) -> None:
    """All at once where few are owed, sorted by the database where more are, else by the index; with what would be
    promoted, and without those left out."""
    monkeypatch.setattr(picking, "FEW", few)
    monkeypatch.setattr(picking, "MANY_CLASSES", 3 + seed)
    dice = random.Random(seed)
    rotation = a_rotation(depth_weight=0.5)
    scattered(rotation, 60, dice)
    RotationMember.objects.filter(pk__in=[pk for pk in _ids(rotation) if pk % 5 == 0]).update(
        status=MemberStatus.FRESH, due_at=MONDAY
    )
    takes_part = RotationMember.objects.filter(rotation=rotation)
    expected = pick([_owed(row) for row in takes_part], 60, MONDAY, rotation.depth_weight)
    assert [each.pk for each in ranked(rotation, 60, MONDAY, counted=counted)] == [each.id for each in expected]
    first = {each.id for each in expected[:7]}
    Routine.objects.filter(pk__in=first).update(status="PAUSED")
    left = pick([_owed(row) for row in takes_part.exclude(pk__in=first)], 4, MONDAY, rotation.depth_weight)
    assert [each.pk for each in ranked(rotation, 4, MONDAY, counted=counted)] == [each.id for each in left]


def _ids(rotation: Rotation) -> list[int]:
    return list(RotationMember.objects.filter(rotation=rotation).values_list("pk", flat=True))


def _owed(row: RotationMember) -> Owed:
    fields = ("band", "depth", "emphasis", "attempted_at")
    return Owed(id=row.pk, phase=row.rank_phase, **{field: getattr(row, field) for field in fields})


@pytest.mark.parametrize("counted", [None, picking.FEW + 1])
def test_what_the_next_tick_would_promote_ranks_with_what_is_owed(counted: int | None) -> None:
    rotation = a_rotation()
    owed, over, fresh, failed, waits, back, paused = members_of(rotation, 7)
    ago = [MONDAY - timedelta(hours=hours) for hours in range(7, 0, -1)]
    for routine, at in zip((owed, over, fresh, failed, waits, back, paused), ago, strict=True):
        set_member(routine, attempted_at=at)
    set_member(over, status=MemberStatus.FRESH, due_at=MONDAY)
    set_member(fresh, status=MemberStatus.FRESH, due_at=MONDAY + timedelta(seconds=1))
    set_member(failed, status=MemberStatus.FAILED, retry_tick=1, phase=1)
    set_member(waits, status=MemberStatus.FAILED, retry_tick=2)
    set_member(back, status=MemberStatus.LEFT_OUT)
    Routine.objects.filter(pk=paused.pk).update(status="PAUSED")
    found = [each.pk for each in ranked(rotation, 10, MONDAY, counted=counted)]
    assert found == [failed.pk, owed.pk, over.pk, back.pk]
    assert [each.pk for each in ranked(rotation, 2, MONDAY, counted=counted)] == found[:2]


def test_a_crowd_that_waits_to_be_promoted_ranks_as_a_tick_promotes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first by their time, whoever has counted the members or not."""
    monkeypatch.setattr(picking, "MOST", 2)
    monkeypatch.setattr("routines_app.protocol.rotate.promote.MOST", 2)
    monkeypatch.setattr(picking, "FEW", 0)
    rotation = a_rotation()
    crowd = members_of(rotation, 5)
    for place, routine in enumerate(crowd):
        set_member(routine, status=MemberStatus.FRESH, due_at=MONDAY - timedelta(hours=place), band=place % 2)
    found = [each.pk for each in ranked(rotation, 5, MONDAY)]
    assert set(found) == {crowd[3].pk, crowd[4].pk}
    assert [each.pk for each in ranked(rotation, 5, MONDAY, counted=5)] == found
