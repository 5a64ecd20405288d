"""A field that nobody touched stays as it is stored, whatever the form can show of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import pytest
from django.http import QueryDict
from django.test import Client
from django.utils import timezone

from routines_app.admin.preview import read_draft
from routines_app.models import Routine, ScheduleChange
from routines_app.protocol.ledger import clock
from routines_app.protocol.plan.planning import trigger_of
from tests.browser.scenes import make_routine
from tests.integration.admin.pages import last_entry
from tests.integration.admin.test_form import change_url, form_of, save, typed

pytestmark = pytest.mark.usefixtures("unrendered")

PARIS = "Europe/Paris"
EXACT = datetime(2030, 3, 1, 9, 0, 0, 123456, UTC)
FIRST_REPEAT = datetime(2030, 10, 27, 0, 30, tzinfo=UTC)  # 02:30 in Paris, for the first time that night
SECOND_REPEAT = datetime(2030, 10, 27, 1, 30, 0, 5, UTC)  # 02:30 in Paris, for the second time


@pytest.mark.parametrize("start_at", [EXACT, FIRST_REPEAT, SECOND_REPEAT])
def test_editing_another_field_keeps_the_start(operator: Client, start_at: datetime) -> None:
    """Neither the part of a second nor which 02:30 it was is lost, so the schedule does not move."""
    routine = make_routine(interval_ms=60_000, start_at=start_at)
    with timezone.override(PARIS):
        save(operator, change_url(routine), description="edited")
    routine.refresh_from_db()
    assert (routine.description, routine.start_at) == ("edited", start_at)
    assert last_entry().change_message == "Changed description."
    assert not ScheduleChange.objects.filter(after__has_key="start_at").exists()


@pytest.mark.parametrize("start_at", [EXACT, SECOND_REPEAT])
def test_the_preview_keeps_the_start_too(operator: Client, start_at: datetime) -> None:
    """It shows what saving would do: nothing changes."""
    routine = make_routine(interval_ms=60_000, start_at=start_at)
    with timezone.override(PARIS):
        data = typed(form_of(operator, change_url(routine)), routine=routine.pk)
        draft = read_draft(QueryDict(urlencode(data)), routine, clock.now())
    assert draft.errors == {}
    assert draft.trigger == trigger_of(routine, routine.state)


def test_a_browser_that_leaves_out_the_seconds_changes_nothing(operator: Client) -> None:
    """Browsers send the shortest form of a time."""
    routine = make_routine(interval_ms=60_000, start_at=EXACT)
    save(operator, change_url(routine), start_at="2030-03-01T09:00")
    assert Routine.objects.values_list("start_at", "version").get() == (EXACT, 1)


@pytest.mark.parametrize(
    ("given", "expected"), [("2030-03-01T09:00:01", datetime(2030, 3, 1, 8, 0, 1, tzinfo=UTC)), ("", None)]
)
def test_a_start_that_was_typed_over_is_changed(operator: Client, given: str, expected: datetime | None) -> None:
    """In the timezone that the admin shows."""
    routine = make_routine(interval_ms=60_000, start_at=EXACT)
    with timezone.override(PARIS):
        save(operator, change_url(routine), start_at=given)
    assert Routine.objects.get().start_at == expected


@pytest.mark.parametrize("tags", [["a, b", "c"], ['say "hi", twice'], ['"x'], [" spaced "], ['5" disk']])
def test_odd_tags_are_kept(operator: Client, tags: list[str]) -> None:
    """A comma inside a tag divides nothing, neither untouched nor with a tag added."""
    routine = make_routine(tags=tags)
    save(operator, change_url(routine), description="edited")
    assert Routine.objects.get().tags == tags
    form = form_of(operator, change_url(routine))
    operator.post(change_url(routine), typed(form, tags=f"{form['tags'].value()}, new"))
    assert Routine.objects.get().tags == [*(tag.strip() for tag in tags), "new"]


def test_a_quote_that_is_not_closed_is_refused(operator: Client) -> None:
    """It would swallow the tags after it."""
    routine = make_routine(tags=["a"])
    response: Any = save(operator, change_url(routine), tags='a, "b, c')
    assert "double quotes" in str(response.context["adminform"].form.errors["tags"])
    assert Routine.objects.get().tags == ["a"]


def test_a_name_that_would_be_refused_today_stays_while_others_are_edited(operator: Client) -> None:
    """Only whoever changes it meets the rule."""
    routine = make_routine("2", group="a\u200bb")
    save(operator, change_url(routine), description="edited")
    assert Routine.objects.values_list("name", "group", "description").get() == ("2", "a\u200bb", "edited")
    response = save(operator, change_url(routine), name="3")
    assert "does not consist of digits only" in str(response.context["adminform"].form.errors["name"])
