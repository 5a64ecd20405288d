"""The routine's form with scripts and without: nothing typed is lost, and no error is out of sight."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from routines_app.models import Routine
from tests.browser.conftest import session_of
from tests.browser.scenes import make_routine

Open = Callable[..., Page]
MakeUser = Callable[..., User]


@pytest.fixture
def plain_page(browser: Browser, live_server: LiveServer, redis_url: str, make_user: MakeUser) -> Page:
    """A browser without JavaScript."""
    context = browser.new_context(base_url=live_server.url, java_script_enabled=False)
    context.add_cookies([{"name": "sessionid", "value": session_of(make_user("bea")), "url": live_server.url}])
    return context.new_page()


def test_without_scripts_a_cron_beside_manual_is_told(plain_page: Page) -> None:
    """It says what to do, and nothing was saved."""
    plain_page.goto(reverse("admin:routines_routine_add"))
    plain_page.get_by_label("Name:").fill("nightly")
    plain_page.get_by_label("Another task").fill("tests.acceptance.tasks.note")
    plain_page.get_by_label("Cron:").fill("0 3 * * *")
    plain_page.get_by_role("button", name="Save", exact=True).click()
    expect(plain_page.locator(".field-cron .errorlist")).to_contain_text("choose CRON, or clear it")
    assert not Routine.objects.exists()
    plain_page.context.close()


def test_with_scripts_what_goes_with_its_trigger_is_not_sent(open_page: Open, make_user: MakeUser) -> None:
    """A person who sees the field go has said so."""
    routine = make_routine("alpha")
    page = open_page(make_user(), reverse("admin:routines_routine_change", args=[routine.pk]))
    page.get_by_label("Cron:").fill("0 4 * * *")
    page.get_by_label("Trigger kind:").select_option("MANUAL")
    expect(page.locator(".form-row.field-cron")).to_be_hidden()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".messagelist")).to_contain_text("Saved alpha")
    routine.refresh_from_db()
    assert (routine.trigger_kind, routine.cron) == ("MANUAL", "")


def test_a_field_that_would_be_hidden_shows_its_error(open_page: Open, make_user: MakeUser) -> None:
    """A timezone is of no use to MANUAL, and wrong all the same; so is the pace, in a part that is closed."""
    routine = make_routine("alpha")
    page = open_page(make_user(), reverse("admin:routines_routine_change", args=[routine.pk]))
    page.get_by_label("Timezone:").fill("Mars/Olympus")
    page.get_by_label("Trigger kind:").select_option("MANUAL")
    page.get_by_text("Rank and pace").click()
    page.get_by_label("Emphasis:").fill("1000")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".field-timezone .errorlist")).to_be_visible()
    expect(page.locator(".field-emphasis .errorlist")).to_be_visible()
