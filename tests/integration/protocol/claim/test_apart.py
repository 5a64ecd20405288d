"""A routine that a claim cannot do, for a reason of its own, does not keep the others from firing."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection

from routines_app import service
from routines_app.models import ChangeKind, Pool, Routine, RoutineRun, RoutineState, ScheduleChange
from routines_app.protocol.claim import claim, set_aside
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.claim.due import next_due_at
from routines_app.protocol.claim.set_aside import SetAside
from routines_app.protocol.ledger import clock
from routines_app.protocol.upkeep.unplanned import park_unplanned
from tests.integration.holding import held, needs_postgresql, needs_row_locks
from tests.integration.protocol.claim.test_claim import TASK, rewind

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def nothing_set_aside(monkeypatch: pytest.MonkeyPatch) -> Iterator[SetAside]:
    aside = SetAside()
    monkeypatch.setattr(claim, "set_aside", aside)
    monkeypatch.setattr(set_aside, "REST_SECONDS", (0.0, 0.0))
    return aside


def due(*names: str, **values: Any) -> list[Routine]:
    """Routines that are due, and have a slot each second."""
    made = [service.create_routine(name, task=TASK, every="10s", **values) for name in names]
    for name in names:
        rewind(name, seconds=10)
    return made


def claim_twice() -> int:
    """What is set aside in one claim is tried in the next."""
    return sum(claim_due(clock.now()).fired for _ in range(2))


def fired() -> set[str]:
    return set(RoutineRun.objects.values_list("routine__name", flat=True))


@needs_row_locks
@pytest.mark.parametrize("column", ["id", "name"])
def test_a_routine_whose_row_somebody_holds_is_left_out(column: str, caplog: pytest.LogCaptureFixture) -> None:
    """Its runs could not refer to it. It is named once, and fires when the row is free."""
    routine, *_ = due("held", "free", "free too")
    with held("routine", column, [getattr(routine, column)]):
        assert claim_twice() == 2
        claim_due(clock.now())
        assert fired() == {"free", "free too"}
    assert claim_twice() == 1
    assert [line for line in caplog.messages if "held" in line and "cannot be claimed now" in line] != []
    assert len([line for line in caplog.messages if "cannot be claimed now" in line]) == 1
    assert any("can be claimed again" in line for line in caplog.messages)


@needs_row_locks
def test_a_routine_that_another_beat_tries_at_the_same_moment_is_still_set_aside(
    nothing_set_aside: SetAside, caplog: pytest.LogCaptureFixture
) -> None:
    """That beat has its state, so it is not seen here: that says nothing about the row that somebody holds."""
    routine, *_ = due("held")
    with held("routine", "id", [routine.pk]):
        claim_due(clock.now())
        with held("routinestate", "routine_id", [routine.pk]):
            claim_due(clock.now())
            assert nothing_set_aside.ids == [routine.pk]
    assert claim_twice() == 1
    assert len([line for line in caplog.messages if "claimed again" in line]) == 1
    assert nothing_set_aside.ids == []


@needs_row_locks
def test_a_pool_whose_row_somebody_holds_stops_only_its_own_routines() -> None:
    """Theirs could not refer to it either."""
    pool = Pool.objects.create(name="narrow", max_concurrent=1)
    due("pooled", pool="narrow")
    due("free")
    with held("pool", "id", [pool.pk]):
        claim_twice()
        assert fired() == {"free"}
    claim_twice()
    assert fired() == {"free", "pooled"}


@needs_row_locks
def test_more_held_routines_than_a_batch_takes_do_not_starve_the_others() -> None:
    """Set aside, they take no place in the next batch."""
    made = due(*(f"held {number}" for number in range(6)))
    due("free")
    with held("routine", "id", [routine.pk for routine in made]):
        for _ in range(4):
            claim_due(clock.now(), limit=3)
        assert fired() == {"free"}


@needs_row_locks
def test_a_row_that_a_claim_must_write_and_somebody_holds_stops_only_its_own_routine(
    nothing_set_aside: SetAside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here: the run that is to be replaced. The batch fails, and is done again without that routine."""
    due("free")
    due("replaces", concurrency_policy="REPLACE")
    claim_twice()
    old = RoutineRun.objects.get(routine__name="replaces")
    for name in ("free", "replaces"):
        rewind(name, seconds=10.5)
    with held("routinerun", "id", [old.pk.hex if connection.vendor == "mysql" else old.pk]):
        claim_due(clock.now())
        assert RoutineRun.objects.filter(routine__name="free").count() == 2
        assert nothing_set_aside.ids == [old.routine_id]
    claim_due(clock.now())
    old.refresh_from_db()
    assert (old.status, old.reason) == ("CANCELLED", "replaced")


