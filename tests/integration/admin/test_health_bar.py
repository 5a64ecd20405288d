"""The health bar: for those who may look at routines, on our pages and the index, and never a reason to fail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.admin import AdminSite
from django.contrib.messages import get_messages
from django.core.cache import cache
from django.test import Client
from django.urls import NoReverseMatch, reverse

from routines_app.admin import health_bar
from routines_app.admin.routines import RoutineAdmin
from routines_app.models import Routine
from routines_app.verbs.health.notices import ask
from tests.browser.scenes import make_routine
from tests.integration.admin.pages import list_url, text_of
from tests.integration.conftest import Login

BAR = 'aria-label="Health of the fleet"'
FETCH = {"X-Requested-With": "fetch"}


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Asked in this thread: what a test has written is in a transaction of its own."""
    monkeypatch.setattr("routines_app.verbs.health.shared.within", lambda _, question: question())
    cache.clear()
    yield
    cache.clear()


def test_the_index_has_it_for_those_who_may_look(viewer: Client) -> None:
    make_routine()
    assert "No beat is alive: what comes due will not fire." in text_of(viewer, reverse("admin:index"))


def test_who_looks_after_other_things_is_told_nothing_of_us(login: Login) -> None:
    client = login("view_pool")
    assert BAR not in text_of(client, reverse("admin:index"))
    assert BAR not in text_of(client, reverse("admin:routines_pool_changelist"))
    assert client.get(reverse("admin:routines_health")).status_code == 403


def test_a_notice_leads_to_what_it_is_about(operator: Client) -> None:
    make_routine("bad", status="PARKED")
    page = text_of(operator, reverse("admin:routines_health"))
    assert f'<a href="{list_url()}?status__exact=PARKED">1 routine is parked.</a>' in page


def test_a_notice_is_told_in_the_language_of_whoever_looks(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that the cache has kept: it keeps facts, and each viewer gets their own words."""
    make_routine("bad", status="PARKED")
    assert "1 routine is parked." in text_of(operator, reverse("admin:routines_health"))
    monkeypatch.setattr(ask, "fleet_notices", None)  # whoever asks it again, fails
    german = {"{count} routine is parked.": "{count} Routine ist stillgelegt."}
    monkeypatch.setattr("routines_app.admin.translating.ngettext", lambda one, many, _: german.get(one, many))
    assert "1 Routine ist stillgelegt." in text_of(operator, reverse("admin:routines_health"))


def test_a_page_is_there_whatever_is_wrong_with_the_bar(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it asks may fail in any way; and a project may have taken our pages away."""

    def broken() -> None:
        raise ValueError("something else")

    monkeypatch.setattr(ask, "fleet_notices", broken)
    page = text_of(operator, reverse("admin:index"))
    assert "The health of the fleet could not be asked: something else." in page

    def gone(*_: object, **__: object) -> str:
        raise NoReverseMatch

    monkeypatch.setattr(health_bar, "reverse", gone)
    response = operator.get(reverse("admin:index"))
    assert response.status_code == 200
    assert BAR not in response.content.decode()


def test_a_site_with_an_index_of_its_own_keeps_it() -> None:
    class Own(AdminSite):
        index_template = "own/index.html"

    own, other = Own(), AdminSite("other")
    for site in (own, other):
        site.register(Routine, RoutineAdmin)
    assert (own.index_template, other.index_template) == ("own/index.html", "routines/index.html")


def test_what_a_script_asks_for_takes_no_message_away(operator: Client) -> None:
    """A list that refreshes itself in another tab must not eat what the person is to be told."""
    routine = make_routine()
    data: dict[str, Any] = {"action": "reset_routines", "_selected_action": [routine.pk], "select_across": "0"}
    assert operator.post(list_url(), data).status_code == 302
    fetched = operator.get(list_url(), headers=FETCH)
    assert fetched.status_code == 200
    assert 'class="messagelist"' not in fetched.content.decode()
    shown = operator.get(list_url())
    assert [str(message) for message in get_messages(shown.wsgi_request)] or "messagelist" in shown.content.decode()
