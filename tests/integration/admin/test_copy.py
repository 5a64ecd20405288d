"""Copying a routine in the admin: the form that adds, filled from another routine."""

from __future__ import annotations

import json

import pytest
from django.test import Client
from django.urls import reverse

from routines_app.masks import MASK
from routines_app.models import Routine
from tests.browser.rotation_scene import make_rotation
from tests.browser.scenes import make_routine
from tests.integration.admin.pages import overview_url, told
from tests.integration.admin.test_form import form_of, save
from tests.integration.conftest import NOTE, Login

SECRETS = {"url": "https://us.example/", "token": "s3cret"}


@pytest.fixture
def original() -> Routine:
    return make_routine("first", kwargs=SECRETS, task=NOTE, declared_in="code:code")


def copy_url(routine: Routine) -> str:
    return reverse("admin:routines_routine_copy", args=[routine.pk])


def test_a_copy_is_suggested_a_name_begins_paused_and_keeps_what_is_hidden(login: Login, original: Routine) -> None:
    """The page shows masks, and none is stored."""
    ann = login("view_routine", "add_routine", "change_routine", name="ann")
    page = ann.get(copy_url(original)).content.decode()
    assert MASK in page
    assert "s3cret" not in page
    response = save(ann, copy_url(original))
    copy = Routine.objects.get(name="first copy")
    assert response.redirect_chain[-1][0] == overview_url(copy)
    assert (copy.kwargs, copy.status, copy.declared_in) == (SECRETS, "PAUSED", "database")
    original.refresh_from_db()
    assert (original.name, original.status, original.version) == ("first", "ACTIVE", 1)


def test_what_is_typed_is_of_the_copy(operator: Client, original: Routine) -> None:
    """Another name, another schedule, and it may fire at once."""
    values = {"name": "second", "trigger_kind": "INTERVAL", "cron": "", "interval_ms": "10m", "start_paused": ""}
    save(operator, copy_url(original), **values)
    copy = Routine.objects.get(name="second")
    assert (copy.interval_ms, copy.cron, copy.status, copy.task) == (600_000, "", "ACTIVE", NOTE)


@pytest.mark.parametrize(
    "changes",
    [
        {"task": "tests.acceptance.tasks.fail"},
        {"queue": "theirs"},
        {"kwargs": json.dumps({"url": "http://attacker/", "token": MASK})},
        {"read_version": "99"},
    ],
    ids=str,
)
def test_a_hidden_value_goes_nowhere_else_by_a_copy(
    operator: Client, original: Routine, changes: dict[str, str]
) -> None:
    """The same rules as when a routine is edited: what is hidden stays with task, queue and the other arguments."""
    response = save(operator, copy_url(original), **changes)
    assert "type it anew" in str(response.context["errors"])
    assert Routine.objects.count() == 1


def test_a_name_that_is_taken_is_refused_at_its_field(operator: Client, original: Routine) -> None:
    """And the page is still that of the copy."""
    response = save(operator, copy_url(original), name="first")
    assert "no other routine" in str(response.context["adminform"].form.errors["name"])
    assert form_of(operator, copy_url(original))["name"].value() == "first copy"


def test_who_may_not_add_and_change_copies_nothing(login: Login, original: Routine) -> None:
    """A copy runs with what is hidden: to add is not enough."""
    for name, permissions in (("a", ["view_routine", "add_routine"]), ("b", ["view_routine", "change_routine"])):
        client = login(*permissions, name=name)
        assert client.get(copy_url(original)).status_code == 403
        assert "/copy/" not in client.get(overview_url(original)).content.decode()


def test_a_rotations_own_routine_is_not_copied(operator: Client) -> None:
    """It has a page of its own."""
    rotation = make_rotation()
    assert "add a rotation" in told(operator.get(copy_url(rotation.routine), follow=True))[0]
