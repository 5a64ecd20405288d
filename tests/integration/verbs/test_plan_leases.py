"""What a beat would do next, and why."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from time import process_time
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from routines_app import service
from routines_app.core.words import Reason
from routines_app.models import Pool, Routine, RoutineRun, RoutineState
from routines_app.protocol.plan.planning import fingerprint_of
from routines_app.protocol.publish.pools import admit_pools
from routines_app.verbs.leases import facts
from tests.integration.conftest import MONDAY, Time
from tests.integration.protocol.rotate.rows import a_rotation, members_of
from tests.integration.verbs.rows import running_run, waiting_run

Make = Callable[..., Routine]


def plan(**options: Any) -> list[tuple[str, str, str]]:
    return [(each.name, each.verdict, each.reason) for each in service.plan_leases(**options).decisions]


def due(routine: Routine, **ago: float) -> Routine:
    """Its next slot is now, or was a moment ago."""
    slot = MONDAY - timedelta(**ago)
    RoutineState.objects.filter(pk=routine.pk).update(next_slot=slot, next_run_at=slot)
    return routine


def queued(routine: Routine, number: int, **values: Any) -> RoutineRun:
    """A run that waits for room in its pool."""
    values = {"admitted_at": None, "publish_after": None, "reason": Reason.CEILING, "pool": routine.pool} | values
    return waiting_run(routine, number, **values)


def test_runs_that_are_held_by_a_full_pool_are_in_the_plan(make: Make) -> None:
    """A pool of one with two that wait: one starts, the other says what it waits for."""
    Pool.objects.create(name="db", max_concurrent=1)
    first, second = make("first", pool="db"), make("second", pool="db")
    RoutineState.objects.filter(pk=first.pk).update(last_success_at=MONDAY - timedelta(days=2))
    RoutineState.objects.filter(pk=second.pk).update(last_success_at=MONDAY - timedelta(days=1))
    runs = [queued(second, 1), queued(first, 2)]

    found = service.plan_leases()

    assert [(each.name, each.verdict, each.reason) for each in found.decisions] == [
        ("first", "start", ""),
        ("second", "hold", "ceiling"),
    ]
    assert [each.position for each in found.decisions] == [1, 2]
    assert {each.run_id for each in found.decisions} == {run.pk for run in runs}
    assert found.decisions[0].why == "there is room in pool db (0 of 1 in flight)"
    assert found.decisions[1].why == "pool db is full (1 of 1 in flight)"


def test_slots_without_a_row_are_candidates(make: Make) -> None:
    due(make("hourly", every="1h"))
    (decision,) = service.plan_leases().decisions
    assert (decision.run_id, decision.slot, decision.verdict, decision.pool) == (None, MONDAY, "start", None)
    assert not RoutineRun.objects.exists()


@pytest.mark.parametrize(
    ("policy", "verdict", "reason"),
    [("ALLOW", "start", ""), ("FORBID", "skip", "overlap"), ("REPLACE", "replace", "replacing")],
)
def test_a_slot_that_finds_its_routine_active(make: Make, policy: str, verdict: str, reason: str) -> None:
    routine = due(make("hourly", every="1h", concurrency_policy=policy))
    running_run(routine)
    assert plan() == [("hourly", verdict, reason)]


def test_what_starts_is_active_for_the_next(make: Make) -> None:
    """FORBID with two that wait: the first goes, the other waits for it."""
    routine = make("report", concurrency_policy="FORBID")
    waiting = {"admitted_at": None, "publish_after": MONDAY, "reason": Reason.NOT_YET}
    waiting_run(routine, 1, scheduled_for=MONDAY - timedelta(seconds=9), **waiting)
    waiting_run(routine, 2, **waiting)
    assert sorted(plan()) == [("report", "hold", "overlap"), ("report", "start", "")]


def test_queue_keeps_the_newest_slot(make: Make) -> None:
    """QUEUE: a due slot waits for the run that is active, and stands for the older one that waits."""
    routine = due(make("hourly", every="1h", concurrency_policy="QUEUE"))
    running_run(routine)
    held = {"admitted_at": None, "publish_after": MONDAY + timedelta(seconds=9), "reason": Reason.OVERLAP}
    older = waiting_run(routine, 2, scheduled_for=MONDAY - timedelta(hours=1), **held)
    found = {each.run_id: (each.verdict, each.reason) for each in service.plan_leases().decisions}
    assert found == {older.pk: ("skip", "superseded"), None: ("hold", "overlap")}


def test_a_schedule_that_cannot_be_computed_is_said(make: Make) -> None:
    """A claim would park it; the others are planned."""
    broken = due(make("broken", cron="0 * * * *"))
    due(make("fine", every="1h"))
    Routine.objects.filter(pk=broken.pk).update(timezone="Mars/Olympus")
    RoutineState.objects.filter(pk=broken.pk).update(fingerprint=fingerprint_of(Routine.objects.get(pk=broken.pk)))
    found = {each.name: each for each in service.plan_leases().decisions}
    assert (found["broken"].verdict, found["broken"].reason, found["fine"].verdict) == ("skip", "parked", "start")
    assert "cannot be computed" in found["broken"].why


def test_a_later_moment_has_the_next_slot_of_each_routine(make: Make) -> None:
    """Beats are taken to be on time: a slot an hour before that moment is not a missed one."""
    make("often", every="10m")
    make("hourly", cron="0 * * * *")
    make("rare", every="5h")
    found = service.plan_leases(now=MONDAY + timedelta(hours=2)).decisions
    assert {(each.name, each.verdict) for each in found} == {("often", "start"), ("hourly", "start")}
    assert {each.slot - MONDAY for each in found if each.name == "often"} == {timedelta(minutes=10)}


def test_the_end_of_a_pause_lets_go_what_it_held(make: Make) -> None:
    """Its slots are skipped, its runs go, and the slot at its very end fires."""
    routine = due(make("report", every="1h"), minutes=30)
    waiting_run(routine, 1, admitted_at=None, publish_after=None, reason=Reason.PAUSED)
    service.pause_routine(routine, until=MONDAY + timedelta(minutes=30))
    assert plan() == [("report", "hold", "paused")]
    later = service.plan_leases(now=MONDAY + timedelta(minutes=30)).decisions
    found = sorted((each.slot - MONDAY, each.verdict.value, each.reason.value) for each in later)
    assert found == [
        (timedelta(minutes=-30), "skip", "paused"),
        (timedelta(), "start", ""),
        (timedelta(minutes=30), "start", ""),
    ]


def test_only_some_pools_and_only_so_many(make: Make) -> None:
    """By name, id or instance; the order and the room are those of all."""
    db, web = service.create_pool("db", max_concurrent=1), service.create_pool("web", max_concurrent=5)
    for number in range(3):
        queued(make(f"db {number}", pool="db"), number)
    queued(make("web", pool="web"), 10)
    due(make("free", every="1h"))
    assert [name for name, _, _ in plan(pools=web)] == ["web"]
    assert len(plan(pools=["db", web.pk])) == 4
    assert len(plan(pools=db.pk)) == 3
    assert plan(pools=[]) == []
    found = service.plan_leases(limit=2)
    assert (len(found.decisions), found.truncated) == (2, True)
    assert not service.plan_leases(limit=5).truncated


def test_a_pool_that_is_asked_for_is_not_hidden_by_another(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much waits and is due there: what is asked for is read first, and it is all there is."""
    monkeypatch.setattr(facts, "READ_AT_MOST", 3)
    big, small = service.create_pool("big", max_concurrent=1), service.create_pool("small", max_concurrent=2)
    for number in range(4):
        queued(make(f"big {number}", pool=big, priority="HIGH"), number)
        due(make(f"due {number}", pool=big, every="1h"), seconds=2)
    queued(make("waits", pool=small), 10)
    due(make("is due", pool=small, every="1h"), seconds=1)
    found = service.plan_leases(pools=["small"])
    assert {each.name: each.verdict for each in found.decisions} == {"waits": "start", "is due": "start"}
    assert not found.truncated
    assert service.plan_leases(pools=["small", big]).truncated
    assert service.plan_leases().truncated