def spoil(table: str, key: str, routine: Routine, **values: str) -> None:
    with connection.cursor() as cursor:
        for column, value in values.items():
            cursor.execute(f"UPDATE routines_{table} SET {column} = %s WHERE {key} = %s", [value, routine.pk])


UNREADABLE = [
    ("routine", "id", "end_at", "infinity"),
    ("routine", "id", "start_at", "-infinity"),
    ("routine", "id", "created_at", "20000-01-01 00:00+00"),
    ("routinestate", "routine_id", "last_slot", "infinity"),
    ("routinestate", "routine_id", "next_slot", "4000-01-01 00:00+00 BC"),
    ("routinestate", "routine_id", "next_run_at", "-infinity"),
    ("routinestate", "routine_id", "clamps_from", "infinity"),
    ("routinestate", "routine_id", "hint_next_expires_at", "infinity"),
]


@needs_postgresql
@pytest.mark.parametrize(("table", "key", "column", "value"), UNREADABLE)
def test_a_row_that_cannot_be_read_is_parked_and_the_others_fire(table: str, key: str, column: str, value: str) -> None:
    """With the reason, and readable again for whoever mends it: the admin shows it, the verbs take it."""
    routine, *_ = due("broken", "sound", "sound too")
    now = clock.now()
    RoutineState.objects.filter(pk=routine.pk).update(hint_next_at=now, hint_next_expires_at=now)
    spoil(table, key, routine, **{column: value})
    assert next_due_at() is not None
    claim_twice()
    assert fired() == {"sound", "sound too"}
    routine = Routine.objects.select_related("state").get(name="broken")
    assert routine.status == "PARKED"
    assert column in routine.pause_reason
    assert (routine.state.next_run_at, routine.state.next_source) == (None, "parked")
    assert ScheduleChange.objects.get(routine=routine, kind=ChangeKind.PARKED).reason == routine.pause_reason
    service.reset_routine("broken")
    assert Routine.objects.get(name="broken").status == "ACTIVE"


@needs_postgresql
def test_one_that_is_alone_and_is_parked_is_no_failure_of_the_claim() -> None:
    """Nothing is left to do, so nothing is raised, and nothing is said but that it is parked."""
    (routine,) = due("broken")
    spoil("routine", "id", routine, end_at="infinity")
    assert claim_due(clock.now()).claimed == 0
    assert Routine.objects.get().status == "PARKED"


@pytest.mark.parametrize("meanwhile", [Routine.delete, service.archive_routine])
def test_one_that_is_gone_before_it_could_be_parked_harms_nobody(
    meanwhile: Callable[[Routine], object], monkeypatch: pytest.MonkeyPatch, nothing_set_aside: SetAside
) -> None:
    """A person was faster: it is neither parked nor set aside."""
    routine, *_ = due("bad", "good")
    insert, park = claim.insert_runs, claim.park_unreadable

    def refuse(rows: Any) -> Any:
        if any(row.routine_id == routine.pk for row in rows):
            raise ValueError("cannot be written")
        return insert(rows)

    def come_too_late(*arguments: Any, **options: Any) -> bool:
        meanwhile(routine)
        return park(*arguments, **options)

    monkeypatch.setattr(claim, "insert_runs", refuse)
    monkeypatch.setattr(claim, "park_unreadable", come_too_late)
    assert claim_due(clock.now()).fired == 1
    assert nothing_set_aside.ids == []
    assert not ScheduleChange.objects.filter(kind=ChangeKind.PARKED).exists()


