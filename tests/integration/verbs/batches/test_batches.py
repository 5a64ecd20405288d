"""Batches of pauses: who is in one, who leaves it, and what an interruption leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from routines_app import service
from routines_app.core.words import RoutineStatus
from routines_app.models import ChangeKind, PauseBatch, Pool, Routine, RoutineRun, RoutineState, ScheduleChange
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.plan.park import park
from routines_app.protocol.upkeep.emptied_batches import close_emptied
from routines_app.verbs.batches import filling, pieces, resuming
from tests.integration.conftest import Hours, Time
from tests.integration.verbs.rows import waiting_run

Make = Callable[..., Routine]


class Cut(Exception):
    """The process is gone."""


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "PIECE", 2)
    monkeypatch.setattr(resuming, "PIECE", 2)


def paused_by(batch: PauseBatch) -> list[str]:
    return list(
        Routine.objects.filter(pause_batch=batch, status="PAUSED").order_by("pk").values_list("name", flat=True)
    )


def cut_after(count: int) -> Callable[[int], None]:
    def told(done: int) -> None:
        if done >= count:
            raise Cut

    return told


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ({"tag": "shop"}, ["a", "b"]),
        ({"group": "night"}, ["b"]),
        ({"queue": "slow"}, ["c"]),
        ({"pool": "narrow"}, ["a"]),
    ],
    ids=str,
)
def test_a_selector_says_which(make: Make, selector: dict[str, Any], names: list[str]) -> None:
    """What is paused, parked or archived stays as it is; the batch remembers what chose the others."""
    Pool.objects.create(name="narrow", max_concurrent=1)
    common = {"group": "night", "queue": "slow", "tags": ["shop"], "pool": "narrow"}
    make("a", every="10m", tags=["shop"], pool="narrow")
    make("b", cron="*/5 * * * *", tags=["other", "shop"], group="night")
    make("c", every="1m", queue="slow")
    service.pause_routine(make("own", every="1m", **common), reason="mine")
    Routine.objects.filter(pk=make("parked", every="1m", **common).pk).update(status="PARKED")
    service.archive_routine(make("gone", every="1m", **common))
    seen = service.preview_pause_batch(**selector)
    assert (seen.active, seen.paused, seen.parked, seen.is_capped) == (len(names), 1, 1, False)

    batch = service.pause_batch("sale", reason="a sale", actor="ann", **selector)

    assert paused_by(batch) == names
    assert (batch.taken, batch.left_alone, batch.is_filling) == (len(names), 1, False)
    assert (batch.selected_by["by"], batch.selected_by["value"]) == next(iter(selector.items()))
    told = ScheduleChange.objects.filter(kind=ChangeKind.PAUSED, after__batch="sale")
    assert sorted(told.values_list("routine_name", "actor", "reason")) == [(name, "ann", "a sale") for name in names]
    service.resume_pause_batch("sale")
    assert service.find_routine("own").pause_reason == "mine"
    assert [service.find_routine(name).status for name in ("own", "parked", "gone")] == ["PAUSED", "PARKED", "ARCHIVED"]


def test_bad_input_writes_nothing(make: Make, time: Time) -> None:
    """Each error names its field."""
    make("a", every="10m", tags=["shop"])
    for values, field in [
        ({"tag": "shop", "group": "night"}, "tag"),
        ({}, "tag"),
        ({"tag": "shop", "until": time.now}, "until"),
        ({"tag": "shop", "name": ""}, "name"),
        ({"pool": "none"}, "pool"),
    ]:
        with pytest.raises(service.RoutineError) as refused:
            service.pause_batch(**({"name": "sale"} | values))
        assert refused.value.field == field
    assert not PauseBatch.objects.exists()
    service.pause_batch("sale", tag="shop")
    with pytest.raises(service.DuplicateName, match="an open batch has that name"):
        service.pause_batch("sale", tag="shop")
    service.resume_pause_batch("sale")
    assert service.pause_batch("sale", tag="shop").taken == 1  # the name is free again
    with pytest.raises(service.NotFound, match="no open batch has that name; open are: sale"):
        service.resume_pause_batch("other")


@pytest.mark.parametrize("way", ["resume", "pause", "archive", "park", "delete"])
def test_one_that_somebody_touches_leaves_the_batch(make: Make, time: Time, way: str) -> None:
    """The batch's resume leaves it as that person has left it."""
    routine, other = (make(name, every="1h", tags=["shop"]) for name in ("touched", "other"))
    batch = service.pause_batch("sale", tag="shop", reason="a sale")
    match way:
        case "resume":
            service.resume_routine(routine)
        case "pause":
            service.pause_routine(routine, reason="mine")
        case "archive" | "delete":
            service.archive_routine(routine)
        case "park":
            park(routine, "broken", time.now)
    if way == "delete":
        service.delete_routine(routine)
    assert paused_by(batch) == [other.name]
    before = list(Routine.objects.filter(name="touched").values())
    done = service.resume_pause_batch("sale")
    assert done.batch.resumed == 1
    assert list(Routine.objects.filter(name="touched").values()) == before


