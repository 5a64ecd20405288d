"""Charts over time: the whole window, on a wide page and on a telephone, and the way to the runs behind a column."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import Page, expect

from routines_app.models import Pool, Routine
from routines_app.protocol.ledger import clock
from tests.browser.scenes import dice, ended, make_routine, make_run_with_retry

PHONE = {"width": 390, "height": 844}
SMALLEST_LETTERS = 9  # pixels


def a_busy_week() -> Routine:
    """Every half an hour for a week, with a bad day in it, and three routines that would collide in its pool."""
    pool, now = Pool.objects.create(name="warehouse", max_concurrent=2), clock.now()
    routine = make_routine("sync-orders", interval_ms=1_800_000, pool=pool)
    for step in range(7 * 48, 0, -1):
        is_bad = 120 < step < 160 and step % 2
        length = abs(dice.gauss(40, 15)) * (3 if is_bad else 1)
        ended(
            routine, now - step * timedelta(minutes=30), length, "FAILED" if is_bad else "SUCCESS", late=dice.random()
        )
    make_run_with_retry(routine, now - timedelta(hours=5))
    for number in range(3):
        beside = make_routine(f"each-five-{number}", cron="*/5 * * * *", timezone="UTC", pool=pool)
        ended(beside, now - timedelta(minutes=5), 70)
    return routine


def is_within_the_page(page: Page) -> bool:
    """Nothing makes the page itself scroll sideways."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


def letters(page: Page, chart: str) -> float:
    """How high the letters of a picture are on the screen."""
    height = f"document.querySelector({chart!r}).getBoundingClientRect()"
    size = f"parseFloat(getComputedStyle(document.querySelector({chart + ' .rt-label'!r})).fontSize)"
    width = f"document.querySelector({chart!r}).viewBox.baseVal.width"
    return float(page.evaluate(f"{size} * {height}.width / {width}"))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_week_is_shown_whole_and_leads_to_its_runs(
    open_page: Callable[..., Page], make_user: Callable[..., User], picture: Callable[[Page, str], Path], dark: bool
) -> None:
    """Columns from one end to the other; on a telephone a picture of its own, whose letters can be read."""
    routine = a_busy_week()
    address = reverse("admin:routines_routine_overview", args=[routine.pk]) + "?window=7d"
    page = open_page(make_user(), address, dark=dark)
    wide, slim = page.locator("svg.rt-timeline.rt-wide"), page.locator("svg.rt-timeline.rt-slim")
    expect(wide.locator(".rt-stack")).to_have_count(60)
    expect(slim).to_be_hidden()
    picture(page, f"week-{'dark' if dark else 'light'}")
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    expect(slim).to_be_visible()
    expect(wide).to_be_hidden()
    assert is_within_the_page(page)
    assert letters(page, "svg.rt-slim") >= SMALLEST_LETTERS
    assert letters(page, "svg.rt-scatter") >= SMALLEST_LETTERS
    picture(page, f"week-phone-{'dark' if dark else 'light'}")
    page.get_by_text("As a table").click()
    link = page.locator(".rt-as-table a").first
    expect(link).to_be_visible()
    asked = parse_qs(urlsplit(link.get_attribute("href") or "").query)
    assert asked["routine"] == [str(routine.pk)]
    assert asked["from"] < asked["until"]


def test_the_agenda_fits_a_telephone(
    open_page: Callable[..., Page], make_user: Callable[..., User], picture: Callable[[Page, str], Path]
) -> None:
    """The load and the pools can be read, and the page does not scroll sideways."""
    a_busy_week()
    page = open_page(make_user(), reverse("admin:routines_agenda"))
    expect(page.get_by_text("too small", exact=True)).to_be_visible()
    picture(page, "agenda-busy")
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    assert is_within_the_page(page)
    assert letters(page, "svg.rt-columns.rt-slim") >= SMALLEST_LETTERS
    picture(page, "agenda-phone")
