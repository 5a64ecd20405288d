"""`manage.py routines hint, clear-hints, queue, clear-overrides, run-stalest, pool` and `plan --leases`."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError

from routines_app import service
from routines_app.core.words import Reason, RunStatus, RunTrigger
from routines_app.models import Pool, Routine, RoutineRun, RoutineState
from tests.integration.conftest import MONDAY
from tests.integration.management.commands.test_routines import routines
from tests.integration.verbs.rows import running_run, waiting_run

Make = Callable[..., Routine]


def told(*arguments: str) -> Any:
    return json.loads(routines(*arguments, "--json"))


def asked_for(routine: Routine, number: int, **values: Any) -> RoutineRun:
    """A request by hand that waits for room."""
    held = {"admitted_at": None, "publish_after": None, "reason": Reason.CEILING, "pool_id": routine.pool_id}
    by_hand = {"trigger": RunTrigger.MANUAL, "requested_at": MONDAY, "requested_by": "ada"}
    return waiting_run(routine, number, **(held | by_hand | values))


def test_hint_an_interval_for_a_while(make: Make) -> None:
    """By name or id; who did it and why is recorded, and the plan follows."""
    routine = make("report", every="1h")
    assert "report is hinted; next look" in routines("hint", "report", "--every", "5m", "--reason", "a rush")
    state = RoutineState.objects.get()
    assert state.hint_interval_ms == 300_000
    assert (state.hint_interval_reason, "(command line)" in state.hint_interval_by) == ("a rush", True)
    facts = told("hint", "--id", str(routine.pk), "--every", "10m", "--ttl", "2h")
    assert (facts["hinted"], facts["name"], facts["why"]) == (1, "report", "hint-interval")
    assert RoutineState.objects.get().hint_interval_expires_at == MONDAY + timedelta(hours=2)


def test_hint_one_more_fire(make: Make) -> None:
    make("report", every="1h")
    assert told("hint", "report", "--at", "2026-03-02T10:20+00:00")["why"] == "hint-oneshot"
    assert RoutineState.objects.get().hint_next_at == MONDAY.replace(minute=20, second=0)


def test_hint_many_by_a_factor(make: Make) -> None:
    """All with a tag, group, queue or pool; or one."""
    service.create_pool("db", max_concurrent=2)
    for number in range(2):
        make(f"r{number}", every="1h", tags=["slow"], group="g", queue="q", pool="db")
    make("other", every="1h")
    for option, value in (("--tag", "slow"), ("--group", "g"), ("--queue", "q"), ("--pool", "db")):
        assert routines("hint", "--factor", "5", option, value) == "2 routines are hinted\n"
        assert told("clear-hints", option, value) == {"cleared": 2}
    assert told("hint", "--factor", "2", "other")["name"] == "other"
    assert "the hints of other are cleared; next look" in routines("clear-hints", "other")
    assert not RoutineState.objects.exclude(hint_factor=None).exists()


def test_queue_shows_what_runs_and_why_each_waits(make: Make) -> None:
    """The parts one after another, or as one JSON object."""
    service.create_pool("db", max_concurrent=1)
    busy, wanted, late = (make(name, pool="db") for name in ("busy", "wanted", "late"))
    running_run(busy, pool_id=busy.pool_id, worker="w1@here")
    asked_for(wanted, 2)
    asked_for(late, 3, trigger=RunTrigger.SCHEDULE, requested_at=None, requested_by="")
    text = routines("queue")
    assert "w1@here" in text
    assert text.index("asked for by hand: 1") < text.index("wanted") < text.index("waiting: 2") < text.index("late")
    queue = told("queue", "--pool", "db")
    assert [[run["name"] for run in queue[part]] for part in ("running", "overrides", "automatic")] == [
        ["busy"],
        ["wanted"],
        ["late"],
    ]
    assert queue["automatic"][0]["reason"] == "ceiling"
    assert routines("queue", "--limit", "1").endswith("there is more: give a higher --limit\n")
    assert told("queue", "--pool-id", str(busy.pool_id))["waiting"] == 2


def test_clear_overrides_takes_requests_back(make: Make) -> None:
    service.create_pool("db", max_concurrent=1)
    service.create_pool("web", max_concurrent=1)
    db, web = make("db", pool="db"), make("web", pool="web")
    requests = [asked_for(db, 1), asked_for(web, 2)]
    assert routines("clear-overrides", "--pool", "db", "--reason", "enough") == "1 requests cancelled\n"
    assert told("clear-overrides") == {"cancelled": 1}
    assert {RoutineRun.objects.get(pk=run.pk).status for run in requests} == {RunStatus.CANCELLED}


def test_run_stalest(make: Make) -> None:
    """The one that never succeeded; and nothing when all are busy."""
    assert told("run-stalest") == {"run": None}
    assert routines("run-stalest") == "nothing to run: there is no idle routine\n"
    make("fresh")
    RoutineState.objects.update(last_success_at=MONDAY)
    make("never")
    assert "of never is PENDING" in routines("run-stalest")
    assert told("run-stalest")["name"] == "fresh"
    assert "(command line)" in RoutineRun.objects.first().requested_by  # type: ignore[union-attr]


def test_pools_are_made_changed_listed_and_deleted(make: Make) -> None:
    assert routines("pool", "create", "db", "--max", "3", "--default") == (
        "pool db is created: at most 3 in flight, and the default pool\n"
    )
    pool = Pool.objects.get()
    waiting_run(make("report"), 1, pool=pool)
    (row,) = told("pool", "list")
    assert row == {"id": pool.pk, "name": "db", "ceiling": 3, "in flight": 1, "waiting": 0, "default": True}
    assert "IN FLIGHT" in routines("pool", "list")
    assert told("pool", "change", "db", "--max", "5", "--no-default")["ceiling"] == 5
    assert not Pool.objects.get().is_default
    assert "pool web is changed" in routines("pool", "change", "--id", str(pool.pk), "--name", "web")
    with pytest.raises(CommandError, match="its runs are active"):
        routines("pool", "delete", "web")
    RoutineRun.objects.all().delete()
    assert routines("pool", "delete", "web") == "pool web is deleted\n"
    assert not Pool.objects.exists()


def test_plan_leases_shows_held_runs_and_what_would_be_otherwise(make: Make) -> None:
    """A pool of one with two that wait: the plan of fires shows neither, the plan of leases both."""
    service.create_pool("db", max_concurrent=1)
    for number, name in enumerate(("one", "two")):
        asked_for(make(name, pool="db"), number, trigger=RunTrigger.SCHEDULE, requested_at=None)
    assert told("plan") == []
    table = routines("plan", "--leases")
    assert [line.split()[:3] for line in table.splitlines()[1:]] == [["1", "start", "one"], ["2", "hold", "two"]]
    text = routines("plan", "--leases", "--what-if", '{"pools": {"db": 2}}')
    assert "otherwise than now:" in text
    plan = told("plan", "--leases", "--what-if", '{"pools": {"db": 2}}', "--pool", "db")
    assert [(each["name"], each["now"], each["then"]) for each in plan["differences"]] == [("two", "hold", "start")]
    assert "the same as now" in routines("plan", "--leases", "--what-if", "{}")
    assert routines("plan", "--leases", "--limit", "1").endswith("there is more: give a higher --limit\n")


def test_a_pool_is_also_given_by_its_id(make: Make) -> None:
    """Wherever it is given by its name, and by one of the two."""
    service.create_pool("web", max_concurrent=1)
    pool = service.create_pool("db", max_concurrent=1)
    asked_for(make("one", every="1h", pool=pool), 1)
    by_id = ["--pool-id", str(pool.pk)]
    assert told("hint", "--factor", "5", *by_id) == {"hinted": 1}
    assert told("clear-hints", *by_id) == {"cleared": 1}
    assert [each["name"] for each in told("plan", "--leases", *by_id)["decisions"]] == ["one"]
    assert [each["name"] for each in told("plan", "--leases", *by_id, "--pool", "web")["decisions"]] == ["one"]
    assert [each["name"] for each in told("queue", *by_id)["overrides"]] == ["one"]
    with pytest.raises(CommandError, match="not allowed with argument"):
        routines("clear-hints", "--pool", "web", *by_id)
    with pytest.raises(CommandError, match="--pool goes with --leases"):
        routines("plan", *by_id)
    assert told("clear-overrides", *by_id) == {"cancelled": 1}


def test_plan_from_another_moment(make: Make) -> None:
    """Both plans take one."""
    make("hourly", cron="0 * * * *")
    at = ["--now", "2026-03-02T11:00+00:00"]
    assert told("plan", *at, "--limit", "1")[0]["slot"].startswith("2026-03-02 11:00:00")
    (decision,) = told("plan", "--leases", *at)["decisions"]
    assert (decision["verdict"], decision["run_id"]) == ("start", None)
    assert told("plan", "--leases")["decisions"] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["hint", "report"], "one of the arguments --every --at --factor is required"),
        (["hint", "--every", "5m", "--tag", "x"], "--every and --at are for one routine"),
        (["hint", "--every", "5m"], "--every and --at are for one routine"),
        (["hint", "report", "--every", "5"], "interval: '5' is not accepted"),
        (["hint", "report", "--at", "soon"], "--at: 'soon' is not accepted"),
        (["hint", "report", "--every", "5m", "--ttl", "0s"], "ttl: '0s' is not accepted"),
        (["hint", "report", "--factor", "0"], "factor: 0.0 is not accepted"),
        (["hint", "report", "--factor", "2", "--tag", "x"], "is not accepted"),
        (["clear-hints"], "is not accepted"),
        (["clear-hints", "reprot"], "no routine has that name"),
        (["queue", "--pool", "nowhere"], "no pool has that name"),
        (["queue", "--limit", "0"], "limit: 0 is not accepted"),
        (["clear-overrides", "--pool", "nowhere"], "no pool has that name"),
        (["run-stalest", "--pool-id", "999999"], "no pool has that id"),
        (["pool", "create", "db", "--max", "-1"], "max_concurrent: -1 is not accepted"),
        (["pool", "change", "nowhere", "--max", "2"], "no pool has that name"),
        (["pool", "change", "nowhere"], "nothing to change"),
        (["pool", "delete", "nowhere"], "no pool has that name"),
        (["plan", "--what-if", "{}"], "--what-if goes with --leases"),
        (["plan", "--pool", "db"], "--pool goes with --leases"),
        (["plan", "--leases", "report"], "choose with --pool and --now"),
        (["plan", "--leases", "--pool", "nowhere"], "no pool has that name"),
        (["plan", "--leases", "--what-if", "{"], "--what-if: '{' is not accepted: give JSON"),
        (["plan", "--leases", "--what-if", '{"pool": {}}'], "pool: {} is not accepted: did you mean pools"),
        (["plan", "--leases", "--what-if", '{"pools": {"nowhere": 3}}'], "no pool has that name"),
        (["plan", "--leases", "--now", "soon"], "--now: 'soon' is not accepted"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(make: Make, arguments: list[str], message: str) -> None:
    make("report", every="1h")
    with pytest.raises(CommandError) as refused:
        routines(*arguments)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