def test_an_edit_leaves_it_in_the_batch(make: Make) -> None:
    """What it is decided by its pause, not by its schedule."""
    routine = make("a", every="1h", tags=["shop"])
    batch = service.pause_batch("sale", tag="shop")
    service.update_routine(routine, every="2h", tags=[])
    assert paused_by(batch) == ["a"]
    assert service.resume_pause_batch(batch).batch.resumed == 1


def test_a_filling_that_was_cut_off_goes_on(make: Make, small_pieces: None) -> None:
    """No routine is looked at twice; what came under the tag meanwhile stays out."""
    names = [f"r{number}" for number in range(5)]
    for name in names:
        make(name, every="1h", tags=["shop"])
    with pytest.raises(Cut):
        service.pause_batch("sale", tag="shop", reason="a sale", progress=cut_after(2))
    batch = service.find_pause_batch("sale")
    assert (paused_by(batch), batch.is_filling) == (names[:2], True)
    make("late", every="1h", tags=["shop"])
    service.resume_routine("r0")  # and is not taken again
    batch = service.continue_pause_batch("sale")
    assert (paused_by(batch), batch.taken, batch.is_filling) == (names[1:], 5, False)
    assert service.continue_pause_batch("sale").taken == 5
    paused = ScheduleChange.objects.filter(kind=ChangeKind.PAUSED)
    assert sorted(paused.values_list("routine_name", flat=True)) == names


def test_a_queryset_is_given_again(make: Make, small_pieces: None) -> None:
    """The row holds its description, not the statement."""
    for number in range(5):
        make(f"r{number}", every="1h")
    chosen = Routine.objects.filter(name__in=["r0", "r1", "r2", "r4"])
    with pytest.raises(Cut):
        service.pause_batch("sale", routines=chosen, described="q=r", progress=cut_after(2))
    with pytest.raises(service.NotAllowed, match=r"made by a filter \(q=r\)"):
        service.continue_pause_batch("sale")
    assert paused_by(service.continue_pause_batch("sale", routines=chosen)) == ["r0", "r1", "r2", "r4"]


def test_a_resume_that_was_cut_off_goes_on_the_same_way(make: Make, time: Time, small_pieces: None) -> None:
    """Nobody fills it any more, and no slot is released twice."""
    for number in range(6):
        make(f"r{number}", cron="0 * * * *", tags=["shop"])
    with pytest.raises(Cut):
        service.pause_batch("sale", tag="shop", progress=cut_after(4))
    time.pass_by(hours=3)
    with pytest.raises(Cut):
        service.resume_pause_batch("sale", progress=cut_after(2))
    assert service.continue_pause_batch("sale").taken == 4
    with pytest.raises(service.NotAllowed, match="being resumed with SKIP"):
        service.resume_pause_batch("sale", release="LAST")
    done = service.resume_pause_batch("sale")
    assert (done.batch.resumed, done.batch.is_open) == (4, None)
    rows = RoutineRun.objects.filter(reason="paused").values_list("routine__name", "occurrences")
    assert sorted(rows) == [(f"r{number}", 3) for number in range(4)]
    with pytest.raises(service.NotAllowed, match="it was closed at"):
        service.resume_pause_batch(done.batch)


def test_one_whose_schedule_is_broken_keeps_nobody_else_back(make: Make, time: Time) -> None:
    """It stays paused, by itself, and is named."""
    make("sound", every="1h", tags=["shop"])
    broken = make("broken", cron="0 * * * *", tags=["shop"])
    service.pause_batch("sale", tag="shop", reason="a sale")
    Routine.objects.filter(pk=broken.pk).update(timezone="Mars/Olympus")
    done = service.resume_pause_batch("sale")
    assert [name for name, _ in done.refused] == ["broken"]
    assert (done.batch.resumed, done.batch.refused, done.batch.is_open) == (1, 1, None)
    broken.refresh_from_db()
    assert (broken.status, broken.pause_reason, broken.pause_batch) == (RoutineStatus.PAUSED, "a sale", None)