def test_the_default_pool_is_asked_for_with_what_names_none(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own and what is yet to be taken in, waiting or due."""
    monkeypatch.setattr(facts, "READ_AT_MOST", 2)
    default = service.create_pool("default", max_concurrent=9, is_default=True)
    other = service.create_pool("other", max_concurrent=1)
    for number in range(3):
        queued(make(f"other {number}", pool=other, priority="HIGH"), number)
        due(make(f"due {number}", pool=other, every="1h"), seconds=2)
    waiting_run(make("outside"), 10, admitted_at=None, publish_after=MONDAY)
    due(make("is due", every="1h"), seconds=1)
    assert {name for name, _, _ in plan(pools=default)} == {"outside", "is due"}


def test_of_more_than_is_read_those_start_that_the_pool_would_take(
    make: Make, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stalest, not those whose time came first."""
    monkeypatch.setattr(facts, "READ_AT_MOST", 2)
    pool = service.create_pool("db", max_concurrent=1)
    for hours in range(1, 5):
        routine = make(f"{hours} h", pool=pool)
        RoutineState.objects.filter(pk=routine.pk).update(last_success_at=MONDAY - timedelta(hours=hours))
        queued(routine, hours, eligible_at=MONDAY - timedelta(minutes=10 - hours))
    found = service.plan_leases()
    assert [(each.name, each.verdict) for each in found.decisions] == [("4 h", "start"), ("3 h", "hold")]
    assert found.truncated
    (sent,) = admit_pools(time.now)
    assert RoutineRun.objects.get(pk=sent.run_id).routine.name == "4 h"


def test_other_bad_input_is_refused(db: None) -> None:
    for options in ({"limit": 0}, {"now": "soon"}, {"pools": ["nowhere"]}, {"pools": 3.5}):
        with pytest.raises(service.RoutineError):
            service.plan_leases(**options)  # type: ignore[arg-type]


def fleet(number: int, first: int = 0) -> None:
    """So many routines with a waiting run and a due slot each, written directly."""
    pool, _ = Pool.objects.get_or_create(name="db", defaults={"max_concurrent": 7})
    policies = ["ALLOW", "FORBID", "REPLACE", "QUEUE"]
    plain = Routine(task="t", trigger_kind="INTERVAL", interval_ms=3_600_000, created_at=MONDAY)
    made = Routine.objects.bulk_create(
        Routine(
            name=f"r{at}",
            task="t",
            trigger_kind="INTERVAL",
            interval_ms=3_600_000,
            created_at=MONDAY,
            pool=pool if at % 2 else None,
            concurrency_policy=policies[at % 4],
        )
        for at in range(first, first + number)
    )
    states = [
        RoutineState(
            routine=routine,
            next_slot=MONDAY,
            next_run_at=MONDAY,
            next_source="baseline-interval",
            fingerprint=fingerprint_of(plain),
        )
        for routine in made
    ]
    RoutineState.objects.bulk_create(states)
    RoutineRun.objects.bulk_create(
        RoutineRun(
            routine=routine,
            task="t",
            pool=routine.pool,
            scheduled_for=MONDAY,
            eligible_at=MONDAY,
            reason=Reason.CEILING if routine.pool else Reason.NOT_YET,
            publish_after=None if routine.pool else MONDAY,
            idempotency_key=f"fleet {routine.pk}",
        )
        for routine in made
    )


def test_the_statements_are_few_whatever_there_is(measured_clock: None, time: Time) -> None:
    """Ten times as much costs as many; another policy one more, for the names."""
    counts = []
    for first, number in ((0, 10), (100, 100)):
        fleet(number, first)
        for what_if in (None, {"pools": {"db": 9}, "paused": ["r1"], "priorities": {"r2": "HIGH"}}):
            with CaptureQueriesContext(connection) as queries:
                service.plan_leases(what_if=what_if)
            counts.append(len(queries))
    assert counts == [5, 6, 5, 6]


def test_the_time_grows_with_the_candidates(db: None, time: Time) -> None:
    """Ten times as many cost about ten times the time, and not a hundred times."""
    fleet(150)
    fastest = min(_seconds(300) for _ in range(3))
    fleet(1_350, 150)
    assert _seconds(3_000) < 30 * fastest + 0.1


def _seconds(candidates: int) -> float:
    """Of Python: the database's part is counted in statements."""
    began = process_time()
    assert len(service.plan_leases(limit=10_000).decisions) == candidates
    return process_time() - began


def test_a_rotations_tick_needs_no_lease_and_a_members_run_does(make: Make) -> None:
    """The claim does the tick itself; what it picked waits like any run."""
    rotation = a_rotation()
    (member,) = members_of(rotation, 1)
    due(rotation.routine)
    waiting_run(member, 1, admitted_at=None, trigger="rotation", rotation=rotation, publish_after=MONDAY)
    assert plan() == [(member.name, "start", "")]
