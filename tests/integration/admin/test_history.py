"""One history of a routine, whoever changed it and through whichever door."""

from __future__ import annotations

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from routines_app import service
from routines_app.models import ScheduleChange
from tests.browser.scenes import make_routine
from tests.integration.admin.pages import overview_url, text_of, verb_url
from tests.integration.conftest import Login


def history_url(pk: int) -> str:
    return reverse("admin:routines_routine_history", args=[pk])


def test_each_act_is_told_once_with_its_door(operator: Client) -> None:
    """A pause in the admin leaves a change and an entry of Django's log: one line. A request for a run leaves no change
    of the routine, and is told all the same; so is what the command line, a beat and a program did."""
    routine = make_routine()
    operator.post(verb_url(routine, "pause"), {"reason": "the disk is full"})
    operator.post(verb_url(routine, "run"), {"idempotency_key": "one"})
    service.update_routine(routine.pk, description="nightly", actor="ann (command line)")
    service.resume_routine(routine.pk, actor="a program", reason="password=hunter2")

    for address in (overview_url(routine), history_url(routine.pk)):
        page = text_of(operator, address)
        table = page[page.index("Through") :]
        assert table.count("<td>the disk is full</td>") == 1
        assert "<td>Paused</td><td>root</td><td>admin</td><td>the disk is full</td>" in table
        assert table.count("<td>root</td><td>admin</td>") == 2  # the pause, and the run that was asked for
        assert "<td>Updated</td><td>ann</td><td>command line</td>" in table
        assert "<td>Resumed</td><td>a program</td><td>—</td>" in table
        assert "hunter2" not in table


def test_a_reason_that_only_the_log_has_is_masked_too(operator: Client) -> None:
    """Of a run that was asked for there is no change of the routine: its reason stands in Django's log."""
    routine = make_routine()
    user = User.objects.get(username="root")
    message = "Asked for a run. Why: password=hunter2"
    LogEntry.objects.log_actions(user.pk, [routine], CHANGE, change_message=message, single_object=True)
    page = text_of(operator, history_url(routine.pk))
    assert "Asked for a run. Why: password=" in page
    assert "hunter2" not in page


def test_a_long_history_has_pages(operator: Client) -> None:
    """Each with a bounded number of rows; a page that is none is not there."""
    routine = make_routine()
    service.update_routine(routine.pk, description="the first edit")
    pattern = ScheduleChange.objects.filter(routine=routine).latest("pk")
    ScheduleChange.objects.bulk_create(
        ScheduleChange(routine=routine, routine_name=routine.name, kind="updated", at=pattern.at, actor="many")
        for _ in range(150)
    )
    page = text_of(operator, history_url(routine.pk))
    assert page.count("<td>many</td>") == 100
    older = page.split('href="?before=')[1].split('"')[0]
    assert text_of(operator, f"{history_url(routine.pk)}?before={older}").count("<td>many</td>") == 50
    assert operator.get(f"{history_url(routine.pk)}?before=nothing").status_code == 200
    assert operator.get(history_url(2**62)).status_code == 404


def test_whoever_may_not_look_sees_no_history(login: Login) -> None:
    routine = make_routine()
    assert login().get(history_url(routine.pk)).status_code == 403
