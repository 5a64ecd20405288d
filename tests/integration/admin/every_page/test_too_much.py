"""No request takes in what no page sends: it is refused for its size, before anything is done with it."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from routines_app.models import Routine
from tests.browser.scenes import make_routine
from tests.integration.admin.every_page.test_bounds import schedule
from tests.integration.admin.pages import list_url

MEGABYTES = "9" * 1_800_000


@pytest.mark.parametrize("field", [*schedule(Routine(pk=1)), "start_at", "interval_ms", "concurrency_policy"])
def test_a_preview_of_very_much_is_refused(operator: Client, field: str) -> None:
    """Whatever field it is in, nothing of it comes back."""
    address, typed = reverse("admin:routines_routine_preview"), schedule(make_routine())
    for much in ("9" * 16_001, MEGABYTES):
        answer = operator.post(address, typed | {field: much})
        assert (answer.status_code, len(answer.content) < 200) == (413, True)
        assert "too large: give at most" in answer.content.decode()


def test_a_form_of_megabytes_is_refused(operator: Client) -> None:
    """Before it is read, and without showing it again."""
    address = reverse("admin:routines_routine_add")
    answer = operator.post(address, {"name": "x", "description": MEGABYTES})
    assert (answer.status_code, len(answer.content) < 200) == (413, True)
    assert not Routine.objects.exists()


@pytest.mark.parametrize(
    "page", ["routine_changelist", "routinerun_changelist", "pool_changelist", "rotation_changelist"]
)
def test_an_address_without_end_is_refused(operator: Client, page: str) -> None:
    """Filters, order and search together have only so much room."""
    answer = operator.get(reverse(f"admin:routines_{page}") + "?q=" + "a+" * 3_000)
    assert (answer.status_code, len(answer.content) < 200) == (414, True)


@pytest.mark.parametrize("term", ["a " * 9, "a" * 101])
def test_a_search_for_very_much_finds_nothing_and_says_so(operator: Client, term: str) -> None:
    """Each word would be looked for in every row."""
    make_routine("a" * 150)
    page = operator.get(list_url(), {"q": term})
    assert page.context["cl"].result_count == 0
    assert "at most 100 characters and 8 words" in page.content.decode()


@pytest.mark.parametrize("field", ["tags", "retry_for", "kwargs", "args", "interval_ms", "timezone", "description"])
def test_a_field_that_is_too_long_says_how_much_it_takes(operator: Client, field: str) -> None:
    """At its field; the whole form would have been let through."""
    page = operator.post(reverse("admin:routines_routine_add"), {field: "9," * 140_000})
    assert page.status_code == 200
    said = " ".join(page.context["adminform"].form.errors[field])
    assert "at most" in said or "IANA" in said
    assert len(said) < 500
