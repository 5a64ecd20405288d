"""The routines list in a browser: actions, filters, times."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import Page, expect

from routines_app import service
from routines_app.models import Routine, RoutineRun, RoutineState
from routines_app.protocol.ledger import clock
from tests.browser.scenes import make_routine

Open = Callable[..., Page]
MakeUser = Callable[..., User]
LIST = "admin:routines_routine_changelist"


def choose(page: Page, action: str, *names: str) -> None:
    """Tick the routines, choose the action, go."""
    for name in names:
        page.get_by_role("row", name=name).get_by_role("checkbox").check()
    page.get_by_label("Action:").select_option(label=action)
    page.get_by_role("button", name="Go").click()


def test_run_now_from_the_list(open_page: Open, make_user: MakeUser) -> None:
    """Tick, choose, go: the message says what was done."""
    make_routine("alpha")
    make_routine("beta")
    page = open_page(make_user(), reverse(LIST))
    page.get_by_label("Why:").fill("month end")
    choose(page, "Run now", "alpha", "beta")
    expect(page.locator(".messagelist")).to_contain_text("Asked for runs of 2 routines")
    assert RoutineRun.objects.filter(trigger="manual", requested_by="ada").count() == 2


def test_pause_asks_for_reason_and_until(open_page: Open, make_user: MakeUser) -> None:
    """The page between asks, and what is typed there is what is stored."""
    make_routine("alpha")
    page = open_page(make_user(), reverse(LIST))
    choose(page, "Pause …", "alpha")
    page.get_by_label("Why").fill("deploy")
    until = clock.now() + timedelta(hours=2)
    page.get_by_label("Until").fill(until.strftime("%Y-%m-%dT%H:%M:%S"))
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".messagelist")).to_contain_text("Paused alpha until")
    assert Routine.objects.values_list("status", "pause_reason").get() == ("PAUSED", "deploy")


def test_resume_shows_what_would_be_released_and_lets_choose(open_page: Open, make_user: MakeUser) -> None:
    """Counts first, then the choice."""
    routine = make_routine("alpha", interval_ms=3_600_000)  # no slot comes while the browser is slow
    service.pause_routine(routine)
    RoutineState.objects.update(next_slot=clock.now() - timedelta(minutes=230))
    page = open_page(make_user(), reverse(LIST))
    choose(page, "Resume …", "alpha")
    row = page.get_by_role("row", name="alpha")
    expect(row).to_contain_text("4 slots skipped, nothing runs")
    expect(row).to_contain_text("1 run, 3 slots skipped")
    page.get_by_label("Run the last one").check()
    page.get_by_role("button", name="Resume").click()
    expect(page.locator(".messagelist")).to_contain_text("Resumed alpha, running the last of the slots of the pause")
    assert RoutineState.objects.get().release_policy == "LAST"


def test_archive_reset_and_clear_hints_from_the_list(open_page: Open, make_user: MakeUser) -> None:
    """The remaining actions, each with a message."""
    make_routine("parked", status="PARKED")
    service.propose_interval(make_routine("hinted", interval_ms=60_000), "5s", ttl="1h")
    page = open_page(make_user(), reverse(LIST))
    choose(page, "Reset", "parked")
    expect(page.locator(".messagelist")).to_contain_text("Reset parked")
    choose(page, "Clear hints", "hinted")
    expect(page.locator(".messagelist")).to_contain_text("Cleared the hints of hinted")
    choose(page, "Archive …", "hinted")
    page.get_by_role("button", name="Archive").click()
    expect(page.locator(".messagelist")).to_contain_text("Archived hinted")


def test_filters_stand_above_the_table_and_work_by_keyboard(open_page: Open, make_user: MakeUser) -> None:
    """Tab and enter are enough."""
    make_routine("alpha")
    make_routine("omega", status="PAUSED")
    page = open_page(make_user(), reverse(LIST))
    page.get_by_role("link", name="Paused").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="omega")).to_be_visible()
    expect(page.get_by_role("link", name="alpha")).to_have_count(0)


def test_times_stay_fresh(open_page: Open, make_user: MakeUser) -> None:
    """A relative time counts down by itself; the absolute one beside it stays."""
    make_routine("alpha", interval_ms=30_000)
    page = open_page(make_user(), reverse(LIST))
    time = page.locator("time.rt-time").first
    before, at = time.locator(".rt-ago").text_content(), time.locator(".rt-at").text_content()
    expect(time.locator(".rt-ago")).not_to_have_text(before or "")
    expect(time.locator(".rt-at")).to_have_text(at or "")


def test_a_viewer_finds_nothing_to_press(open_page: Open, make_user: MakeUser) -> None:
    """No action, no add button, no verb."""
    routine = make_routine("alpha")
    viewer = make_user("eve", permissions=["view_routine", "view_routinerun"])
    page = open_page(viewer, reverse(LIST))
    expect(page.get_by_role("button", name="Go")).to_have_count(0)
    expect(page.get_by_role("link", name="Add routine")).to_have_count(0)
    page.goto(reverse("admin:routines_routine_overview", args=[routine.pk]))
    expect(page.get_by_role("heading", name="alpha")).to_be_visible()
    expect(page.get_by_role("group", name="What can be done").get_by_role("button")).to_have_count(0)
    assert page.get_by_role("group", name="What can be done").get_by_role("link").all_text_contents() == ["History"]
