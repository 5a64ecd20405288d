"""The page of the form: where it leads, and who gets to it."""

from __future__ import annotations

from django.test import Client
from django.urls import reverse

from routines_app.models import Routine
from tests.browser.scenes import make_routine
from tests.integration.conftest import Login

DIGITS = "9" * 5_000  # Python refuses to read that many as a number


def test_saving_and_staying_stays(operator: Client) -> None:
    """Django's other buttons do what they do everywhere in the admin."""
    data = {"name": "x", "task": "tests.acceptance.tasks.note", "trigger_kind": "MANUAL", "timezone": "UTC"}
    form = operator.get(reverse("admin:routines_routine_add")).context["adminform"].form
    typed = {name: form[name].value() for name in form.fields if form[name].value() not in (None, False)}
    response = operator.post(reverse("admin:routines_routine_add"), typed | data | {"_continue": "1"})
    assert response.headers["Location"] == reverse("admin:routines_routine_change", args=[Routine.objects.get().pk])


def test_the_form_of_no_routine_is_not_found(viewer: Client) -> None:
    """Whatever stands in the address; someone who may only look is led to the page of a routine that exists."""
    routine = make_routine()
    for asked, status in ((routine.pk, 302), ("abc", 404), (routine.pk + 1, 404), (DIGITS, 404)):
        response = viewer.get(f"{reverse('admin:routines_routine_changelist')}{asked}/change/")
        assert response.status_code == status


def test_the_form_is_refused_to_who_may_not_even_look(login: Login) -> None:
    """Whether a routine exists is not told either."""
    stranger = login(name="mallory")
    routine = make_routine()
    for asked in (routine.pk, "abc"):
        assert stranger.get(f"{reverse('admin:routines_routine_changelist')}{asked}/change/").status_code == 403
