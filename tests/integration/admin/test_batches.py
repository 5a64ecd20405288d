"""The pages of batches of pauses: count, confirm, go on, resume."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from routines_app import service
from routines_app.admin import batch_pages
from routines_app.models import PauseBatch, Routine
from routines_app.verbs.batches import filling, resuming
from tests.browser.scenes import make_routine
from tests.integration.admin.pages import last_entry, list_url, overview_url, text_of, told
from tests.integration.conftest import Login

NEW, LIST = "admin:routines_batch_new", "admin:routines_batches"


def batch_url(batch: PauseBatch) -> str:
    return reverse("admin:routines_batch", args=[batch.pk])


def made(client: Client, **typed: Any) -> Any:
    """Count, then confirm what was counted."""
    counted = client.post(reverse(NEW), {"name": "sale", "reason": "a sale"} | typed)
    assert counted.status_code == 200, counted.content
    confirmed = {"name": "sale", "reason": "a sale", "counted": counted.context["chosen"]} | typed
    return client.post(reverse(NEW), confirmed, follow=True)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of one, and no request does more than a piece."""
    monkeypatch.setattr(filling, "PIECE", 1)
    monkeypatch.setattr(resuming, "PIECE", 1)
    monkeypatch.setattr(batch_pages, "SECONDS", -1.0)


def test_what_is_counted_is_paused_and_resumed(operator: Client) -> None:
    """By a tag; the page of the routine says by which batch it is paused, and the batch's what it would release."""
    routine, own = make_routine("a", tags=["shop"]), make_routine("own", tags=["shop"])
    make_routine("other")
    service.pause_routine(own, reason="mine")
    counted = operator.post(reverse(NEW), {"name": "sale", "by": "tag", "value": "shop"})
    assert (counted.context["counts"].active, counted.context["counts"].paused) == (1, 1)
    assert not PauseBatch.objects.exists()
    changed = operator.post(reverse(NEW), {"name": "sale", "by": "tag", "value": "x", "counted": "tag shop"})
    assert changed.context["counts"].active == 0  # counted again, and nothing done
    assert not PauseBatch.objects.exists()

    page = made(operator, by="tag", value="shop")
    batch = PauseBatch.objects.get()
    assert told(page) == ["Batch sale has paused 1 routine."]
    assert (last_entry().object_repr, page.redirect_chain[-1][0]) == ("sale", batch_url(batch))
    assert "Paused by batch <a" in text_of(operator, overview_url(routine))
    assert "sale" in text_of(operator, reverse(LIST))

    page = operator.post(batch_url(batch), {"release": "LAST", "reason": "over"}, follow=True)
    assert told(page) == ["Batch sale has resumed 1 routine."]
    assert "This batch is over." in page.content.decode()
    assert list(Routine.objects.order_by("name").values_list("name", "status")) == [
        ("a", "ACTIVE"),
        ("other", "ACTIVE"),
        ("own", "PAUSED"),
    ]
    assert "sale" not in text_of(operator, reverse(LIST))
    assert "sale" in text_of(operator, reverse(LIST) + "?closed")


def test_the_list_offers_what_its_filter_shows(operator: Client) -> None:
    """Its own address says which; the page and the order of it choose nothing."""
    for name, priority in (("a", "HIGH"), ("b", "HIGH"), ("c", "LOW")):
        make_routine(name, priority=priority)
    page = operator.get(list_url() + "?priority__exact=HIGH&o=2").content.decode()
    offered = page.split("Pause all that match")[0].rsplit('href="', 1)[1].split('"')[0].replace("&amp;", "&")
    counted = operator.get(offered)
    assert (counted.context["counts"].active, counted.context["filter"]) == (2, "priority__exact=HIGH")
    made(operator, filter="priority__exact=HIGH")
    assert sorted(PauseBatch.objects.get().routines.values_list("name", flat=True)) == ["a", "b"]
    assert PauseBatch.objects.get().selected_by == {"by": "filter", "value": "priority__exact=HIGH"}


@pytest.mark.parametrize("filter_text", ["kwargs__password__startswith=h", "health=\x00", "health=lat", "ran=ever"])
def test_a_filter_that_the_list_does_not_have_pauses_nobody(operator: Client, filter_text: str) -> None:
    """It would be all of them."""
    make_routine("a")
    answer = operator.post(reverse(NEW), {"name": "sale", "filter": filter_text, "counted": f"filter {filter_text}"})
    assert answer.status_code in (400, 422)
    assert not PauseBatch.objects.exists()


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("selector", [{"by": "tag", "value": "shop"}, {"filter": "tag=shop"}], ids=["tag", "filter"])
def test_it_goes_on_by_a_button(operator: Client, selector: dict[str, str]) -> None:
    """Piece by piece, both ways; a script presses the button only for whoever has begun."""
    for number in range(3):
        make_routine(f"r{number}", tags=["shop"])
    page = made(operator, **selector)
    batch = PauseBatch.objects.get()
    assert (batch.taken, batch.is_filling) == (1, True)
    assert "data-goes-on" in page.content.decode()
    assert "data-goes-on" not in operator.get(batch_url(batch)).content.decode()
    for _ in range(3):
        operator.post(batch_url(batch))
    batch.refresh_from_db()
    assert (batch.taken, batch.is_filling) == (3, False)
    page = operator.post(batch_url(batch), {"release": "SKIP"}, follow=True)
    assert "1 are resumed, 2 are left." in page.content.decode()
    refused = operator.post(batch_url(batch), {"release": "ALL"})
    assert (refused.status_code, refused.context["form"].errors["release"]) == (
        422,
        ["It is being resumed with SKIP: go on with that."],
    )
    for _ in range(3):
        operator.post(batch_url(batch), {"release": "SKIP"})
    batch.refresh_from_db()
    assert (batch.resumed, batch.is_open) == (3, None)


def test_a_refusal_stands_at_its_field(operator: Client) -> None:
    """Nothing is written."""
    make_routine("a", tags=["shop"])
    made(operator, by="tag", value="shop")
    typed = {"name": "sale", "by": "tag", "value": "shop", "counted": "tag shop"}
    answer = operator.post(reverse(NEW), typed)
    assert "an open batch has that name" in str(answer.context["form"].errors["name"]).lower()
    unknown = operator.post(reverse(NEW), {"name": "x", "by": "pool", "value": "none"})
    assert unknown.status_code == 422
    assert operator.get(reverse("admin:routines_batch", args=[999])).status_code == 404


def test_who_may_not_pause_only_looks(viewer: Client, login: Login) -> None:
    """The permission is that of a single pause."""
    make_routine("a", tags=["shop"])
    batch = service.pause_batch("sale", tag="shop")
    for address in (reverse(LIST), batch_url(batch)):
        page = viewer.get(address)
        assert page.status_code == 200
        assert 'method="post" class="rt-form"' not in page.content.decode()
    assert viewer.get(reverse(NEW)).status_code == 403
    assert viewer.post(batch_url(batch), {"release": "SKIP"}).status_code == 403
    assert "Pause all that match" not in text_of(viewer, list_url())
    assert login("view_routine", "pause_routine", name="pauser").get(reverse(NEW)).status_code == 200
