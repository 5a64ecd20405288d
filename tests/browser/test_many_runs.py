"""The list of runs, failures by error, and acting on all that match, in a browser."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import Page, expect

from routines_app.admin import run_many
from routines_app.models import RoutineRun
from routines_app.protocol.ledger import clock
from tests.browser.scenes import ended, make_routine

Open = Callable[..., Page]
MakeUser = Callable[..., User]
LIST = "admin:routines_routinerun_changelist"


def test_a_group_of_failures_is_retried_with_progress(
    open_page: Open, make_user: MakeUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the list to the group, to the count, and on by itself to the end."""
    monkeypatch.setattr(run_many, "SECONDS", 0)
    monkeypatch.setattr(run_many, "AT_ONCE", 2)
    routine, now = make_routine(), clock.now()
    for number in range(1, 7):
        at = now - timedelta(minutes=number)
        ended(routine, at, status="FAILED", reason="exception", error=f"ConnectionError: no answer after {number} s")
    ended(routine, now - timedelta(minutes=9), status="FAILED", reason="exception", error="KeyError: 'a'")
    page = open_page(make_user(), reverse(LIST))
    expect(page.get_by_text("ConnectionError: no answer after 3 s")).to_be_visible()
    page.get_by_role("link", name="Failures by error").click()
    row = page.get_by_role("row", name="ConnectionError: no answer after # s")
    expect(row).to_contain_text("nightly-report")
    row.get_by_role("link", name="Retry …").click()
    expect(page.get_by_role("heading", name="6 runs")).to_be_visible()
    page.get_by_role("button", name="Retry these runs").click()
    expect(page.get_by_role("heading", name="Asked again for 6 runs")).to_be_visible()
    expect(page.get_by_text("All of it is done.")).to_be_visible()
    assert RoutineRun.objects.filter(trigger="manual", retry_of__isnull=False).count() == 6


def test_a_slot_is_typed_and_the_list_opens_there(open_page: Open, make_user: MakeUser) -> None:
    """What is no time is told what would be one."""
    routine, now = make_routine(), clock.now().replace(second=0, microsecond=0)
    for hours in range(1, 120):
        ended(routine, now - timedelta(hours=hours))
    page = open_page(make_user(), f"{reverse(LIST)}?routine={routine.pk}")
    page.get_by_label("Open at the slot").fill("soon")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("alert")).to_contain_text("03:00 yesterday")
    page.get_by_label("Open at the slot").fill((now - timedelta(hours=100)).isoformat())
    page.get_by_role("button", name="Show").click()
    expect(page.locator("#result_list tbody tr")).to_have_count(50)
    expect(page.locator("#result_list tbody tr").last).to_contain_text("this slot")
    page.get_by_role("link", name="Older").click()
    expect(page.locator("#result_list tbody tr")).to_have_count(19)
