"""The list of routines."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from routines_app.models import RoutineState
from routines_app.protocol.ledger import clock
from tests.browser.scenes import ended, make_routine, make_run, make_run_with_retry
from tests.integration.admin.pages import list_url, overview_url, text_of


def test_the_list_tells_schedule_next_fire_and_why(operator: Client) -> None:
    """Words instead of codes."""
    make_routine(tags=["reports"], catch_up_policy="LAST")
    page = text_of(operator, list_url())
    assert "At 09:00, Monday to Friday, Europe/Paris" in page
    assert "on schedule" in page
    assert "catch up last" in page
    assert "?tag=reports" in page


def test_a_slot_that_succeeds_at_its_third_attempt_is_a_success(operator: Client) -> None:
    """All slots succeeded, and apart from that two of three needed retries; on the list and on the routine's page."""
    routine, now = make_routine(), clock.now()
    for minutes in (90, 60):
        make_run_with_retry(routine, now - timedelta(minutes=minutes))
    ended(routine, now - timedelta(minutes=30))
    for address in (list_url(), overview_url(routine)):
        page = text_of(operator, address)
        assert "100 %" in page
        assert "2 of 3 needed retries" in page
        assert "Last 3 slots: 3 success; 2 needed retries" in page


def test_the_list_shows_the_success_rate_of_the_last_slots(operator: Client) -> None:
    """Three of four that ended by themselves; a skip counts for neither."""
    routine, now = make_routine(), clock.now()
    for minute, status in enumerate(["SUCCESS", "SUCCESS", "FAILED", "SUCCESS"]):
        ended(routine, now - timedelta(minutes=minute), status=status)
    make_run(routine, at=now, status="SKIPPED", completed_at=now)
    page = text_of(operator, list_url())
    assert "75 %" in page
    assert "Last 5 slots: 3 success, 1 failed, 1 skipped" in page


@pytest.mark.each_database
def test_the_list_filters_by_tag_health_and_group(operator: Client) -> None:
    """Each filter finds its routine and leaves the other out."""
    make_routine("tagged", tags=["a", "b"], group="sales")
    failing = make_routine("failing", tags=["abc"])
    RoutineState.objects.filter(pk=failing.pk).update(failure_count=2)
    now = clock.now()
    make_run(make_routine("overdue"), at=now, status="RUNNING", reason="overdue", started_at=now)
    for query, found, other in (
        ("tag=a", "tagged", "failing"),
        ("health=failing", "failing", "tagged"),
        ("health=failing", "overdue", "tagged"),
        ("q=sales", "tagged", "failing"),
    ):
        page = text_of(operator, f"{list_url()}?{query}")
        assert f">{found}</a>" in page
        assert f">{other}</a>" not in page


def test_searching_keeps_the_filter(operator: Client) -> None:
    """The search form carries what was chosen before."""
    make_routine()
    page = operator.get(reverse("admin:routines_routine_changelist"), {"status__exact": "ACTIVE"}).content.decode()
    assert '<input type="hidden" name="status__exact" value="ACTIVE">' in page
