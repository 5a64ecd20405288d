"""The page of a run."""

from __future__ import annotations

from datetime import timedelta

from django.test import Client
from django.urls import reverse
from django_celery_results.models import TaskResult

from routines_app import service
from routines_app.models import RoutineRun, RunLog
from routines_app.protocol.ledger import clock
from tests.browser.scenes import ended, make_routine, make_run
from tests.integration.admin.pages import last_entry, press, run_url, text_of, told
from tests.integration.admin.test_form import typed
from tests.integration.conftest import Login


def test_the_page_of_a_run_shows_progress_log_and_arguments(operator: Client) -> None:
    """Everything one asks about a run, with its secrets masked."""
    routine = make_routine(kwargs={"token": "t0ken", "limit": 3})
    now = clock.now()
    run = make_run(
        routine, at=now, status="RUNNING", started_at=now, progress={"done": 1, "total": 4, "note": "half way"}
    )
    RunLog.objects.create(run=run, at=now, line="hello from the task")
    page = text_of(operator, run_url(run))
    for words in ("1 of 4 (25 %)", "half way", "hello from the task", "&quot;limit&quot;: 3", "data-live-url"):
        assert words in page
    assert "t0ken" not in page


def test_the_page_of_an_ended_run_shows_result_error_and_record(operator: Client) -> None:
    """The traceback is readable, the result is masked, and the django-celery-results record is linked."""
    result = {"rows": 7, "api_key": "k3y"}
    run = ended(
        make_routine(), clock.now(), status="FAILED", result=result, error="ValueError: no", traceback="Traceback …"
    )
    TaskResult.objects.create(task_id=str(run.pk), status="FAILURE")
    page = text_of(operator, run_url(run))
    for words in ("ValueError: no", "Traceback …", "&quot;rows&quot;: 7", "FAILURE"):
        assert words in page
    assert "k3y" not in page
    assert run_url(run, "live") not in page


def test_the_live_part_reports_the_status(operator: Client) -> None:
    """The page reloads itself when this header is not the status that it was made for."""
    run = ended(make_routine(), clock.now())
    assert operator.get(run_url(run, "live"))["X-Routines-Status"] == "SUCCESS"


def test_cancelling_a_waiting_run_ends_it(operator: Client) -> None:
    """The page asks why; the run is CANCELLED and the history knows who and why."""
    run = make_run(make_routine(), at=clock.now())
    assert operator.get(run_url(run, "cancel")).status_code == 200
    response = operator.post(run_url(run, "cancel"), {"reason": "wrong month"}, follow=True)
    assert told(response) == ["Cancelled the run."]
    assert RoutineRun.objects.get().status == "CANCELLED"
    assert last_entry().change_message == "Cancelled the run. Why: wrong month"


def test_cancelling_an_ended_run_is_refused_with_words(operator: Client) -> None:
    """It ended while the person was typing."""
    run = ended(make_routine(), clock.now())
    response = operator.post(run_url(run, "cancel"))
    assert "SUCCESS" in str(response.context["form"].non_field_errors())


def test_a_run_that_will_not_stop_can_be_abandoned_by_who_may(login: Login) -> None:
    """A permission of its own: to cancel is not enough, and the button is there only for whom it works."""
    now = clock.now()
    run = make_run(make_routine(), at=now, status="RUNNING", reason="overdue", started_at=now)
    cancels = login("view_routinerun", "cancel_routinerun")
    assert run_url(run, "abandon") not in cancels.get(run_url(run)).content.decode()
    assert cancels.post(run_url(run, "abandon")).status_code == 403
    abandons = login("view_routinerun", "abandon_routinerun", name="bob")
    assert run_url(run, "abandon") in abandons.get(run_url(run)).content.decode()
    assert abandons.get(run_url(run, "abandon")).status_code == 200
    response = abandons.post(run_url(run, "abandon"), {"reason": "the machine is gone"}, follow=True)
    assert told(response) == ["Abandoned the run."]
    run.refresh_from_db()
    assert (run.status, run.reason) == ("FAILED", "abandoned")
    assert last_entry().change_message == "Abandoned the run. Why: the machine is gone"


