"""Pictures of every page, light and dark, for people to look at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from tests.browser.every_page import LOOKS, PHONE, TOO_WIDE, every_page


@pytest.mark.parametrize("look", LOOKS)
def test_every_page_can_be_looked_at(
    open_page: Callable[..., Page], make_user: Callable[..., User], picture: Callable[[Page, str], Path], look: str
) -> None:
    """Each page renders with real-looking data, without an error, in both themes; on a telephone none is too wide."""
    pages = every_page()
    page = open_page(make_user(), pages["routines"], dark=look == "dark")
    if look == "phone":
        page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    too_wide = {}
    for name, address in pages.items():
        response = page.goto(address)
        assert response is not None
        assert response.ok, name
        if name == "routine-form":
            page.locator("[data-preview] table").wait_for()
        if name == "run-failed":
            expect(page.get_by_text("Admitted", exact=True)).to_be_visible()
        picture(page, f"{name}-{look}")
        too_wide[name] = page.evaluate(TOO_WIDE)
    assert {name: pixels for name, pixels in too_wide.items() if pixels} == {}
