"""The queue of the fleet and the plan of leases, in a browser."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import Page, expect

from routines_app.models import Pool, RoutineRun
from tests.browser.scenes import a_working_day

Open = Callable[..., Page]
MakeUser = Callable[..., User]


def test_overrides_of_a_pool_are_cleared_from_the_queue(open_page: Open, make_user: MakeUser) -> None:
    """Choose the pool, see what waits and why, clear, and be back with that pool; by the keyboard alone."""
    a_working_day()
    page = open_page(make_user(), reverse("admin:routines_fleet"))
    page.get_by_label("Pool", exact=True).focus()
    page.keyboard.type("warehouse")
    page.get_by_role("button", name="Show").press("Enter")
    expect(page.get_by_role("heading", name="Queue of warehouse")).to_be_visible()
    overrides = page.get_by_role("table", name="Overrides")
    expect(overrides).to_contain_text("import-prices")
    expect(overrides).to_contain_text("grace")
    page.get_by_role("link", name="Clear overrides").press("Enter")
    expect(page.get_by_text("Only for pool warehouse.")).to_be_visible()
    page.get_by_label("Why").fill("asked by mistake")
    page.get_by_role("button", name="Clear overrides").press("Enter")
    expect(page.locator(".messagelist")).to_contain_text("Cancelled 1 waiting request of warehouse.")
    expect(page.get_by_role("heading", name="Queue of warehouse")).to_be_visible()
    expect(page.get_by_role("table", name="Overrides")).to_have_count(0)
    assert [run.routine.name for run in RoutineRun.objects.filter(status="CANCELLED")] == ["import-prices"]


def test_the_queue_follows_while_it_is_looked_at(open_page: Open, make_user: MakeUser) -> None:
    """The chosen pool stays chosen when the page updates itself."""
    a_working_day()
    page = open_page(make_user(), reverse("admin:routines_fleet") + "?pool=warehouse")
    automatic = page.get_by_role("table", name="Automatic")
    expect(automatic).to_contain_text("sync-orders")
    RoutineRun.objects.filter(status="PENDING", reason="ceiling").update(
        status="SKIPPED", completed_at=RoutineRun.objects.latest("pk").eligible_at
    )
    expect(automatic).not_to_contain_text("sync-orders")
    expect(page.get_by_role("heading", name="Queue of warehouse")).to_be_visible()


def test_what_if_is_asked_and_mended(open_page: Open, make_user: MakeUser) -> None:
    """A wrong ceiling says so beside its field and stays; the right one shows what would be different, first."""
    a_working_day()
    Pool.objects.filter(name="warehouse").update(max_concurrent=1)
    page = open_page(make_user(), reverse("admin:routines_fleet"))
    page.get_by_role("link", name="What would go next").click()
    expect(page.get_by_role("region", name="Decisions")).to_contain_text("Hold")
    field = page.get_by_label("warehouse", exact=True)
    field.fill("none")
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_role("alert")).to_contain_text("nothing was planned")
    expect(field).to_have_value("none")
    field.fill("9")
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_role("region", name="What would be different")).to_contain_text("would start instead of hold")
    page.get_by_role("link", name="As it is now").click()
    expect(field).to_have_value("")
    assert Pool.objects.get(name="warehouse").max_concurrent == 1
