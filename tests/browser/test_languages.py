"""The admin in German and French: every page in its language, and none too wide for a telephone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import Page, expect

from tests.browser.every_page import PHONE, TOO_WIDE, every_page
from tests.browser.rotation_scene import a_rotation_at_work
from tests.browser.scenes import make_routine

Open = Callable[..., Page]
MakeUser = Callable[..., User]
IN_49_MINUTES = {"de": "in 49 min", "fr": "dans 49 min"}
FIVE_DAYS_AGO = {"de": "vor 5 d", "fr": "il y a 5 j"}


@pytest.mark.parametrize("language", ["de", "fr"])
def test_no_page_is_too_wide_for_a_telephone(
    open_page: Open, make_user: MakeUser, picture: Callable[[Page, str], Path], language: str
) -> None:
    """Long words break or fit, and each page says which language it speaks."""
    pages = every_page()
    rotation = a_rotation_at_work()
    pages |= {
        "rotations": reverse("admin:routines_rotation_changelist"),
        "rotation": reverse("admin:routines_rotation_overview", args=[rotation.pk]),
        "rotation-form": reverse("admin:routines_rotation_change", args=[rotation.pk]),
    }
    page = open_page(make_user(), pages["routines"], language=language)
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    wrong = {}
    for name, address in pages.items():
        response = page.goto(address)
        assert response is not None
        assert response.ok, name
        if name == "routine-form":
            page.locator("[data-preview] table").wait_for()
        picture(page, f"{name}-phone-{language}")
        wrong[name] = (page.locator("html").get_attribute("lang"), page.evaluate(TOO_WIDE))
    assert {name: found for name, found in wrong.items() if found != (language, 0)} == {}
