"""Pools."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from routines_app.models import Pool
from routines_app.protocol.ledger import clock
from tests.browser.scenes import make_routine, make_run
from tests.integration.admin.pages import text_of, told
from tests.integration.conftest import Login

ADD = "admin:routines_pool_add"
LIST = "admin:routines_pool_changelist"


def change_url(pool: Pool) -> str:
    return reverse("admin:routines_pool_change", args=[pool.pk])


def test_raising_a_ceiling_wakes_the_beats(operator: Client, django_capture_on_commit_callbacks: object) -> None:
    """Waiting runs go at once, not at the next look."""
    pool = Pool.objects.create(name="p", max_concurrent=1)
    with django_capture_on_commit_callbacks() as callbacks:  # type: ignore[operator]
        operator.post(change_url(pool), {"name": "p", "max_concurrent": 5})
    assert "wake_beats" in [callback.__name__ for callback in callbacks]


@pytest.mark.parametrize(
    ("typed", "field", "says"),
    [
        ({"name": "be\x07ll", "max_concurrent": "1"}, "name", "control characters"),
        ({"name": "taken", "max_concurrent": "1"}, "name", "no other pool"),
        ({"name": "new", "max_concurrent": "-1"}, "max_concurrent", "0"),
        (
            {"name": "new", "max_concurrent": "99999999999"},
            "max_concurrent",
            "less than or equal|between 0 and",
        ),
    ],
)
def test_a_pool_that_is_refused_says_so_at_its_field(
    operator: Client, typed: dict[str, str], field: str, says: str
) -> None:
    """Once, with what was typed still there; nothing is written."""
    Pool.objects.create(name="taken", max_concurrent=1)
    for address in (reverse(ADD), change_url(Pool.objects.create(name="mine", max_concurrent=2))):
        page = operator.post(address, typed)
        form = page.context["adminform"].form
        assert list(form.errors) == [field]
        assert len(form.errors[field]) == 1
        assert re.search(says, form.errors[field][0].lower())
        assert form["name"].value() == typed["name"]
    assert list(Pool.objects.values_list("name", "max_concurrent")) == [("mine", 2), ("taken", 1)]


def test_a_form_that_is_older_than_the_pool_sends_what_was_touched(operator: Client) -> None:
    """Somebody has made another pool the default since the page was opened, and has raised the ceiling."""
    pool = Pool.objects.create(name="first", max_concurrent=1, is_default=True)
    page = text_of(operator, change_url(pool))
    shown = dict(re.findall(r'name="(initial-[a-z_]+)" value="([^"]*)"', page))
    assert shown == {"initial-name": "first", "initial-max_concurrent": "1", "initial-is_default": "True"}
    Pool.objects.filter(pk=pool.pk).update(max_concurrent=7, is_default=None)
    Pool.objects.create(name="second", max_concurrent=1, is_default=True)
    operator.post(change_url(pool), {**shown, "name": "renamed", "max_concurrent": "1", "is_default": "on"})
    found = set(Pool.objects.values_list("name", "max_concurrent", "is_default"))
    assert found == {("renamed", 7, None), ("second", 1, True)}


def test_a_pool_is_made_the_default_and_no_default(operator: Client) -> None:
    """A box to check; the list marks it, and an unchecked box is no default."""
    operator.post(reverse(ADD), {"name": "everything", "max_concurrent": 9, "is_default": "on"})
    pool = Pool.objects.get()
    assert pool.is_default
    assert '<span class="rt-chip">default</span>' in text_of(operator, reverse(LIST))
    assert "checked" in text_of(operator, change_url(pool))
    response = operator.post(change_url(pool), {"name": "everything", "max_concurrent": 9}, follow=True)
    assert "was changed successfully" in told(response)[0]
    assert not Pool.objects.get().is_default
    assert "rt-chip" not in text_of(operator, reverse(LIST))


def test_a_second_default_pool_takes_the_place_of_the_first(operator: Client) -> None:
    """There is one at most; nobody has to find the old one first."""
    Pool.objects.create(name="old", max_concurrent=1, is_default=True)
    new = Pool.objects.create(name="new", max_concurrent=1)
    page = operator.post(change_url(new), {"name": "new", "max_concurrent": 1, "is_default": "on"})
    assert page.status_code == 302
    assert list(Pool.objects.filter(is_default=True)) == [new]


def test_the_list_shows_how_full_each_pool_is_and_what_waits(operator: Client) -> None:
    """In flight of the ceiling, as a meter with words."""
    pool, now = Pool.objects.create(name="p", max_concurrent=2), clock.now()
    routine = make_routine(pool=pool)
    make_run(routine, at=now, pool=pool, admitted_at=now, dispatched_at=now)
    for _ in range(3):
        make_run(routine, at=now, pool=pool, reason="ceiling")
    page = text_of(operator, reverse(LIST))
    assert "1 of 2 in flight" in page
    assert '<td class="field-waiting">3</td>' in page


def test_a_pool_is_drained_stopped_and_opened_on_its_page(operator: Client, viewer: Client, login: Login) -> None:
    """Each asks first, with how many are in flight; stopping needs the right to cancel, too."""
    pool = Pool.objects.create(name="p", max_concurrent=4)
    begun = dict.fromkeys(("admitted_at", "started_at", "heartbeat_at"), clock.now())
    run = make_run(make_routine(), at=clock.now(), status="RUNNING", pool=pool, **begun)
    verbs = {verb: reverse("admin:routines_pool_verb", args=[pool.pk, verb]) for verb in ("drain", "open", "stop")}
    assert "Drain</a>" in text_of(operator, change_url(pool))
    assert "1 in flight" in text_of(operator, verbs["drain"])
    assert told(operator.post(verbs["drain"], follow=True)) == ["Pool p is drained: nothing of it starts any more."]
    assert "Still in flight: 1. Its ceiling was 4" in text_of(operator, change_url(pool))
    assert told(operator.post(verbs["stop"], {"reason": "disk"}, follow=True)) == [
        "Pool p is drained, and 1 run was asked to stop."
    ]
    run.refresh_from_db()
    assert (run.stop_reason, run.error.endswith(": disk")) == ("cancelled", True)
    assert told(operator.post(verbs["open"], follow=True)) == ["Pool p is open again: at most 4 in flight."]
    assert {viewer.post(address).status_code for address in verbs.values()} == {403}
    changer = login("view_pool", "change_pool", name="changer")
    assert [changer.get(verbs[verb]).status_code for verb in ("drain", "stop")] == [200, 403]
    assert operator.get(reverse("admin:routines_pool_verb", args=[pool.pk, "burn"])).status_code == 404
