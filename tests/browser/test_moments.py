"""Times in a browser: told both ways, in the viewer's zone, by the server's clock."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from zoneinfo import ZoneInfo

from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import Page, Route, expect

from routines_app.protocol.ledger import clock
from tests.browser.scenes import ended, make_routine, make_run

Open = Callable[..., Page]
MakeUser = Callable[..., User]
LIST = "admin:routines_routine_changelist"
NEW_YORK = ZoneInfo("America/New_York")  # where the browser is
AN_HOUR_OFF = "const real = Date.now.bind(Date); Date.now = () => real() + 3600000;"


def test_the_viewers_zone_is_found_and_another_one_can_be_chosen(open_page: Open, make_user: MakeUser) -> None:
    """The first page tells the server where the browser is; a choice holds on the pages after it."""
    run = ended(make_routine("alpha"), clock.now() - timedelta(minutes=5))
    assert run.started_at is not None
    page = open_page(make_user(), reverse(LIST))
    page.goto(reverse("admin:routines_routinerun_change", args=[run.pk]))
    started = page.locator("dt:text-is('Started') + dd time .rt-at")
    expect(page.locator(".rt-zone")).to_contain_text("Times are in America/New_York")
    expect(started).to_contain_text(f"{run.started_at.astimezone(NEW_YORK):%H:%M:%S}.")

    page.get_by_role("button", name="UTC").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="UTC")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".rt-zone")).to_contain_text("Times are in UTC")
    expect(started).to_contain_text(f"{run.started_at:%H:%M:%S}.")


def test_the_absolute_time_is_seen_without_pointing_at_it(open_page: Open, make_user: MakeUser) -> None:
    """On a telephone nothing can be pointed at, and nothing is wider than the screen."""
    routine = make_routine("alpha", interval_ms=30_000)
    page = open_page(make_user(), reverse("admin:routines_routine_overview", args=[routine.pk]))
    page.set_viewport_size({"width": 390, "height": 800})
    next_fire = page.locator(".rt-tile", has_text="Next fire").locator("time .rt-at")
    expect(next_fire).to_be_in_viewport()
    expect(next_fire).to_have_text(f"· {routine.state.next_run_at:%H:%M:%S}")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_relative_times_go_on_by_the_servers_clock(open_page: Open, make_user: MakeUser) -> None:
    """Also where the browser's own clock is an hour wrong."""
    make_routine("alpha", interval_ms=3_000_000)
    page = open_page(make_user(), reverse(LIST))
    page.context.add_init_script(AN_HOUR_OFF)
    page.reload()
    assert page.evaluate("Date.now() - performance.timeOrigin - performance.now()") > 3_500_000
    ago = page.locator("time.rt-time .rt-ago").first
    expect(ago).to_contain_text("in 49 min")


def test_the_words_of_relative_times_are_the_pages(open_page: Open, make_user: MakeUser) -> None:
    """The script knows no language: a page in another one has other words, and the script keeps to them."""

    def in_german(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace('"in {amount}"', '"noch {amount} hin"'))

    make_routine("alpha", interval_ms=3_000_000)
    page = open_page(make_user(), reverse(LIST))
    page.route("**/routine/", in_german)
    page.reload()
    expect(page.locator("time.rt-time .rt-ago").first).to_have_text("noch 49 min hin")


def test_a_part_that_refreshes_itself_stays_in_the_zone_of_its_page(open_page: Open, make_user: MakeUser) -> None:
    """Another tab has chosen another zone meanwhile; the page still says what it says."""
    now = clock.now()
    run = make_run(make_routine(), at=now, status="RUNNING", started_at=now, admitted_at=now, dispatched_at=now)
    page = open_page(make_user(), reverse(LIST))
    page.goto(reverse("admin:routines_routinerun_change", args=[run.pk]))
    page.context.add_cookies([{"name": "routines_zone", "value": "utc", "url": page.url}])
    with page.expect_response(lambda response: response.url.endswith("/live/")) as fetched:
        pass
    assert f"{now.astimezone(NEW_YORK):%H:%M:%S}." in fetched.value.text()
    expect(page.get_by_role("row", name="Ran so far")).to_be_visible()
