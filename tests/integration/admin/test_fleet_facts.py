"""What the fleet page counts: how late the last runs were."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from routines_app.admin import fleet_facts
from routines_app.protocol.ledger import clock
from tests.browser.scenes import ended, make_routine, make_run


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
    assert all("1 runs" in column.label for column in found.columns)
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
