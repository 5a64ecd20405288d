"""The pages of the verbs, where something is unusual."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from routines_app import service
from routines_app.admin import verb_acts
from routines_app.models import RoutineRun, RoutineState
from routines_app.protocol.ledger import clock
from routines_app.verbs import delete
from tests.browser.scenes import ended, make_routine
from tests.integration.admin.pages import told, verb_url


def test_running_an_active_exclusive_routine_says_that_it_was_skipped(operator: Client) -> None:
    """FORBID: the second run is a SKIPPED row, and the message tells so."""
    routine = make_routine(concurrency_policy="FORBID")
    service.run_now(routine)
    response = operator.post(verb_url(routine, "run"), {"idempotency_key": "another"}, follow=True)
    assert told(response) == ["Skipped the run of nightly-report: it is already active (overlap)."]


def test_running_an_active_queue_routine_says_that_it_waits(operator: Client) -> None:
    """QUEUE: the second run has its turn after the first."""
    routine = make_routine(concurrency_policy="QUEUE")
    service.run_now(routine)
    RoutineRun.objects.update(admitted_at=clock.now(), dispatched_at=clock.now())
    response = operator.post(verb_url(routine, "run"), follow=True)
    assert told(response) == ["Asked for a run of nightly-report, which waits for its turn: it is already active."]


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


def test_a_long_history_is_deleted_in_several_requests(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each deletes what it has time for and says that there is more; the last one takes the routine."""
    monkeypatch.setattr(verb_acts, "SECONDS", -1.0)
    monkeypatch.setattr(delete, "DELETE_BATCH", 2)
    routine = make_routine(status="ARCHIVED")
    for _ in range(3):
        ended(routine, clock.now())
    said = [told(operator.post(verb_url(routine, "delete"), follow=True))[0] for _ in range(2)]
    assert said == [
        f"Deleted {those} of nightly-report, and it has more: delete it again to go on."
        for those in ("2 runs", "1 run")
    ]
    assert told(operator.post(verb_url(routine, "delete"), follow=True)) == ["Deleted nightly-report with its runs."]
    assert not RoutineRun.objects.exists()
