"""Filters that people save: links above the lists."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from routines_app import service
from routines_app.models import SavedFilter
from routines_app.verbs.saved_filters import MOST
from tests.browser.scenes import make_routine
from tests.integration.admin.pages import told
from tests.integration.conftest import Login

ASKED = "health=failing&tag=a&tag=b&o=4&p=3&_popup=1&kwargs__password__startswith=h"
KEPT = "health=failing&o=4&tag=a&tag=b"


def address(model: str, what: str = "changelist") -> str:
    return reverse(f"admin:routines_{model}_{what}")


def save(client: Client, name: str, query: str = ASKED, model: str = "routine", **more: str) -> object:
    return client.post(address(model, "save_filter"), {"name": name, "query": query, **more}, follow=True)


def links(client: Client, model: str = "routine") -> list[str]:
    return [link["row"].name for link in client.get(address(model)).context["saved_filters"]["links"]]


def test_a_filter_is_saved_for_oneself_and_leads_back(viewer: Client, login: Login) -> None:
    """Only what is the list's own is kept; nobody else sees it, nor does another list."""
    make_routine()
    page = save(viewer, "mine at night")
    assert told(page) == ["Saved the filter mine at night."]
    assert SavedFilter.objects.get().query == KEPT
    shown = viewer.get(f"{address('routine')}?{KEPT}")
    assert f'href="?{KEPT.replace("&", "&amp;")}" aria-current="true"' in shown.content.decode()
    assert (links(viewer), links(viewer, "routinerun")) == (["mine at night"], [])
    assert links(login("view_routine", name="bob")) == []


def test_the_list_of_runs_saves_its_own(viewer: Client) -> None:
    """By its own parameters."""
    save(viewer, "failed", "status__exact=FAILED&health=late", model="routinerun")
    assert SavedFilter.objects.get().query == "status__exact=FAILED"
    before = "before=019a93d5-c5e0-7000-8000-000000000000"
    save(viewer, "mail", f"error=Timeout&final=1&queue=mail&range=24h&{before}", model="routinerun")
    assert SavedFilter.objects.get(name="mail").query == "error=Timeout&final=1&queue=mail&range=24h"


def test_saving_for_everybody_needs_its_permission(viewer: Client, login: Login) -> None:
    """And so does taking it away again."""
    assert (
        viewer.post(address("routine", "save_filter"), {"name": "x", "query": KEPT, "shared": "1"}).status_code == 403
    )
    boss = login("view_routine", "share_savedfilter", name="boss")
    save(boss, "for all", shared="1")
    assert links(viewer) == ["for all"]
    chosen = {"filter": str(SavedFilter.objects.get().pk)}
    viewer.post(address("routine", "remove_filter"), chosen)
    assert links(viewer) == ["for all"]
    boss.post(address("routine", "remove_filter"), chosen)
    assert links(viewer) == []


def test_nobody_removes_what_is_somebody_elses(viewer: Client, login: Login) -> None:
    """Ids can be guessed."""
    save(viewer, "mine")
    other = login("view_routine", "share_savedfilter", name="boss")
    other.post(address("routine", "remove_filter"), {"filter": str(SavedFilter.objects.get().pk)})
    assert links(viewer) == ["mine"]


def test_what_cannot_be_saved_is_said(viewer: Client) -> None:
    """No name, no filter, a name twice, and one too many."""
    save(viewer, "a")
    said = [told(save(viewer, name, query)) for name, query in (("", ASKED), ("b", "p=2"), ("a", ASKED))]
    assert [one[0].startswith("Not saved") for one in said] == [True] * 3
    for number in range(MOST - 1):
        save(viewer, f"n-{number}")
    assert "remove one first" in told(save(viewer, "one more"))[0]
    with pytest.raises(service.InvalidValue):
        service.save_filter("routine", "x" * 61, KEPT, owner="1")


def test_saved_filters_are_for_those_who_may_look(login: Login) -> None:
    """The list's address alone tells nothing."""
    nobody = login("view_pool", name="bob")
    assert nobody.post(address("routine", "save_filter"), {"name": "x", "query": KEPT}).status_code == 403
    assert nobody.post(address("routine", "remove_filter"), {"filter": "1"}).status_code == 403
    assert nobody.get(address("routine", "save_filter")).status_code == 405
