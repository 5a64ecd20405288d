"""Routines in shadow, in the admin: everybody sees who fires them, and nobody is offered what is refused."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from routines_app.models import MovedEntry, Routine, RoutineRun
from tests.browser.scenes import make_routine
from tests.integration.admin.pages import list_url, overview_url, text_of


@pytest.fixture
def shadowed(operator: Client) -> Routine:
    routine = make_routine("moved")
    Routine.objects.filter(pk=routine.pk).update(shadow=True)
    MovedEntry.objects.create(routine=routine, scheduler="celery-redbeat", key="moved")
    return routine


def test_list_and_page_say_who_fires_it(operator: Client, shadowed: Routine) -> None:
    assert 'title="celery-redbeat fires it">shadow</span>' in text_of(operator, list_url())
    page = text_of(operator, overview_url(shadowed))
    assert "In shadow: celery-redbeat still fires it." in page
    assert "Run now" not in page
    assert "Pause" in page


def test_the_list_can_be_narrowed_to_them(operator: Client, shadowed: Routine) -> None:
    make_routine("own")
    page = text_of(operator, f"{list_url()}?health=shadow")
    assert overview_url(shadowed) in page
    assert "1 routine" in page


@pytest.mark.parametrize("verb", ["run", "backfill"])
def test_what_is_refused_is_not_offered(operator: Client, shadowed: Routine, verb: str) -> None:
    """Who posts it all the same is told why not."""
    address = reverse("admin:routines_routine_verb", args=[shadowed.pk, verb])
    page = operator.post(address, follow=True).content.decode()
    assert "is not for a routine in shadow: celery-redbeat still fires it" in page
    assert not RoutineRun.objects.exists()
