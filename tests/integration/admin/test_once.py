"""A routine that fires once, in the admin: its form, its preview, its words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.urls import reverse

from routines_app import service
from routines_app.models import Routine, RoutineState
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.ledger import clock
from tests.integration.admin.test_form import ADD, NEW, change_url, save
from tests.integration.admin.test_preview import preview
from tests.integration.conftest import NOTE

HOUR = timedelta(hours=1)
FAR = datetime(2100, 3, 12, 2, tzinfo=UTC)
ONCE = NEW | {"trigger_kind": "ONCE", "cron": ""}


def text_of(moment: datetime) -> str:
    """As a browser's picker sends it, in the timezone of the admin."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"


def fired(moment: datetime) -> Routine:
    """One whose moment is over, and that has fired."""
    routine = service.create_routine("new", task=NOTE, at=clock.now() + HOUR)
    Routine.objects.update(once_at=moment)
    service.replan_routine(routine.pk)
    return Routine.objects.get()


def test_one_is_added_by_its_moment(operator: Client) -> None:
    save(operator, reverse(ADD), **ONCE, once_at=text_of(FAR), timezone="Europe/Paris")
    routine = Routine.objects.select_related("state").get()
    assert (routine.trigger_kind, routine.once_at, routine.state.next_run_at) == ("ONCE", FAR, FAR)


@pytest.mark.parametrize(
    ("typed", "said"),
    [("", "needs this"), ("2020-01-01T00:00", "Give a moment to come"), ("soon", "Enter a valid date/time.")],
)
def test_what_is_refused_stands_at_its_field(operator: Client, typed: str, said: str) -> None:
    form = save(operator, reverse(ADD), **ONCE, once_at=typed).context["adminform"].form
    assert said in str(form.errors["once_at"])
    assert not Routine.objects.exists()


def test_a_cron_becomes_one_moment_and_a_moment_a_cron(operator: Client) -> None:
    """What the other trigger had, also if it is still in the form, goes."""
    save(operator, reverse(ADD), **NEW)
    routine = Routine.objects.get()
    save(operator, change_url(routine), trigger_kind="ONCE", once_at=text_of(FAR))
    routine.refresh_from_db()
    assert (routine.trigger_kind, routine.cron, routine.once_at) == ("ONCE", "", FAR)
    save(operator, change_url(routine), trigger_kind="CRON", cron="0 8 * * *")
    routine.refresh_from_db()
    assert (routine.trigger_kind, routine.cron, routine.once_at) == ("CRON", "0 8 * * *", None)


def test_one_that_has_fired_can_still_be_changed(operator: Client) -> None:
    """Its moment is over and stays as it is, with the part of a second that no picker shows."""
    routine = fired(clock.now() - HOUR)
    save(operator, change_url(routine), description="done", once_at=text_of(routine.once_at or FAR))
    changed = Routine.objects.get()
    assert (changed.description, changed.once_at) == ("done", routine.once_at)


def test_the_preview_says_when_in_words_and_shows_the_one_fire(operator: Client) -> None:
    found = preview(operator, trigger_kind="ONCE", once_at=text_of(FAR))
    assert "Once, on 12 Mar 2100 at 03:00, Europe/Paris" in found["text"]
    assert found["text"].count("<tr>") == 2  # of the head, and of the fire
    assert "<caption>Next fire</caption>" in found["text"]
    assert found["errors"] == {}


@pytest.mark.parametrize("typed", ["", "soon"])
def test_the_preview_of_no_moment_shows_nothing(operator: Client, typed: str) -> None:
    answer = preview(operator, trigger_kind="ONCE", once_at=typed)
    assert set(answer["errors"]) == {"once_at"}
    assert "<table" not in answer["html"]


def test_the_preview_says_that_a_moment_is_over(operator: Client) -> None:
    found = preview(operator, trigger_kind="ONCE", once_at="2020-01-01T00:00")
    assert "Never fires: its moment is over." in found["text"]


def test_pages_say_when_and_lists_are_filtered_by_it(operator: Client) -> None:
    service.create_routine("new year", task=NOTE, at=FAR, timezone="Europe/Paris")
    service.create_routine("hourly", task=NOTE, every="1h")
    overview = reverse("admin:routines_routine_overview", args=[Routine.objects.get(name="new year").pk])
    words = "nce, on 12 Mar 2100 at 03:00, Europe/Paris"
    page = operator.get(overview).content.decode()
    assert words in page
    assert "None within a year: at its one moment." in page
    listed = operator.get(reverse("admin:routines_routine_changelist"), {"trigger_kind__exact": "ONCE"})
    assert words in listed.content.decode()
    assert "at its one moment" in listed.content.decode()
    assert "Every hour" not in listed.content.decode()


def test_one_that_has_fired_is_shown_as_ended(operator: Client) -> None:
    service.create_routine("new year", task=NOTE, at=clock.now() + HOUR)
    claim_due(clock.now() + HOUR)
    assert RoutineState.objects.get().next_source == "ended"
    listed = operator.get(reverse("admin:routines_routine_changelist")).content.decode()
    assert "its schedule has ended" in listed


def test_a_moment_is_shown_where_plain_sql_has_stored_no_timezone(operator: Client) -> None:
    service.create_routine("new year", task=NOTE, at=FAR)
    Routine.objects.update(timezone="Nowhere/Land")
    listed = operator.get(reverse("admin:routines_routine_changelist"))
    assert "Once, on 12 Mar 2100 at 02:00, UTC" in listed.content.decode()
