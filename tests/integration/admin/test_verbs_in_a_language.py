"""What verbs say, ask and refuse, where every message comes back marked as a translation would."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import translation

from routines_app.models import Pool
from tests.browser.scenes import make_routine
from tests.integration.admin.pages import act, last_entry, told, verb_url


@pytest.fixture(autouse=True)
def marked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A language in which every message stands in brackets; of plurals it has the English ones."""
    monkeypatch.setattr(translation._trans, "gettext", lambda text: f"⟦{text}⟧")
    monkeypatch.setattr(translation._trans, "pgettext", lambda _context, text: f"⟦{text}⟧")
    monkeypatch.setattr(translation._trans, "ngettext", lambda one, many, n: f"⟦{one if n == 1 else many}⟧")


def errors_of(page: Any, field: str) -> list[str]:
    return list(page.context["form"].errors[field])


def test_a_deed_is_told_in_the_persons_language_and_kept_in_english(operator: Client) -> None:
    """Whoever reads the history may speak another one."""
    routine = make_routine()
    done = operator.post(verb_url(routine, "hint-interval"), {"interval": "10m", "reason": "load"}, follow=True)
    assert told(done) == ["⟦Hinted nightly-report: it fires ⟦every 10 minutes⟧ for ⟦an hour⟧⟧."]
    assert last_entry().change_message == "Hinted nightly-report: it fires every 10 minutes for an hour. Why: load"


def test_a_deed_of_many_is_one_sentence(operator: Client) -> None:
    """Not a past tense with a noun behind it."""
    routines = [make_routine(name) for name in "ab"]
    assert told(act(operator, "run", *routines)) == ["⟦Asked for runs of 2 routines⟧."]


def test_what_does_not_fit_is_one_sentence_with_the_verbs_name(operator: Client) -> None:
    page = operator.get(verb_url(make_routine(), "delete"), follow=True)
    assert told(page) == ["⟦⟦Delete⟧ is not for a routine that is ACTIVE⟧."]


def test_a_refusal_stands_at_its_field_as_a_translated_sentence(operator: Client) -> None:
    """The admin's own refusal here; the service's are made in the same way."""
    routine = make_routine(kwargs={"token": "s3cret", "limit": 1})
    typed = {"kwargs": '{"token": "••••••", "limit": 2}', "args": "[]", "read_version": str(routine.version)}
    page = operator.post(verb_url(routine, "run"), typed)
    because = "⟦the named arguments⟧"
    assert errors_of(page, "kwargs") == [
        f"⟦token is hidden; because {because} changed, type it anew, or leave everything as it was⟧."
    ]


def test_several_reasons_are_joined_as_the_language_joins_them(operator: Client) -> None:
    routine = make_routine(kwargs={"token": "s3cret"})
    typed = {"kwargs": '{"token": "••••••", "limit": 2}', "args": "[1]", "read_version": str(routine.version)}
    page = operator.post(verb_url(routine, "run"), typed)
    assert "because ⟦⟦the arguments⟧ and ⟦the named arguments⟧⟧ changed" in errors_of(page, "kwargs")[0]


def test_a_pool_says_how_many_were_stopped(operator: Client) -> None:
    pool = Pool.objects.create(name="db", max_concurrent=2)
    done = operator.post(reverse("admin:routines_pool_verb", args=[pool.pk, "stop"]), follow=True)
    assert told(done) == ["⟦Pool db is drained, and 0 runs were asked to stop⟧."]
    assert last_entry().change_message == "Pool db is drained, and 0 runs were asked to stop."


@pytest.mark.each_database
def test_the_size_of_a_file_is_kept_for_every_language(operator: Client) -> None:
    """It is kept for a minute, and another one may look within it."""
    first = operator.get(reverse("admin:routines_fleet")).context["storage"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(translation._trans, "gettext", lambda text: f"«{text}»")
        second = operator.get(reverse("admin:routines_fleet")).context["storage"]
    names = {name.strip("⟦⟧") for name, _ in first}
    assert {name.strip("«»") for name, _ in second} == names
    assert not any("⟦" in name for name, _ in second)
