"""A batch of pauses in a browser: counted, confirmed, and gone on with by itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import Page, expect

from routines_app.admin import batch_pages
from routines_app.models import PauseBatch
from routines_app.verbs.batches import filling, resuming
from tests.browser.scenes import make_routine

Open = Callable[..., Page]
MakeUser = Callable[..., User]


def test_a_batch_goes_on_by_itself_until_it_is_whole(
    open_page: Open, make_user: MakeUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the list's filter to a batch, and back, without another click; each request does one piece."""
    for module in (filling, resuming):
        monkeypatch.setattr(module, "PIECE", 2)
    monkeypatch.setattr(batch_pages, "SECONDS", -1.0)
    for number in range(5):
        make_routine(f"shop {number}", priority="HIGH")
    page = open_page(make_user(), reverse("admin:routines_routine_changelist") + "?priority__exact=HIGH")
    page.get_by_role("link", name="Pause all that match …").click()
    expect(page.get_by_role("row", name="Active: will be paused")).to_contain_text("5")
    page.get_by_label("Name of the batch").fill("sale")
    page.get_by_role("button", name="Count them").click()
    page.get_by_role("button", name="Pause 5 routines").click()
    expect(page.locator(".messagelist")).to_contain_text("Batch sale has paused 5 routines.")
    page.get_by_label("Run the last one").check()
    page.get_by_role("button", name="Resume the batch").click()
    expect(page.get_by_text("This batch is over.")).to_be_visible()
    assert (PauseBatch.objects.get().resumed, PauseBatch.objects.get().release) == (5, "LAST")
