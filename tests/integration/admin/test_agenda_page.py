"""The page of the agenda."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from django.test import Client
from django.urls import reverse

from routines_app.models import Pool
from routines_app.protocol.ledger import clock
from tests.browser.scenes import ended, make_routine
from tests.integration.admin.pages import text_of


def agenda_url() -> str:
    return reverse("admin:routines_agenda")


def test_the_agenda_tells_fires_load_and_collisions(operator: Client) -> None:
    """Three routines of a pool for one fire each minute and take five: it is too small, and the page says when."""
    pool = Pool.objects.create(name="db", max_concurrent=1)
    for number in range(3):
        routine = make_routine(f"each-minute-{number}", cron="* * * * *", timezone="UTC", pool=pool)
        ended(routine, clock.now() - timedelta(hours=1), 300)
    make_routine("elsewhere", interval_ms=600_000)
    page = text_of(operator, agenda_url())
    assert "too small" in page
    assert "for 1 place:" in page
    assert "each-minute-0" in page
    assert "elsewhere" in page
    assert "These are the first 100" in page
    assert 'aria-label="Fires of the agenda, over time"' in page
    narrowed = text_of(operator, f"{agenda_url()}?window=1d&pool=db")
    assert "elsewhere" not in narrowed
    assert "Load per 15 minutes" in narrowed


def test_what_the_agenda_is_asked_wrongly_is_told(operator: Client) -> None:
    """A pool that is gone is named; a window that is none is the next hour."""
    page = operator.get(agenda_url(), {"pool": "gone", "window": "nonsense"})
    assert "gone" in page.context["problem"]
    assert page.context["window"] == "1h"
    assert page.status_code == 200


def test_an_empty_agenda_says_so(operator: Client) -> None:
    """Nothing fires, nothing collides."""
    assert "Nothing is planned for this time." in text_of(operator, agenda_url())


def test_the_agenda_is_for_those_who_may_look(login: Callable[..., Client]) -> None:
    """As every page about routines."""
    assert login("view_pool").get(agenda_url()).status_code == 403
    assert login("view_routine", name="eve").get(agenda_url()).status_code == 200
