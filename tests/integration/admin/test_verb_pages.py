"""The pages of the verbs, where something is unusual."""

from __future__ import annotations

from django.test import Client
from django.urls import reverse

from routines_app import service
from routines_app.models import RoutineState
from tests.browser.scenes import make_routine
from tests.integration.admin.pages import told, verb_url


def test_running_an_active_exclusive_routine_says_that_it_was_skipped(operator: Client) -> None:
    """FORBID: the second run is a SKIPPED row, and the message tells so."""
    routine = make_routine(concurrency_policy="FORBID")
    service.run_now(routine)
    response = operator.post(verb_url(routine, "run"), follow=True)
    assert told(response) == ["nightly-report is already active, so this run was skipped (overlap)."]


def test_unknown_addresses_are_not_found(operator: Client) -> None:
    """A verb that does not exist, a routine that does not exist."""
    routine = make_routine()
    assert operator.get(verb_url(routine, "explode")).status_code == 404
    assert operator.get(reverse("admin:routines_routine_overview", args=[routine.pk + 1])).status_code == 404


def test_a_pause_with_a_date_without_a_zone_is_in_the_projects_zone(operator: Client) -> None:
    """The form says which timezone it means."""
    page = operator.get(verb_url(make_routine(), "pause")).content.decode()
    assert "Times are in UTC." in page


def test_a_paused_routine_without_a_state_can_be_resumed(operator: Client) -> None:
    """A plain insert has left the state out: there is nothing to release, and the resume makes up for it."""
    routine = make_routine(status="PAUSED")
    RoutineState.objects.all().delete()
    assert operator.get(verb_url(routine, "resume")).context["releases"][0].count == "0"
    operator.post(verb_url(routine, "resume"), {"release": "SKIP"})
    assert RoutineState.objects.get().next_run_at is not None
