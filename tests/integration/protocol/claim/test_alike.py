"""Routines on one schedule share a claim's decision, and only those do."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from routines_app import service
from routines_app.core import firing
from routines_app.core.jitter import jitter_ms
from routines_app.core.keys import slot_key
from routines_app.models import Pool, Routine, RoutineRun, RoutineState
from routines_app.protocol.claim import alike, decide
from routines_app.protocol.claim.alike import Decisions
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.claim.claimed import Claimed
from routines_app.protocol.claim.due import DueRow, take_due
from routines_app.protocol.end.overlap import active_runs
from routines_app.protocol.ledger import clock

pytestmark = pytest.mark.django_db(transaction=True)

TASK = "tests.acceptance.tasks.note"
SECOND = timedelta(seconds=1)


def make_due(late: timedelta) -> None:
    """Give all routines the same slots, the oldest of them that late."""
    slot = clock.now() - late
    last = slot - timedelta(seconds=10)
    RoutineState.objects.update(last_slot=last, next_slot=slot, next_run_at=slot)


def make(*names: str, **policies: Any) -> list[Routine]:
    return [service.create_routine(name, task=TASK, every="10s", **policies) for name in names]


@pytest.fixture
def decided(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the routines that were decided by themselves."""
    names: list[str] = []

    def decide_alone(row: DueRow, *given: Any) -> Claimed:
        names.append(row.name)
        return decide.decide(row, *given)

    monkeypatch.setattr(alike, "decide", decide_alone)
    return names


def test_equal_schedules_are_decided_once(monkeypatch):
    """Each routine still gets a row of its own, for the same slot."""
    decided = []
    monkeypatch.setattr(decide, "decide_claim", lambda *given: decided.append(given) or firing.decide_claim(*given))
    for name in ("one", "two", "three"):
        service.create_routine(name, task=TASK, every="10s", queue=name)
    make_due(timedelta(seconds=1))

    assert claim_due(clock.now()).fired == 3
    assert len(decided) == 1
    assert RoutineRun.objects.values("routine").distinct().count() == 3
    assert RoutineRun.objects.values("scheduled_for").distinct().count() == 1


def test_a_different_rule_is_a_different_decision():
    """The same missed slots are skipped for one routine and caught up for the other."""
    service.create_routine("skips", task=TASK, every="10s", misfire_grace_ms=5_000)
    service.create_routine("catches", task=TASK, every="10s", misfire_grace_ms=5_000, catch_up_policy="LAST")
    make_due(timedelta(seconds=17))

    claim_due(clock.now())

    statuses = {name: list(runs_of(name)) for name in ("skips", "catches")}
    assert statuses["skips"] == ["SKIPPED"]
    assert "PENDING" in statuses["catches"]


def runs_of(name: str) -> list[str]:
    return list(
        RoutineRun.objects.filter(routine__name=name).order_by("scheduled_for").values_list("status", flat=True)
    )


def test_alike_routines_get_runs_and_states_of_their_own(decided: list[str]):
    """What is copied is the decision: ids, keys, names and priorities stay those of each routine."""
    one, *others = make("one", "two", "three")
    service.update_routine(others[1], priority="HIGH")
    make_due(SECOND)
    slot = RoutineState.objects.get(pk=one.pk).next_slot

    report = claim_due(clock.now())

    assert decided == ["one"]
    runs = {run.routine_id: run for run in RoutineRun.objects.all()}
    assert set(runs) == {routine.pk for routine in (one, *others)}
    assert len({run.pk for run in runs.values()}) == 3
    assert {pk: run.idempotency_key for pk, run in runs.items()} == {pk: slot_key(pk, slot, 1) for pk in runs}
    moved = RoutineState.objects.filter(last_slot=slot, next_slot=slot + 10 * SECOND, next_run_at=slot + 10 * SECOND)
    assert set(moved.values_list("pk", flat=True)) == set(runs)
    told = {(message.run_id, message.routine, message.priority) for message in report.messages}
    priorities = {"one": "MEDIUM", "two": "MEDIUM", "three": "HIGH"}
    assert told == {(str(run.pk), run.routine.name, priorities[run.routine.name]) for run in runs.values()}


def test_alike_routines_get_skipped_rows_of_their_own():
    """One row stands for the missed slots of one routine."""
    make("one", "two", misfire_grace_ms=5_000)
    make_due(timedelta(seconds=57))

    claim_due(clock.now())

    skipped = RoutineRun.objects.filter(status="SKIPPED").order_by("routine__name")
    assert [(run.routine.name, run.reason, run.occurrences) for run in skipped] == [
        ("one", "misfire", 6),
        ("two", "misfire", 6),
    ]


ALIKE: dict[str, dict[str, Any]] = {
    "fresh": {},
    "skipping": {"misfire_grace_ms": 5_000},
    "last": {"misfire_grace_ms": 5_000, "catch_up_policy": "LAST"},
    "all": {"misfire_grace_ms": 5_000, "catch_up_policy": "ALL"},
    "limited": {"misfire_grace_ms": 5_000, "catch_up_policy": "ALL", "catch_up_limit": 2},
    "replacing": {"concurrency_policy": "REPLACE", "misfire_grace_ms": 9_000},
    "forbidding": {"concurrency_policy": "FORBID"},
    "pooled": {"pool": "db"},
    "elsewhere": {"queue": "slow", "timeout_ms": 7_000},
}


