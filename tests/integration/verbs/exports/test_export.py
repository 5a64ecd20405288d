"""What an export says, and what it does not."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from routines_app import service
from routines_app.core.errors import InvalidValue, NotFound
from routines_app.models import Routine
from routines_app.verbs.declare import declare_routine
from tests.integration.conftest import MONDAY, NOTE, Time

pytestmark = pytest.mark.django_db

Make = Callable[..., Routine]
EVERYTHING = """\
format: 1
pools:
  db:
    max_concurrent: 3
    default: true
rotations:
  feeds:
    budget: 2
    fresh_for: 6h
    task: tests.acceptance.tasks.note
    every: 30m
    timeout: 10m
routines:
  a member:
    task: tests.acceptance.tasks.note
    rotation: feeds
    phases:
    - name: plan
      task: tests.acceptance.tasks.note
      kwargs:
        deep: 1
  nightly:
    description: |-
      every night
      at three
    tags:
    - shop
    task: tests.acceptance.tasks.note
    kwargs:
      password:
        $secret: ROUTINES_SECRET_NIGHTLY_KWARGS_PASSWORD
      shop: 7
    cron: 0 3 * * *
    timezone: Europe/Paris
    start_at: '2026-01-01T00:00:00Z'
    priority: HIGH
    parent: a member
    pool: db
    timeout: 5m
    paused:
      reason: moving house
      until: '2026-03-03T10:00:30Z'
"""


@pytest.fixture
def shop(make: Make) -> None:
    service.create_pool("db", max_concurrent=3, is_default=True)
    service.create_rotation("feeds", task=NOTE, budget=2, fresh_for="6h", timeout_ms="10m")
    make("a member", rotation="feeds", phases=[{"kwargs": {"deep": 1}, "task": NOTE, "name": "plan"}])
    make(
        "nightly",
        description="every night\nat three",
        tags=["shop"],
        kwargs={"shop": 7, "password": "hunter2"},
        cron="0 3 * * *",
        timezone="Europe/Paris",
        start_at="2026-01-01T01:00:00+01:00",
        priority="HIGH",
        parent="a member",
        pool="db",
        timeout_ms="5m",
    )
    service.pause_routine("nightly", reason="moving house", until=MONDAY + timedelta(days=1))


def test_only_what_was_decided_is_written_in_a_fixed_order(shop: None) -> None:
    assert service.render_export(service.export_routines()) == EVERYTHING


def test_runtime_state_is_no_part_of_it(shop: None, time: Time) -> None:
    """A run, a hint, a failure and a park leave the file as it was."""
    before = service.export_routines()
    service.run_now("a member")
    Routine.objects.filter(name="a member").update(status="PARKED", pause_reason="failed too often", version=9)
    assert service.export_routines() == before
    time.pass_by(days=2)  # the pause is over, also where no beat has looked yet
    assert "paused" not in service.export_routines()["routines"]["nightly"]


def test_archived_and_declared_routines_are_asked_for(make: Make) -> None:
    service.archive_routine(make("old"))
    declare_routine("of the code", {"task": NOTE, "cron": "0 3 * * *", "timezone": "UTC"}, "shop")
    assert service.export_routines() == {"format": 1}
    both = service.export_routines(archived=True, declared=True)["routines"]
    assert both == {
        "of the code": {"task": NOTE, "cron": "0 3 * * *", "timezone": "UTC", "declared_in": "shop"},
        "old": {"task": NOTE, "archived": True},
    }
    assert service.export_routines(["old", "of the code"])["routines"] == both


def test_some_are_chosen_and_bring_the_pools_that_they_name(shop: None) -> None:
    by_tag = service.export_routines(tag="shop")
    by_name = service.export_routines(["nightly"])
    by_query = service.export_routines(Routine.objects.filter(cron="0 3 * * *"))
    by_id = service.export_routines([Routine.objects.get(name="nightly").pk])
    assert by_tag == by_name == by_query == by_id == service.export_routines("nightly")
    assert (list(by_tag["routines"]), list(by_tag["pools"])) == (["nightly"], ["db"])
    assert service.export_routines(["feeds"]).keys() == {"format", "rotations"}
    assert service.export_routines([]) == {"format": 1}


@pytest.mark.parametrize(
    ("error", "asked"),
    [
        (NotFound, {"routines": ["nobody"]}),
        (NotFound, {"routines": [10**9]}),
        (NotFound, {"routines": "nightly"}),
        (InvalidValue, {"routines": [None]}),
        (InvalidValue, {"tag": ""}),
        (InvalidValue, {"tag": "a", "routines": ["b"]}),
    ],
)
def test_what_cannot_be_chosen_is_said(error: type[Exception], asked: dict[str, Any], time: Time) -> None:
    with pytest.raises(error):
        service.export_routines(**asked)


@pytest.mark.each_database
def test_the_order_is_that_of_characters_on_every_database(make: Make) -> None:
    for name in ("b1", "A2", "a-3", "é", "a_4", "B5"):
        make(name)
    assert list(service.export_routines()["routines"]) == ["A2", "B5", "a-3", "a_4", "b1", "é"]


def test_what_cannot_be_read_is_said(make: Make) -> None:
    make("broken")
    with connection.cursor() as cursor:
        deep = "[" * 150 + "]" * 150
        if connection.vendor == "mysql":
            pytest.skip("MariaDB refuses it by itself")
        cursor.execute("UPDATE routines_routine SET args = %s", [deep])
    with pytest.raises(InvalidValue, match="broken: args"):
        service.export_routines()


@pytest.mark.usefixtures("measured_clock")
def test_many_are_read_in_as_many_statements_as_few(make: Make) -> None:
    make("r0")
    with CaptureQueriesContext(connection) as few:
        service.export_routines()
    for number in range(1, 30):
        make(f"r{number}", parent="r0")
    with CaptureQueriesContext(connection) as many:
        service.export_routines()
    assert len(many) == len(few)
