"""What another policy would do otherwise; nothing of it is written."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from routines_app import service
from routines_app.core.words import Reason
from routines_app.models import Pool, Routine
from tests.integration.conftest import MONDAY, Time
from tests.integration.verbs.fleets import everything
from tests.integration.verbs.rows import running_run, waiting_run
from tests.integration.verbs.test_plan_leases import Make, due, queued

Change = tuple[str, str | None, str | None]


def changed(what_if: dict[str, Any], **options: Any) -> list[Change]:
    found = service.plan_leases(what_if=what_if, **options).differences
    return [(each.name, each.now and each.now.value, each.then and each.then.value) for each in found]


def test_what_if_a_ceiling_were_another(make: Make) -> None:
    service.create_pool("db", max_concurrent=1)
    for number in range(3):
        queued(make(f"r{number}", pool="db"), number)
    assert [change[1:] for change in changed({"pools": {"db": 3}})] == [("hold", "start")] * 2
    assert changed({}) == changed({"pools": {"db": 1}}) == []
    assert Pool.objects.get().max_concurrent == 1


def test_what_if_a_routine_were_paused(make: Make) -> None:
    """What waits is held and gives its place to the next; a due slot is no candidate; a request goes all the same."""
    service.create_pool("db", max_concurrent=1)
    first, second = make("first", pool="db", priority="HIGH"), make("second", pool="db")
    queued(first, 1)
    queued(second, 2)
    due(make("slot", every="1h"))
    asked = make("asked")
    waiting_run(asked, 3, admitted_at=None, publish_after=MONDAY, trigger="manual", requested_at=MONDAY)
    found = changed({"paused": ["first", "slot", asked]})
    assert sorted(found) == [("first", "start", "hold"), ("second", "hold", "start"), ("slot", "start", None)]


def test_what_if_a_routine_were_resumed(make: Make) -> None:
    routine = due(make("report", every="1h"), minutes=30)
    waiting_run(routine, 1, admitted_at=None, publish_after=None, reason=Reason.PAUSED)
    service.pause_routine(routine)
    assert sorted(changed({"resumed": ["report"]}), key=str) == [
        ("report", "hold", "start"),
        ("report", None, "skip"),
    ]
    later = changed({"resumed": ["report"]}, now=MONDAY + timedelta(hours=1))
    assert ("report", None, "start") in later


def test_what_if_priorities_were_others(make: Make) -> None:
    service.create_pool("db", max_concurrent=1)
    for number, name in enumerate(("low", "high")):
        queued(make(name, pool="db", priority=name), number)
    assert sorted(changed({"priorities": {"low": "HIGH", "high": "low"}})) == [
        ("high", "start", "hold"),
        ("low", "hold", "start"),
    ]


def test_what_if_a_schedule_were_another(make: Make) -> None:
    """What the old one owes is left behind; the new one counts from the present."""
    due(make("report", every="1h"))
    assert changed({"schedules": {"report": {"every": "10m"}}}) == [("report", "start", "skip")]
    make("nightly", cron="0 3 * * *")
    soon = MONDAY + timedelta(minutes=20)
    assert changed({"schedules": {"nightly": {"cron": "*/5 * * * *"}}}, now=soon) == [("nightly", None, "start")]
    (found,) = service.plan_leases(now=soon, what_if={"schedules": {"nightly": {"every": "7m"}}}).differences
    assert found.slot > MONDAY


@pytest.mark.parametrize("schedule", [{"every": "10m"}, {"cron": "*/10 * * * *"}], ids=["every", "cron"])
def test_the_schedule_that_it_has_already_is_no_difference(make: Make, time: Time, schedule: dict[str, str]) -> None:
    """An edit that changes nothing leaves what is due alone."""
    make("report", **schedule)
    time.pass_by(minutes=10, seconds=5)
    assert service.plan_leases().decisions
    assert changed({"schedules": {"report": schedule}}) == []


def test_another_schedule_of_a_routine_whose_pause_will_be_over(make: Make) -> None:
    """The edit is now, the end of the pause comes after it."""
    make("report", every="10m")
    service.pause_routine("report", until=MONDAY + timedelta(hours=1))
    later = service.plan_leases(
        now=MONDAY + timedelta(hours=2), what_if={"schedules": {"report": {"every": "5m"}}}
    ).decisions
    assert [(each.slot - MONDAY, each.verdict.value) for each in later] == [
        (timedelta(minutes=5), "skip"),
        (timedelta(hours=1), "start"),
    ]


def test_a_pause_that_has_run_out_unseen_is_resumed_as_a_beat_would_end_it(make: Make, time: Time) -> None:
    """It ended when its time was over: what came due since then goes, asked about or not."""
    make("report", every="10m", misfire_grace_ms="1h")
    service.pause_routine("report", until=MONDAY + timedelta(minutes=20))
    time.pass_by(minutes=35)
    assert [each.verdict.value for each in service.plan_leases().decisions] == ["skip", "skip", "start"]
    assert changed({"resumed": ["report"]}) == []


def test_what_if_a_routine_were_paused_and_had_another_schedule(make: Make) -> None:
    """What the old schedule owes is left behind although nothing fires."""
    due(make("report", every="1h"))
    assert changed({"paused": ["report"], "schedules": {"report": {"every": "5m"}}}) == [("report", "start", "skip")]


def test_what_if_overlap_were_decided_otherwise(make: Make) -> None:
    running_run(due(make("report", every="1h")))
    for policy, verdict in (("FORBID", "skip"), ("REPLACE", "replace"), ("QUEUE", "hold")):
        assert changed({"concurrency": {"report": policy}}) == [("report", "start", verdict)]


@pytest.mark.parametrize(
    ("what_if", "message"),
    [
        ([], "what_if: [] is not accepted: give a mapping"),
        ({1: {}}, "what_if: {1: {}} is not accepted: give a mapping"),
        ({"pool": {}}, "pool: {} is not accepted: did you mean pools"),
        ({"pools": ["db"]}, "pools: ['db'] is not accepted: give a mapping from names"),
        ({"pools": {"nowhere": 3}}, "pools: 'nowhere' is not accepted: no pool has that name; there are: db"),
        ({"pools": {True: 3}}, "pools: True is not accepted"),
        ({"pools": {"db": -1}}, "pools: -1 is not accepted: give a whole number between 0 and"),
        ({"paused": "report"}, "paused: 'report' is not accepted: give a list of names"),
        ({"paused": ["reprot"]}, "paused: 'reprot' is not accepted: no routine has that name"),
        ({"paused": [None]}, "paused: None is not accepted"),
        ({"paused": [10**30]}, "no routine has that id"),
        ({"paused": [Routine()]}, "no routine has that id"),
        ({"priorities": {Routine(pk=2**62): "HIGH"}}, "no routine has that id"),
        ({"paused": ["x"] * 1001}, "give at most 1000 names"),
        ({"paused": ["report"], "resumed": ["report"]}, "in paused or in resumed, not in both"),
        ({"resumed": ["gone"]}, "what_if: 'gone' is not accepted: it is archived"),
        ({"priorities": {"report": "URGENT"}}, "priorities: 'URGENT' is not accepted: give one of LOW, MEDIUM, HIGH"),
        ({"concurrency": {"report": "NEVER"}}, "concurrency: 'NEVER' is not accepted: give one of ALLOW"),
        ({"schedules": {"report": "10m"}}, "schedules: '10m' is not accepted: give {\"cron\""),
        ({"schedules": {"report": {"cron": "* *", "every": "1m"}}}, 'give {"cron": "*/5 * * * *"} or'),
        ({"schedules": {"report": {"cron": "61 * * * *"}}}, "schedules: '61 * * * *' is not accepted"),
        ({"schedules": {"report": {"cron": ""}}}, "is not accepted"),
        ({"schedules": {"report": {"every": "0s"}}}, "schedules: '0s' is not accepted: give a duration between"),
        ("x", "what_if: 'x' is not accepted: give a mapping"),
        ({"pools": {"db": True}}, "pools: True is not accepted"),
        ({"pools": {"db": "3"}}, "pools: '3' is not accepted"),
        ({"pools": {"db": 10**30}}, "is not accepted: give a whole number between 0 and"),
        ({"pools": {3.5: 1}}, "pools: 3.5 is not accepted"),
        ({"pools": {("db",): 1}}, "pools: ('db',) is not accepted"),
        ({"paused": True}, "paused: True is not accepted: give a list of names"),
        ({"paused": [["report"]]}, "paused: ['report'] is not accepted"),
        ({"paused": [{}]}, "paused: {} is not accepted"),
        ({"paused": ["\x00"]}, "is not accepted"),
        ({"priorities": ["report"]}, "priorities: ['report'] is not accepted: give a mapping"),
        ({"priorities": {"report": None}}, "priorities: None is not accepted"),
        ({"schedules": {"report": {}}}, "schedules: {} is not accepted"),
        ({"schedules": {"report": {"cron": ["*"]}}}, "schedules: ['*'] is not accepted"),
        ({"schedules": {"report": {"cron": "x" * 10**6}}}, "is not accepted"),
        ({"schedules": {"report": {"every": [1]}}}, "schedules: [1] is not accepted"),
        ({"schedules": {"report": {"every": "9" * 400 + "d"}}}, "is not accepted"),
        ({"concurrency": {"report": []}}, "concurrency: [] is not accepted"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(make: Make, what_if: Any, message: str) -> None:
    """With the one error that names the part, what was given and what would be right."""
    service.create_pool("db", max_concurrent=1)
    make("report")
    service.archive_routine(make("gone"))
    before = everything()
    with pytest.raises(service.RoutineError) as refused:
        service.plan_leases(what_if=what_if)
    assert message in str(refused.value)
    assert len(str(refused.value)) < 1_000
    assert everything() == before


@pytest.mark.parametrize("pools", [3.5, ..., {"db": 1}, b"x", True, [None], [["db"]], [3.5], "nowhere"])
def test_pools_that_are_none_are_refused(make: Make, pools: Any) -> None:
    """With the same error."""
    service.create_pool("db", max_concurrent=1)
    with pytest.raises(service.RoutineError, match=r"pools: .* is not accepted"):
        service.plan_leases(pools=pools)