@pytest.mark.parametrize("policies", ALIKE.values(), ids=ALIKE)
def test_a_copy_is_what_the_routine_would_have_got_by_itself(policies: dict[str, Any], decided: list[str]):
    """Except for the ids of its runs, which nobody else has."""
    Pool.objects.create(name="db", max_concurrent=5)
    make("one", "two", **policies)
    make_due(timedelta(seconds=37))
    now = clock.now()
    with transaction.atomic():
        first, second = take_due(now, 2).rows

    decisions = Decisions(now)
    copied_from, copied = decisions.of(first, []), decisions.of(second, [])

    assert decided == ["one"]
    alone = decide.decide(second, [], now, lambda row, slot: decide.firing_of(row, slot, now))
    assert alone.runs
    assert without_ids(copied) == without_ids(alone)
    ids = [run.id for claimed in (copied_from, copied) for run in claimed.runs]
    assert len(set(ids)) == len(ids)


def without_ids(claimed: Claimed) -> Claimed:
    return claimed._replace(runs=tuple(run._replace(id=None) for run in claimed.runs))


def test_runs_that_replace_each_other_are_those_of_one_routine(decided: list[str]):
    """REPLACE with several slots due: what is cancelled is named, so the decision is not copied."""
    make("one", "two", concurrency_policy="REPLACE", catch_up_policy="LAST")
    make_due(timedelta(seconds=37))

    claim_due(clock.now())

    assert sorted(decided) == ["one", "two"]
    assert runs_of("one") == runs_of("two") == ["CANCELLED", "CANCELLED", "CANCELLED", "PENDING"]


def test_jitter_is_each_routines_own(decided: list[str]):
    """Spread out is what jitter is for; the amount comes from the routine's id."""
    made = make("one", "two", jitter_ms=60_000)
    make_due(SECOND)
    slot = RoutineState.objects.get(pk=made[0].pk).next_slot

    claim_due(clock.now())

    assert sorted(decided) == ["one", "two"]
    delays = {run.routine_id: run.eligible_at - slot for run in RoutineRun.objects.all()}
    assert delays == {pk: timedelta(milliseconds=jitter_ms(str(pk), slot, 60_000)) for pk in delays}
    assert len(set(delays.values())) == 2


def run_it(routine: Routine) -> None:
    now = clock.now()
    run = RoutineRun.objects.create(
        routine=routine, task=TASK, scheduled_for=now - 60 * SECOND, eligible_at=now, idempotency_key=f"r:{routine.pk}"
    )
    RoutineRun.objects.filter(pk=run.pk).update(status="RUNNING", started_at=now, running_key=routine.pk)


@pytest.mark.parametrize("order", [("one", "two"), ("two", "one")])
def test_an_active_run_counts_for_its_own_routine_only(order: tuple[str, str], decided: list[str]):
    """Whichever of two alike routines is claimed first, the one that still runs skips its slot and the other fires."""
    made = {routine.name: routine for routine in make(*order, concurrency_policy="FORBID")}
    run_it(made["one"])
    make_due(SECOND)

    claim_due(clock.now())

    assert sorted(decided) == ["one", "two"]
    assert runs_of("one")[1:] == ["SKIPPED"]
    assert runs_of("two") == ["PENDING"]


def test_a_replaced_run_is_asked_to_stop_for_its_own_routine_only(decided: list[str]):
    """The request names a run, so it is never copied."""
    busy, idle = make("busy", "idle", concurrency_policy="REPLACE")
    run_it(busy)
    make_due(SECOND)
    now = clock.now()
    with transaction.atomic():
        rows = take_due(now, 2).rows
        decisions = Decisions(now)
        active = active_runs([busy.pk, idle.pk])
        claims = [decisions.of(row, active.get(row.routine_id, [])) for row in rows]

    assert sorted(decided) == ["busy", "idle"]
    assert [len(claimed.stop) for claimed in claims] == [1, 0]
    assert [claimed.runs[0].reason for claimed in claims] == ["replacing", ""]


def test_before_its_first_slot_a_routine_counts_from_its_creation(decided: list[str]):
    """Alike as they are, an extra fire for both leaves each of them on a grid of its own."""
    now = clock.now()
    for age, routine in enumerate(make("one", "two"), start=3):
        Routine.objects.filter(pk=routine.pk).update(created_at=now - age * SECOND)
    hint = {"slot_source": "hint-oneshot", "hint_next_at": now, "hint_next_expires_at": now + 60 * SECOND}
    RoutineState.objects.update(last_slot=None, next_slot=now, next_run_at=now, next_source="hint-oneshot", **hint)

    assert claim_due(clock.now()).fired == 2

    assert sorted(decided) == ["one", "two"]
    created = dict(Routine.objects.values_list("pk", "created_at"))
    following = dict(RoutineState.objects.values_list("pk", "next_slot"))
    assert following == {pk: moment + 10 * SECOND for pk, moment in created.items()}


BREAKS: dict[str, Callable[[RoutineState], dict[str, Any]]] = {
    "a failure": lambda state: {"failure_count": state.failure_count + 1},
    "another slot": lambda state: {"next_slot": state.next_slot - SECOND},
    "another plan": lambda state: {"fingerprint": "of before"},
}


@pytest.mark.parametrize("changes", BREAKS.values(), ids=BREAKS)
def test_whatever_a_decision_depends_on_keeps_routines_apart(
    changes: Callable[[RoutineState], dict[str, Any]], decided: list[str]
):
    """Alike means alike in everything but the identity."""
    make("one", "two")
    make_due(SECOND)
    state = RoutineState.objects.get(routine__name="two")
    RoutineState.objects.filter(pk=state.pk).update(**changes(state))

    claim_due(clock.now())

    assert sorted(decided) == ["one", "two"]
