"""The pictures of the documentation, taken of the real pages each time and written to docs/images when asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from celery import shared_task
from django.contrib.auth.models import User
from django.core.cache import cache
from django.urls import reverse
from PIL import Image
from playwright.sync_api import Page

from routines_app.verbs.health.notices import ask
from tests.browser.fleet_scene import a_shop
from tests.browser.rotation_scene import a_rotation_at_work
from tests.browser.shots import LOOKS, MARGIN, SHOTS, WIDTH, Shot, directory, file_of, keep, problems
from tests.pages import passing_tasks

TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SCROLL_TO = "(element, margin) => window.scrollBy(0, element.getBoundingClientRect().top - margin)"
NARROW_MENU = "localStorage.setItem('django.admin.navSidebarIsOpen', 'false')"


def a_report() -> None:
    """Nobody runs it."""


@pytest.fixture
def known_task() -> Iterator[None]:
    """The task of the form that is shown: one that nobody has registered would be told there."""
    with passing_tasks():
        shared_task(name="shop.tasks.nightly_report")(a_report)
        yield


@pytest.fixture(autouse=True)
def _unhurried_bar(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The health bar is on every picture, however slow the machine is."""
    monkeypatch.setattr(ask, "SECONDS", 60.0)
    cache.clear()
    yield
    cache.clear()


@pytest.mark.usefixtures("known_task")
def test_the_pictures_of_the_documentation_can_be_taken(
    open_page: Callable[..., Page], make_user: Callable[..., User], tmp_path: Path
) -> None:
    """Each page is there, shows something, is not too wide, and is light or dark as the reader's screen."""
    fleet = a_shop()
    pages = {
        "routines": reverse("admin:routines_routine_changelist"),
        "routine": reverse("admin:routines_routine_overview", args=[fleet.sync.pk]),
        "why": reverse("admin:routines_routine_overview", args=[fleet.sync.pk]) + "?why=03:00",
        "run": reverse("admin:routines_routinerun_change", args=[fleet.failed.pk]),
        "runs": reverse("admin:routines_routinerun_changelist"),
        "errors": reverse("admin:routines_run_groups"),
        "fleet": reverse("admin:routines_fleet"),
        "agenda": reverse("admin:routines_agenda") + "?window=1d",
        "batch": reverse("admin:routines_batch", args=[fleet.batch.pk]),
        "form": reverse("admin:routines_routine_change", args=[fleet.report.pk]),
    }
    page = open_page(make_user(), pages["routines"], zone="Europe/Paris")
    page.set_viewport_size({"width": WIDTH, "height": 900})
    page.evaluate(NARROW_MENU)
    found = []
    for shot in SHOTS:
        if shot.name == "rotation":  # the last one: its members would fill the list of routines
            pages["rotation"] = reverse("admin:routines_rotation_overview", args=[a_rotation_at_work().pk])
        fleet.breathe()
        response = page.goto(pages[shot.name])
        assert response is not None
        assert response.ok, shot.name
        found += [f"{shot.name}: {said}" for said in _taken(page, shot, tmp_path)]
    assert found == []


def _taken(page: Page, shot: Shot, tmp_path: Path) -> Iterator[str]:
    """Both looks of a page at one moment; what is wrong with them."""
    for awaited in filter(None, (shot.since, shot.until, shot.beside)):
        page.locator(awaited).first.wait_for()
    if shot.since:
        page.locator(shot.since).evaluate(SCROLL_TO, MARGIN)
    for look in LOOKS:
        page.emulate_media(color_scheme=look)  # type: ignore[arg-type]
        whole, wanted = tmp_path / "whole.png", directory(tmp_path / "images") / file_of(shot, look)
        page.screenshot(path=whole, full_page=not shot.since, animations="disabled")
        picture = keep(whole, wanted, *_edges(page, shot))
        yield from problems(picture, look)
    if pixels := page.evaluate(TOO_WIDE):
        yield f"{pixels} pixels too wide"


def _edges(page: Page, shot: Shot) -> tuple[float, float]:
    """From where to where, in pixels of what was taken."""
    last = page.locator(shot.until).first.bounding_box()
    first = page.locator(shot.since).first.bounding_box() if shot.since else None
    assert last is not None
    return (first["y"] - MARGIN if first else 0.0), last["y"] + last["height"] + shot.below


def picture_of(colour: str, width: int = WIDTH) -> Image.Image:
    """With something on it: a half that is a little brighter or darker."""
    picture = Image.new("RGB", (width, 100), colour)
    picture.paste("#777777", (0, 0, width, 20))
    return picture


@pytest.mark.parametrize(
    ("picture", "look", "said"),
    [
        (picture_of("#ffffff"), "light", []),
        (picture_of("#111111"), "dark", []),
        (picture_of("#ffffff"), "dark", ["it is not dark"]),
        (picture_of("#111111"), "light", ["it is not light"]),
        (picture_of("#ffffff", 1400), "light", ["it is 1400 pixels wide"]),
        (Image.new("RGB", (WIDTH, 100), "#ffffff"), "light", ["nothing is on it"]),
    ],
)
def test_what_is_no_picture_of_a_page_is_found(picture: Image.Image, look: str, said: list[str]) -> None:
    assert problems(picture, look) == said