@needs_postgresql
def test_a_moment_that_never_comes_is_found_by_the_upkeep() -> None:
    """No claim looks at it; and it does not hide when the others are due."""
    (routine,) = due("broken")
    spoil("routinestate", "routine_id", routine, next_run_at="infinity")
    assert next_due_at() is None
    assert park_unplanned(clock.now()) == 1
    assert Routine.objects.get(name="broken").status == "PARKED"
    assert park_unplanned(clock.now()) == 0


def test_numbers_out_of_all_range_park_only_their_routine() -> None:
    """Plain SQL can store what no calendar can hold."""
    routine, *_ = due("broken", "sound")
    spoil("routine", "id", routine, interval_ms=str(2**62))
    spoil("routinestate", "routine_id", routine, fingerprint="")
    claim_twice()
    assert fired() == {"sound"}
    assert Routine.objects.get(name="broken").status == "PARKED"


def test_a_statement_that_one_routine_makes_fail_stops_only_that_one(
    monkeypatch: pytest.MonkeyPatch, nothing_set_aside: SetAside, caplog: pytest.LogCaptureFixture
) -> None:
    """A trigger of the project's own, say: it is not parked for that, but set aside and tried again."""
    bad, *_ = due("bad", *(f"good {number}" for number in range(5)))
    insert = claim.insert_runs

    def refuse(rows: Any) -> Any:
        if any(row.routine_id == bad.pk for row in rows):
            raise OperationalError("no more of these") from Exception(1644, "SIGNAL")
        return insert(rows)

    with monkeypatch.context() as patch:
        patch.setattr(claim, "insert_runs", refuse)
        assert claim_due(clock.now()).fired == 5
        assert claim_due(clock.now()).fired == 0
    assert Routine.objects.get(name="bad").status == "ACTIVE"
    assert nothing_set_aside.ids == [bad.pk]
    assert len([line for line in caplog.messages if "routine bad" in line]) == 1
    assert claim_twice() == 1
    assert nothing_set_aside.ids == []


def test_an_outage_is_raised_and_sets_nobody_aside(
    monkeypatch: pytest.MonkeyPatch, nothing_set_aside: SetAside
) -> None:
    """The beat backs off; it is nobody's own trouble."""
    due("a", "b")

    def away(*_: Any) -> Any:
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(claim, "insert_runs", away)
    with pytest.raises(OperationalError):
        claim_due(clock.now())
    assert nothing_set_aside.ids == []


def test_others_are_on_time_while_one_is_due_and_held() -> None:
    """When the next routine is due does not depend on what is due already."""
    due("held")
    service.create_routine("next", task=TASK, every="10s")
    now = clock.now()
    coming = RoutineState.objects.get(routine__name="next").next_run_at
    assert next_due_at() < now
    assert next_due_at(after=now) == coming
    held_id = Routine.objects.get(name="held").pk
    assert next_due_at(without=[held_id]) == coming
    assert next_due_at(after=now + timedelta(hours=1)) is None


def test_what_is_set_aside_rests_longer_each_time(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """And is named once; many are named together."""
    caplog.set_level(logging.WARNING)
    monkeypatch.setattr(set_aside, "REST_SECONDS", (10.0, 25.0))
    made = due(*(f"r{number:02}" for number in range(12)))
    aside = SetAside()
    assert aside.seconds_left() == float("inf")
    rests = []
    for _ in range(4):
        aside.add([routine.pk for routine in made], "held")
        rests.append(round(aside.seconds_left()))
    assert rests == [10, 20, 25, 25]
    assert aside.rested() == []
    (line,) = caplog.messages
    assert "r00, r01" in line
    assert "and 2 others" in line
