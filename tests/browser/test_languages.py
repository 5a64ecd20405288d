"""The admin in German and French: every page in its language, and none too wide for a telephone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import Page, expect

from routines_app.protocol.ledger import clock
from tests.browser.every_page import PHONE, TOO_WIDE, every_page
from tests.browser.rotation_scene import a_rotation_at_work
from tests.browser.scenes import ended, make_routine

Open = Callable[..., Page]
MakeUser = Callable[..., User]
AGO = {  # by how many days it is ago
    "de": {0.125: "vor 3 h", 1: "vor 1 d", 5: "vor 5 d", 400: "vor 1 J.", 800: "vor 2 J."},
    "fr": {0.125: "il y a 3 h", 1: "il y a 1 j", 5: "il y a 5 j", 400: "il y a 1 an", 800: "il y a 2 ans"},
}
WIPED = "for (const ago of document.querySelectorAll('time.rt-time .rt-ago')) { ago.textContent = ''; }"


@pytest.mark.parametrize("language", ["de", "fr"])
def test_no_page_is_too_wide_for_a_telephone(open_page: Open, make_user: MakeUser, language: str) -> None:
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
        wrong[name] = (page.locator("html").get_attribute("lang"), page.evaluate(TOO_WIDE))
    assert {name: found for name, found in wrong.items() if found != (language, 0)} == {}


@pytest.mark.parametrize("language", ["de", "fr"])
def test_server_and_script_say_relative_times_alike(open_page: Open, make_user: MakeUser, language: str) -> None:
    """With the plural of the language; what the script writes each second is what the server has written."""
    routine = make_routine("alpha", trigger_kind="MANUAL", cron="")
    now = clock.now() - timedelta(minutes=5)
    for days in AGO[language]:
        ended(routine, now - timedelta(days=days))
    page = open_page(make_user(), reverse("admin:routines_routinerun_changelist"), language=language)
    slots = page.locator("#result_list .field-slot time.rt-time .rt-ago")
    expect(slots).to_have_text(list(AGO[language].values()))
    page.evaluate(WIPED)
    expect(slots).to_have_text(list(AGO[language].values()))