def test_a_batch_whose_time_is_over_ends_by_itself(hours: Hours) -> None:
    """Each routine as a pause of its own does; then the batch is closed, and the ledger balances."""
    for number in range(3):
        hours.make(f"r{number}", every="10m", tags=["shop"])
    hours.make("cron", cron="*/15 * * * *", tags=["shop"])
    hours.pass_by(minutes=20)
    service.pause_batch("sale", tag="shop", until=hours.now + timedelta(hours=1))
    service.resume_routine("r0")
    hours.pass_by(minutes=30)
    assert close_emptied(hours.now) == 0
    hours.pass_by(hours=1)
    assert close_emptied(hours.now) == 1
    assert [batch.name for batch in service.list_pause_batches()] == []
    service.pause_batch("again", tag="shop")
    hours.pass_by(hours=2)
    service.resume_pause_batch("again", release="LAST")
    hours.pass_by(minutes=30)
    assert not Routine.objects.exclude(status="ACTIVE").exists()
    assert hours.found() == []


def test_the_name_of_one_that_is_over_can_be_used_at_once(make: Make) -> None:
    """Before a beat has closed it."""
    make("a", every="1h", tags=["shop"])
    first = service.pause_batch("sale", tag="shop")
    service.resume_routine("a")
    second = service.pause_batch("sale", tag="shop")
    assert [(batch.pk, batch.paused) for batch in service.list_pause_batches()] == [(second.pk, 1)]
    assert {batch.pk for batch in service.list_pause_batches(closed=True)} == {first.pk, second.pk}


def test_one_whose_resume_was_cut_off_before_its_end_is_closed(make: Make, small_pieces: None) -> None:
    """Nobody fills it any more, and it holds nobody: its name is not kept from others."""
    for number in range(5):
        make(f"r{number}", every="1h", tags=["shop"])
    with pytest.raises(Cut):
        service.pause_batch("sale", tag="shop", progress=cut_after(2))
    with pytest.raises(Cut):
        service.resume_pause_batch("sale", progress=cut_after(2))
    assert service.find_pause_batch("sale").is_resuming
    assert service.pause_batch("sale", tag="shop").taken == 5


def test_a_preview_says_what_each_way_releases(make: Make, time: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a bound it is an estimate, and says so."""
    for number in range(10):
        make(f"r{number}", every="1h", tags=["shop"])
    make("by hand", tags=["shop"])
    batch = service.pause_batch("sale", tag="shop")
    time.pass_by(hours=3)
    seen = service.preview_resume_batch(batch)
    assert (seen.routines, seen.looked_at, seen.is_estimate) == (11, 11, False)
    assert seen.runs_by == {"SKIP": 0, "LAST": 10, "ALL": 30}
    assert seen.skipped_by == {"SKIP": 30, "LAST": 20, "ALL": 0}
    monkeypatch.setattr(resuming, "LOOKED_AT", 5)
    seen = service.preview_resume_batch(batch)
    assert (seen.routines, seen.looked_at, seen.is_estimate, seen.slots) == (11, 5, True, 33)


def test_a_state_that_was_left_out_is_made_up_for(make: Make) -> None:
    """As a single pause does."""
    routine = make("a", every="1h", tags=["shop"])
    RoutineState.objects.all().delete()
    batch = service.pause_batch("sale", tag="shop")
    assert paused_by(batch) == ["a"]
    assert RoutineState.objects.get(pk=routine.pk).next_source == "paused"


def test_statements_are_counted_by_pieces(make: Make, time: Time, measured_clock: None) -> None:
    """As many for forty routines as for four."""

    def statements(name: str) -> list[int]:
        counted = []
        with CaptureQueriesContext(connection) as queries:
            batch = service.pause_batch(name, tag=name)
            counted.append(len(queries))
        time.pass_by(hours=2)
        with CaptureQueriesContext(connection) as queries:
            service.resume_pause_batch(batch, release="SKIP")
            counted.append(len(queries))
        return counted

    for size, name in ((4, "few"), (40, "many")):
        for number in range(size):
            routine = make(f"{name} {number}", every="1h", tags=[name])
            waiting_run(routine, size * 1000 + number)
    claim_due(time.now)
    few, many = statements("few"), statements("many")
    if connection.vendor == "sqlite":  # which takes a bounded number of values in one statement
        assert all(more - less < 10 for less, more in zip(few, many, strict=True))
    else:
        assert few == many
    assert pieces.PIECE == 500
