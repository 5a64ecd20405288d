"""What the fleet page counts: how late the last runs were."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from routines_app.admin import fleet_facts
from routines_app.models import Node, RoutineState
from routines_app.protocol.ledger import clock
from tests.browser.scenes import ended, make_routine, make_run
from tests.integration.admin.pages import text_of


def test_lateness_covers_only_the_minutes_that_were_looked_at(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a busy hour the newest runs are read: older minutes are left out, not shown as without runs."""
    monkeypatch.setattr(fleet_facts, "SAMPLE", 8)
    routine, now = make_routine(), clock.now()
    for minute in range(20):
        ended(routine, now - timedelta(minutes=minute, seconds=30), late=0.1)
    found = fleet_facts.lateness(now)
    assert (found.count, len(found.columns), found.window) == (8, 7, "last 7 minutes")
    assert all(column.label.endswith(", 1 run") for column in found.columns)
    page = " ".join(operator.get(reverse("admin:routines_fleet")).content.decode().split())
    assert "Lateness of the last 7 minutes" in page
    assert "only the newest 8 runs are looked at" in page


def test_an_hour_that_fits_is_shown_whole(operator: Client) -> None:
    """Nothing is said about a limit that was not reached."""
    ended(make_routine(), clock.now() - timedelta(minutes=50), late=0.1)
    found = fleet_facts.lateness(clock.now())
    assert (found.count, len(found.columns), found.window) == (1, 60, "last hour")
    page = operator.get(reverse("admin:routines_fleet")).content.decode()
    assert "Lateness of the last hour" in page
    assert "are looked at" not in page


def test_lateness_is_read_from_a_bounded_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that never started count towards the limit: a day of skipped slots is not walked through."""
    monkeypatch.setattr(fleet_facts, "SAMPLE", 3)
    routine, now = make_routine(), clock.now()
    ended(routine, now - timedelta(minutes=30))
    for minute in range(10, 13):
        at = now - timedelta(minutes=minute)
        make_run(routine, at=at, status="SKIPPED", reason="overlap", completed_at=at)
    with CaptureQueriesContext(connection) as captured:
        found = fleet_facts.lateness(now)
    assert (found.count, len(found.columns), found.window) == (0, 12, "last 12 minutes")
    assert '"started_at" >=' not in captured[0]["sql"]


def test_lateness_counts_what_is_due_and_has_not_started(operator: Client) -> None:
    """Runs that wait for a worker, and routines that no beat has claimed; not what people hold back."""
    routine, now = make_routine(), clock.now()
    ended(routine, now - timedelta(minutes=20), late=0.09)
    assert not fleet_facts.lateness(now).unstarted
    make_run(routine, at=now - timedelta(minutes=12), status="PENDING", dispatched_at=now)
    make_run(routine, at=now - timedelta(minutes=40), status="PENDING", reason="paused")
    RoutineState.objects.update(next_run_at=now - timedelta(minutes=10))
    found = fleet_facts.lateness(now)
    assert (found.unstarted, found.count, round(found.unstarted_most), found.middle) == (2, 3, 720, 600.0)
    page = text_of(operator, reverse("admin:routines_fleet"))
    assert "2 of 3 due and not started" in page
    assert "All is well" not in page


def test_a_node_is_doubtful_after_two_missed_reports_and_gone_after_three(operator: Client) -> None:
    """However long it is silent: only a beat takes it away."""
    now = clock.now()
    for number, seconds in enumerate((10, 130, 86_400)):
        facts = {"role": "worker", "host": "a", "pid": number, "started_at": now - timedelta(days=2)}
        Node.objects.create(name=f"worker@a:{number}", seen_at=now - timedelta(seconds=seconds), **facts)
    assert [one["presence"] for one in fleet_facts.nodes(now)] == ["here", "doubtful", "gone"]
    page = text_of(operator, reverse("admin:routines_fleet"))
    assert ">doubtful</span>" in page
    assert ">gone</span>" in page
