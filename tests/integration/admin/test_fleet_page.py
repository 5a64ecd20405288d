"""The page of the fleet."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse, set_script_prefix

from routines_app.admin.fleet_facts import active, lateness
from routines_app.admin.fleet_page import Look
from routines_app.models import Pool
from routines_app.protocol.ledger import clock
from routines_app.protocol.upkeep.nodes import report_beat
from tests.browser.scenes import a_working_day, ended, make_routine, make_run
from tests.integration.admin.pages import text_of


@pytest.mark.each_database
def test_the_fleet_tells_what_runs_waits_and_is_there(operator: Client) -> None:
    """One look answers: who works, what waits and why, what is parked."""
    a_working_day()
    page = text_of(operator, reverse("admin:routines_fleet"))
    for words in (
        "sync-orders",
        "For room in a pool",
        "worker@web-2:1003",
        "1 of 4",
        "scrape-competitor",
        "routinerun",
    ):
        assert words in page
    assert operator.get(reverse("admin:routines_fleet_live")).status_code == 200


def test_an_empty_fleet_says_so(operator: Client) -> None:
    """A new installation has a page too."""
    page = text_of(operator, reverse("admin:routines_fleet"))
    for words in (
        "Nothing is running.",
        "Nothing waits.",
        "There are no pools.",
        "None is parked, and none fails.",
        "No beat and no worker",
    ):
        assert words in page


def test_what_a_node_cannot_reach_is_shown(operator: Client, settings: Any) -> None:
    """A beat that finds no Redis says so to whoever looks, not only to its log."""
    settings.ROUTINES = settings.ROUTINES | {"REDIS_URL": "localhost:6379"}
    report_beat("project")
    page = text_of(operator, reverse("admin:routines_fleet"))
    assert "Redis is away: REDIS_URL has no scheme: write redis://" in page


def test_waiting_is_told_apart_by_reason() -> None:
    """In the broker, to be published, for room."""
    routine, now = make_routine(), clock.now()
    make_run(routine, at=now, dispatched_at=now)
    make_run(routine, at=now)
    make_run(routine, at=now, reason="ceiling")
    make_run(routine, at=now, status="RUNNING", started_at=now, dispatched_at=now)
    found = active()
    assert {row["label"]: row["count"] for row in found.reasons} == {
        "In the broker, for a free worker": 1,
        "To be published": 1,
        "For room in a pool": 1,
    }
    assert (found.running, found.waiting) == (1, 3)


def test_lateness_is_of_the_last_hour() -> None:
    """Older runs do not count; the worst one is told."""
    routine, now = make_routine(), clock.now()
    for minute in range(10):
        ended(routine, now - timedelta(minutes=minute, seconds=30), late=0.1)
    ended(routine, now - timedelta(minutes=20), late=9)
    ended(routine, now - timedelta(hours=3), late=99)
    found = lateness(now)
    assert (found.count, round(found.middle, 3), found.most) == (11, 0.1, 9.0)
    assert len(found.columns) == 60


def test_the_live_part_is_shared_and_says_how_old_it_is(operator: Client) -> None:
    """Ten tabs ask the database as much as one; the page itself is asked anew, and renews what they share."""
    address = reverse("admin:routines_fleet_live")
    before = text_of(operator, address)
    make_run(make_routine("sync-orders"), at=clock.now(), status="RUNNING", started_at=clock.now())
    with CaptureQueriesContext(connection) as captured:
        assert without_now(text_of(operator, address)) == without_now(before)
    assert len(captured) == 2  # the session and the user
    assert "As of <time" in before
    assert "sync-orders" in text_of(operator, reverse("admin:routines_fleet"))
    assert "sync-orders" in text_of(operator, address)


def test_who_sees_something_else_shares_something_else(operator: Client, viewer: Client) -> None:
    """By what they may do, the pool that they chose and the zone of their page."""
    address = reverse("admin:routines_fleet_live")
    assert "Run the stalest" in text_of(operator, address)
    assert "Run the stalest" not in text_of(viewer, address)
    make_routine(pool=Pool.objects.create(name="narrow", max_concurrent=1))
    assert "Queue of narrow" in text_of(operator, f"{address}?pool=narrow")
    operator.cookies["routines_viewer_zone"] = "Asia/Tokyo"
    assert "JST" in text_of(operator, address)


def without_now(page: str) -> str:
    """But for the server's time, which each answer tells anew."""
    return re.sub(r'data-now="[^"]*"', "", page)


def test_what_a_thread_makes_leads_where_the_page_would(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind a server that mounts the project below a path, each thread has to be told of it; a browser that came by
    another path gets nothing of that."""
    looks: list[Look] = []
    of = Look.of
    monkeypatch.setattr(Look, "of", lambda request: looks.append(of(request)) or looks[-1])
    path, live = reverse("admin:routines_plan"), reverse("admin:routines_fleet_live")
    for prefix in ("/ops/", "/"):
        set_script_prefix(prefix)  # as a server does for each request
        operator.get(live)
    below, plain = looks

    def made(look: Look) -> str:
        try:
            return look.shown()["html"]
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as thread:
        html = [thread.submit(made, look).result() for look in looks]

    assert f'href="/ops{path}"' in html[0]
    assert f'href="{path}"' in html[1]
    assert below.name != plain.name
