"""What is rare and must not break a page: Redis away, overlaps, unknown addresses, refused verbs."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from redis.exceptions import ConnectionError as RedisAway

from routines_app import service
from routines_app.coordination import leases
from routines_app.models import Routine, RoutineRun, RoutineState
from routines_app.protocol.ledger import clock
from tests.browser.scenes import ended, make_routine, make_run
from tests.integration.admin.pages import overview_url, run_url, told, verb_url
from tests.integration.conftest import Login


def test_the_page_says_when_redis_cannot_be_asked(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lease is unknown then; everything else is there."""

    def away(routine_id: int) -> None:
        raise RedisAway("no route")

    monkeypatch.setattr(leases, "holder", away)
    page = operator.get(overview_url(make_routine(concurrency_policy="FORBID")))
    assert page.context["lease"].problem == "Redis cannot be asked: no route"


def test_running_an_active_exclusive_routine_says_that_it_was_skipped(operator: Client) -> None:
    """FORBID: the second run is a SKIPPED row, and the message tells so."""
    routine = make_routine(concurrency_policy="FORBID")
    service.run_now(routine)
    response = operator.post(verb_url(routine, "run"), follow=True)
    assert told(response) == ["nightly-report is already active, so this run was skipped (overlap)."]


def test_an_archived_routine_cannot_be_retried(operator: Client) -> None:
    """The refusal is a message, and no run is made."""
    run = ended(make_routine(), clock.now(), status="FAILED")
    service.archive_routine(run.routine)
    assert "ARCHIVED" in told(operator.post(run_url(run, "retry"), follow=True))[0].upper()
    assert RoutineRun.objects.count() == 1


def test_unknown_addresses_are_not_found(operator: Client) -> None:
    """A verb that does not exist, a routine that does not exist."""
    routine = make_routine()
    assert operator.get(verb_url(routine, "explode")).status_code == 404
    assert operator.get(reverse("admin:routines_routine_overview", args=[routine.pk + 1])).status_code == 404


def test_runs_are_filtered_by_reason_within_the_last_days(operator: Client) -> None:
    """Old ones are left out: no index leads to them."""
    routine, now = make_routine(), clock.now()
    new = make_run(routine, at=now, status="SKIPPED", reason="overlap", completed_at=now)
    old = make_run(routine, at=now - timedelta(days=9), status="SKIPPED", reason="overlap", completed_at=now)
    other = ended(routine, now)
    page = operator.get(reverse("admin:routines_routinerun_changelist"), {"reason": "overlap"}).content.decode()
    assert [str(run.pk) in page for run in (new, old, other)] == [True, False, False]


def test_searching_keeps_the_filter(operator: Client) -> None:
    """The search form carries what was chosen before."""
    make_routine()
    page = operator.get(reverse("admin:routines_routine_changelist"), {"status__exact": "ACTIVE"}).content.decode()
    assert '<input type="hidden" name="status__exact" value="ACTIVE">' in page


def test_saving_and_staying_stays(operator: Client) -> None:
    """Django's other buttons do what they do everywhere in the admin."""
    data = {"name": "x", "task": "tests.acceptance.tasks.note", "trigger_kind": "MANUAL", "timezone": "UTC"}
    form = operator.get(reverse("admin:routines_routine_add")).context["adminform"].form
    typed = {name: form[name].value() for name in form.fields if form[name].value() not in (None, False)}
    response = operator.post(reverse("admin:routines_routine_add"), typed | data | {"_continue": "1"})
    assert response.headers["Location"] == reverse("admin:routines_routine_change", args=[Routine.objects.get().pk])


def test_a_lease_of_something_else_is_shown_by_its_token(operator: Client) -> None:
    """A token that is no run's id is shown as it is."""
    routine = make_routine(concurrency_policy="REPLACE")
    leases.acquire(routine.pk, "by-hand", 30)
    assert "by-hand" in operator.get(overview_url(routine)).content.decode()


def test_a_pause_with_a_date_without_a_zone_is_in_the_projects_zone(operator: Client) -> None:
    """The form says which timezone it means."""
    page = operator.get(verb_url(make_routine(), "pause")).content.decode()
    assert "Times are in UTC." in page


DIGITS = "9" * 5_000  # Python refuses to read that many as a number


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


def test_a_paused_routine_without_a_state_can_be_resumed(operator: Client) -> None:
    """A plain insert has left the state out: there is nothing to release, and the resume makes up for it."""
    routine = make_routine(status="PAUSED")
    RoutineState.objects.all().delete()
    assert operator.get(verb_url(routine, "resume")).context["releases"][0].count == "0"
    operator.post(verb_url(routine, "resume"), {"release": "SKIP"})
    assert RoutineState.objects.get().next_run_at is not None
