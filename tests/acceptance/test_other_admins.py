"""The admin under the themes that many put over Django's: each of our pages opens, with the way to the others."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode

import pytest
from django.urls import reverse

from routines_app import service
from tests.acceptance.admin import Admin
from tests.acceptance.stack import Stack
from tests.integration.admin.every_page.test_bounds import admin_pages, fill
from tests.settings import INSTALLED_APPS

THEMES: dict[str, dict[str, Any]] = {
    "unfold": {"INSTALLED_APPS": ["unfold", *INSTALLED_APPS]},
    "grappelli": {
        "INSTALLED_APPS": ["grappelli", *INSTALLED_APPS],
        "ROOT_URLCONF": "tests.acceptance.grappelli_urls",
    },
}
NAVIGATION, HEALTH_BAR = 'class="rt-nav"', "data-live-url"
FRAGMENTS = ("_live", "_health", "_preview")  # a part of a page, which that one shows


class Visitor:
    """Opens what it is asked for, as far as that is looking and not doing."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin

    def get(self, address: str, asked: dict[str, str] | None = None) -> str:
        return self._admin.get(f"{address}?{urlencode(asked)}" if asked else address)

    def post(self, *_: object) -> None:
        return None


@pytest.mark.parametrize("theme", THEMES)
def test_every_page_opens_under_a_theme(stack: Stack, theme: str) -> None:
    """In a web process with the theme before our app, as its own instructions say."""
    routine = fill()
    _, address = stack.web(ROUTINES_TEST_SETTINGS=json.dumps(stack.settings | THEMES[theme]))
    admin = Admin(address)
    index = admin.get("/admin/")
    assert theme in index, "the theme is not there"
    assert HEALTH_BAR in index

    pages = admin_pages(Visitor(admin), routine)  # type: ignore[arg-type]
    archived = service.archive_routine("child-9")
    pages["of an archived one"] = lambda: admin.get(reverse("admin:routines_routine_delete", args=[archived.pk]))
    broken, lost = [], []
    for name, visit in pages.items():
        try:
            page = visit()
        except HTTPError as error:
            if error.code != HTTPStatus.FORBIDDEN:  # what is not archived is not deleted, and nobody adds runs
                broken.append(f"{name}: {error}")
            continue
        if page is not None and not name.endswith(FRAGMENTS) and NAVIGATION not in page:
            lost.append(name)
    assert (broken, lost) == ([], [])