def test_the_page_that_abandons_says_what_becomes_of_a_run_that_was_asked_to_stop(operator: Client) -> None:
    """It has no next attempt; and that is what happens then."""
    now = clock.now()
    run = make_run(
        make_routine(), at=now, status="RUNNING", started_at=now, stop_requested_at=now, stop_reason="cancelled"
    )
    page = text_of(operator, run_url(run, "abandon"))
    assert "if it was asked to stop, it ends as cancelled, and there is no next attempt" in page
    operator.post(run_url(run, "abandon"))
    assert [run.status for run in RoutineRun.objects.all()] == ["CANCELLED"]


def test_retrying_a_failed_run_asks_for_the_same_work(operator: Client) -> None:
    """A new manual run with the old one's arguments; looking at the address alone does nothing."""
    run = ended(make_routine(), clock.now(), status="FAILED", args=[1], kwargs={"a": 2})
    operator.get(run_url(run, "retry"))
    assert RoutineRun.objects.count() == 1
    operator.post(run_url(run, "retry"))
    again = RoutineRun.objects.exclude(pk=run.pk).get()
    assert (again.args, again.kwargs, again.requested_by) == ([1], {"a": 2}, "root")


def test_run_again_starts_from_the_arguments_of_the_run(operator: Client) -> None:
    """The form is filled with them, masked, and a mask means the run's own secret."""
    routine = make_routine(kwargs={"token": "routine-secret"})
    run = ended(routine, clock.now(), args=[], kwargs={"token": "run-secret", "n": 1})
    address = reverse("admin:routines_routine_verb", args=[routine.pk, "run"])
    form = operator.get(f"{address}?like={run.pk}").context["form"]
    assert "run-secret" not in str(form)
    operator.post(address, typed(form))
    assert RoutineRun.objects.exclude(pk=run.pk).get().kwargs == {"token": "run-secret", "n": 1}


def test_a_run_that_is_gone_is_not_found(operator: Client) -> None:
    """History is pruned; its address answers politely."""
    address = reverse("admin:routines_routinerun_change", args=["01900000-0000-7000-8000-000000000000"])
    assert operator.get(address).status_code == 404


def test_an_archived_routine_cannot_be_retried(operator: Client) -> None:
    """The refusal is a message, and no run is made."""
    run = ended(make_routine(), clock.now(), status="FAILED")
    service.archive_routine(run.routine)
    assert "ARCHIVED" in told(operator.post(run_url(run, "retry"), follow=True))[0].upper()
    assert RoutineRun.objects.count() == 1


def test_a_body_that_outlived_its_run_is_told(operator: Client) -> None:
    """From more than a second on: the moments come from two machines."""
    now = clock.now()
    run = ended(make_routine(), now, status="FAILED", reason="orphaned")
    for seconds, shown in [(1.0, False), (1.5, True)]:
        run.body_ended_at = run.completed_at + timedelta(seconds=seconds)
        run.save()
        assert ("the body went on until" in text_of(operator, run_url(run))) is shown


def test_attempts_lead_to_each_other(operator: Client) -> None:
    """From a retry to what it retries, and back."""
    routine, now = make_routine(), clock.now()
    first = ended(routine, now - timedelta(minutes=2), status="FAILED")
    second = ended(routine, now, attempt=2, chain=first.pk, retry_of=first, trigger="retry")
    before, after = (operator.get(run_url(run)).context for run in (first, second))
    assert (before["attempt_before"], before["attempt_after"]) == (None, second)
    assert (after["attempt_before"], after["attempt_after"]) == (first, None)


def test_a_run_that_is_asked_for_again_leads_to_what_it_repeats_and_back(operator: Client) -> None:
    """By the button, and by the form with its arguments, also when these were changed there."""
    first = ended(make_routine(), clock.now(), status="FAILED", args=["march"], kwargs={})
    operator.post(run_url(first, "retry"))
    form = reverse("admin:routines_routine_verb", args=[first.routine_id, "run"]) + f"?like={first.pk}"
    for word in ("march", "april"):
        press(operator, form, args=f'["{word}"]', kwargs="{}")
    again = list(RoutineRun.objects.exclude(pk=first.pk).order_by("id"))
    assert [run.args for run in again] == [["march"], ["march"], ["april"]]
    assert operator.get(run_url(first)).context["done_again"] == again
    for run in again:
        assert operator.get(run_url(run)).context["again_of"] == first
        assert run_url(first) in text_of(operator, run_url(run))
    RoutineRun.objects.filter(pk=first.pk).delete()
    assert operator.get(run_url(again[0])).context["again_of"] is None
