"""Hints on the page of a routine and in the list."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from routines_app import service
from routines_app.models import Routine, RoutineState
from routines_app.protocol.ledger import clock
from tests.browser.scenes import make_routine
from tests.integration.admin.pages import act, list_url, overview_url, text_of, told, verb_url
from tests.integration.conftest import Login

HOUR = timedelta(hours=1)


def typed_time(minutes: float) -> str:
    return f"{clock.now() + timedelta(minutes=minutes):%Y-%m-%dT%H:%M:%S}"


def test_each_hint_tells_its_value_its_end_why_and_by_whom(operator: Client) -> None:
    """Each with its own; anybody's text is escaped."""
    routine = make_routine(interval_ms=3_600_000)
    service.propose_interval(routine, "10m", ttl="2h", reason="a <b>sale</b>", actor="ada")
    service.propose_next_time(routine, clock.now() + timedelta(minutes=3), reason="right now", actor="grace")
    service.propose_factor(5, routine=routine, ttl="30m", reason="incident", actor="linus")
    page = operator.get(overview_url(routine))
    found = [(hint.what, hint.why, hint.by) for hint in page.context["hints"]]
    assert found == [
        ("Every", "a <b>sale</b>", "ada"),
        ("Next fire", "right now", "grace"),
        ("Pace", "incident", "linus"),
    ]
    text = page.content.decode()
    for words in ("10 minutes", "5 times slower", "a &lt;b&gt;sale&lt;/b&gt;", "grace", "linus"):
        assert words in text
    assert "<b>sale" not in text


def test_an_expired_hint_is_not_shown_though_its_row_still_has_it(operator: Client) -> None:
    """Nobody has planned since; the list's filter knows it too."""
    routine = make_routine(interval_ms=3_600_000)
    service.propose_interval(routine, "10m", reason="a sale", actor="ada")
    assert "nightly-report" in text_of(operator, f"{list_url()}?health=hinted")
    RoutineState.objects.update(hint_interval_expires_at=clock.now() - timedelta(seconds=1))
    page = operator.get(overview_url(routine))
    assert page.context["hints"] == []
    assert "No hint is in force." in page.content.decode()
    assert "Clear hints" not in page.content.decode()
    assert not operator.get(f"{list_url()}?health=hinted").context["cl"].result_count


def test_a_hint_without_a_length_has_the_usual_one(operator: Client) -> None:
    """An hour; and half an hour after its time."""
    routine, now = make_routine(interval_ms=86_400_000), clock.now()
    told_of = [
        told(operator.post(verb_url(routine, "hint-interval"), {"interval": "10m", "reason": "sale"}, follow=True)),
        told(operator.post(verb_url(routine, "hint-factor"), {"factor": "5"}, follow=True)),
        told(operator.post(verb_url(routine, "hint-time"), {"at": typed_time(20)}, follow=True)),
    ]
    assert told_of[0] == ["Hinted nightly-report: it fires every 10 minutes for an hour."]
    assert told_of[1] == ["Hinted nightly-report: it goes 5 times slower for an hour."]
    state = RoutineState.objects.get()
    assert (state.hint_interval_by, state.hint_interval_reason) == ("root", "sale")
    for expires_at, length in (
        (state.hint_interval_expires_at, HOUR),
        (state.hint_factor_expires_at, HOUR),
        (state.hint_next_expires_at, timedelta(minutes=50)),
    ):
        assert expires_at is not None
        assert abs(expires_at - now - length) < timedelta(seconds=20)


@pytest.mark.parametrize(
    ("verb", "typed", "field"),
    [
        ("hint-factor", {"factor": "much"}, "factor"),
        ("hint-factor", {"factor": "0"}, "factor"),
        ("hint-factor", {"factor": "-2"}, "factor"),
        ("hint-factor", {"factor": "nan"}, "factor"),
        ("hint-factor", {"factor": "1e400"}, "factor"),
        ("hint-factor", {"factor": ""}, "factor"),
        ("hint-factor", {"factor": "5", "ttl": "0s"}, "ttl"),
        ("hint-interval", {"interval": "1ms"}, "interval"),
        ("hint-interval", {"interval": "5m", "ttl": "500y"}, "ttl"),
        ("hint-time", {"at": ""}, "at"),
    ],
)
def test_a_hint_that_makes_no_sense_is_one_error_at_its_field(
    operator: Client, verb: str, typed: dict[str, str], field: str
) -> None:
    """Nothing is written."""
    page = operator.post(verb_url(make_routine(interval_ms=3_600_000), verb), typed)
    assert page.status_code == 422
    assert list(page.context["form"].errors) == [field]
    state = RoutineState.objects.get()
    assert (state.hint_factor, state.hint_interval_ms, state.hint_next_at) == (None, None, None)


def test_a_factor_is_hinted_for_the_chosen_ones(operator: Client) -> None:
    """A page asks for the factor, then each has the hint with its author."""
    routines = [make_routine(name, interval_ms=600_000) for name in ("one", "two", "left")]
    page = act(operator, "hint_factor", *routines[:2])
    assert "factor" in page.context["form"].fields
    done = act(operator, "hint_factor", *routines[:2], confirmed="1", factor="3", ttl="30m", reason="incident")
    assert told(done) == ["Hinted 2 routines."]
    found = Routine.objects.order_by("pk").values_list("state__hint_factor", "state__hint_factor_by")
    assert list(found) == [(3, "root"), (3, "root"), (None, "")]


def test_a_list_without_the_permission_hints_nothing(login: Login) -> None:
    """Neither by the action nor by the verb's page."""
    routine = make_routine(interval_ms=600_000)
    client = login("view_routine", "pause_routine")
    act(client, "hint_factor", routine, confirmed="1", factor="3")
    assert client.post(verb_url(routine, "hint-factor"), {"factor": "3"}).status_code == 403
    assert RoutineState.objects.get().hint_factor is None
    assert "hint-" not in client.get(overview_url(routine)).content.decode()
