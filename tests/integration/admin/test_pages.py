"""What the pages show: routines, runs, the fleet."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from django.test import Client
from django.urls import reverse
from django_celery_results.models import TaskResult

from routines_app.admin.fleet_facts import lateness, waiting
from routines_app.models import Pool, Routine, RoutineRun, RoutineState, RunLog, ScheduleChange
from routines_app.protocol.ledger import clock
from routines_app.verbs import upcoming
from tests.browser.scenes import a_working_day, ended, make_routine, make_run, make_run_with_retry
from tests.integration.admin.pages import last_entry, list_url, overview_url, run_url, told


def text_of(client: Client, address: str) -> str:
    return " ".join(client.get(address).content.decode().split())


def test_the_list_tells_schedule_next_fire_and_why(operator: Client) -> None:
    """Words instead of codes."""
    make_routine(tags=["reports"], catch_up_policy="LAST")
    page = text_of(operator, list_url())
    assert "At 09:00, Monday to Friday, Europe/Paris" in page
    assert "on schedule" in page
    assert "catch up last" in page
    assert "?tag=reports" in page


def test_the_list_shows_the_success_rate_of_the_last_runs(operator: Client) -> None:
    """Three of four that ended by themselves; a skip counts for neither."""
    routine, now = make_routine(), clock.now()
    for minute, status in enumerate(["SUCCESS", "SUCCESS", "FAILED", "SUCCESS"]):
        ended(routine, now - timedelta(minutes=minute), status=status)
    make_run(routine, at=now, status="SKIPPED", completed_at=now)
    page = text_of(operator, list_url())
    assert "75 %" in page
    assert "Last 5 runs: 3 success, 1 failed, 1 skipped" in page


def test_the_list_filters_by_tag_health_and_group(operator: Client) -> None:
    """Each filter finds its routine and leaves the other out."""
    make_routine("tagged", tags=["a", "b"], group="sales")
    failing = make_routine("failing", tags=["abc"])
    RoutineState.objects.filter(pk=failing.pk).update(failure_count=2)
    for query, found, other in (
        ("tag=a", "tagged", "failing"),
        ("health=failing", "failing", "tagged"),
        ("q=sales", "tagged", "failing"),
    ):
        page = text_of(operator, f"{list_url()}?{query}")
        assert f">{found}</a>" in page
        assert f">{other}</a>" not in page


def test_a_routine_without_a_state_can_still_be_looked_at(operator: Client) -> None:
    """A row that plain SQL has left half-written does not break the list or its page."""
    routine = make_routine()
    RoutineState.objects.all().delete()
    assert operator.get(list_url()).status_code == 200
    assert operator.get(overview_url(routine)).status_code == 200


def test_a_routine_with_a_corrupt_schedule_can_be_looked_at_and_mended(operator: Client) -> None:
    """What plain SQL has broken is shown as it is, on every page that leads to mending it."""
    routine = make_routine(status="PAUSED")
    Routine.objects.update(cron="not a cron")
    RoutineState.objects.update(next_slot=clock.now() - timedelta(hours=1))
    form = reverse("admin:routines_routine_change", args=[routine.pk])
    resume = reverse("admin:routines_routine_verb", args=[routine.pk, "resume"])
    for address in (list_url(), overview_url(routine), form, resume, reverse("admin:routines_fleet")):
        assert operator.get(address).status_code == 200
    typed = {"routine": routine.pk, "trigger_kind": "CRON", "cron": "0 9 * * *", "timezone": "UTC"}
    assert operator.post(reverse("admin:routines_routine_preview"), typed).status_code == 200


def test_the_page_of_a_routine_draws_its_chain(operator: Client) -> None:
    """Two retries are linked to the attempts before them."""
    routine = make_routine()
    make_run_with_retry(routine, clock.now() - timedelta(minutes=30))
    page = text_of(operator, overview_url(routine))
    assert page.count('class="rt-link"') == 2
    assert "Timeline of 3 runs" in page


def test_the_window_of_the_timeline_can_be_chosen(operator: Client) -> None:
    """A run of two hours ago is in the window of six hours and not in that of one."""
    routine = make_routine()
    ended(routine, clock.now() - timedelta(hours=2))
    assert "Timeline of 1 runs" in text_of(operator, f"{overview_url(routine)}?window=6h")
    assert "No runs in this window" in text_of(operator, f"{overview_url(routine)}?window=1h")
    assert operator.get(f"{overview_url(routine)}?window=nonsense").context["window"] == "24h"


def test_schedule_history_masks_secrets(operator: Client) -> None:
    """Who, when, why and what; not the password."""
    routine = make_routine()
    ScheduleChange.objects.create(
        routine=routine,
        routine_name=routine.name,
        kind="updated",
        at=clock.now(),
        actor="grace",
        reason="rotation",
        before={"kwargs": {"password": "old-pw"}, "interval_ms": 60_000},
        after={"kwargs": {"password": "new-pw"}, "interval_ms": 120_000},
    )
    page = text_of(operator, overview_url(routine))
    assert "grace" in page
    assert "1m → 2m" in page
    assert "old-pw" not in page
    assert "new-pw" not in page


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
    result = json.dumps({"rows": 7, "api_key": "k3y"})
    run = ended(
        make_routine(), clock.now(), status="FAILED", result=result, error="ValueError: no", traceback="Traceback …"
    )
    TaskResult.objects.create(task_id=str(run.pk), status="FAILURE")
    page = text_of(operator, run_url(run))
    for words in ("ValueError: no", "Traceback …", "&quot;rows&quot;: 7", "FAILURE"):
        assert words in page
    assert "k3y" not in page
    assert "data-live-url" not in page


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
    data = {"like": str(run.pk), "args": "[]", "kwargs": form["kwargs"].value().replace("1", "2")}
    operator.post(address, data)
    assert RoutineRun.objects.exclude(pk=run.pk).get().kwargs == {"token": "run-secret", "n": 2}


def test_a_run_that_is_gone_is_not_found(operator: Client) -> None:
    """History is pruned; its address answers politely."""
    address = reverse("admin:routines_routinerun_change", args=["01900000-0000-7000-8000-000000000000"])
    assert operator.get(address).status_code == 404


def test_the_runs_are_searched_by_name_and_id(operator: Client) -> None:
    """Exact, because anything else would read millions of rows."""
    run, other = ended(make_routine("one"), clock.now()), ended(make_routine("two"), clock.now())
    address = reverse("admin:routines_routinerun_changelist")
    for term in ("one", str(run.pk)):
        page = text_of(operator, f"{address}?q={term}")
        assert str(run.pk) in page
        assert str(other.pk) not in page


def test_the_fleet_tells_what_runs_waits_and_is_there(operator: Client) -> None:
    """One look answers: who works, what waits and why, what is parked."""
    a_working_day()
    page = text_of(operator, reverse("admin:routines_fleet"))
    for words in (
        "sync-orders",
        "For room in a pool",
        "worker@web-2:1003",
        "1 of 4",
        "scrape-competitor",
        "routinerun",
    ):
        assert words in page
    assert operator.get(reverse("admin:routines_fleet_live")).status_code == 200


def test_an_empty_fleet_says_so(operator: Client) -> None:
    """A new installation has a page too."""
    page = text_of(operator, reverse("admin:routines_fleet"))
    for words in (
        "Nothing is running.",
        "Nothing waits.",
        "There are no pools.",
        "All is well.",
        "No beat and no worker",
    ):
        assert words in page


def test_waiting_is_told_apart_by_reason() -> None:
    """In the broker, to be published, for room."""
    routine, now = make_routine(), clock.now()
    make_run(routine, at=now, dispatched_at=now)
    make_run(routine, at=now)
    make_run(routine, at=now, reason="ceiling")
    assert {row["label"]: row["count"] for row in waiting()} == {
        "In the broker, for a free worker": 1,
        "To be published": 1,
        "For room in a pool": 1,
    }


def test_lateness_is_of_the_last_hour() -> None:
    """Older runs do not count; the worst one is told."""
    routine, now = make_routine(), clock.now()
    for minute in range(10):
        ended(routine, now - timedelta(minutes=minute, seconds=30), late=0.1)
    ended(routine, now - timedelta(minutes=20), late=9)
    ended(routine, now - timedelta(hours=3), late=99)
    found = lateness(now)
    assert (found.count, round(found.middle, 3), found.most) == (11, 0.1, 9.0)
    assert len(found.columns) == 60


def test_the_coming_hours_are_counted_from_the_schedules() -> None:
    """Alike schedules are computed once and multiplied; pauses do not count."""
    upcoming._fires_per_hour.cache_clear()
    for number in range(3):
        make_routine(f"hourly-{number}", cron="0,30 * * * *", timezone="UTC")
    make_routine("nightly", cron="15 3 * * *", timezone="UTC")
    make_routine("often", interval_ms=600_000)
    make_routine("paused", cron="* * * * *", status="PAUSED")
    Routine.objects.filter(pk=make_routine("broken").pk).update(cron="not a cron")
    hours = upcoming.fires_per_hour(datetime(2027, 5, 1, 0, 0, tzinfo=UTC))
    assert [round(fires) for _, fires in hours[:5]] == [9, 12, 12, 13, 12]  # the slot of this very minute has passed
    assert sum(fires for _, fires in hours) == 9 + 23 * 12 + 1
    upcoming._fires_per_hour.cache_clear()


def test_raising_a_ceiling_wakes_the_beats(operator: Client, django_capture_on_commit_callbacks: object) -> None:
    """Waiting runs go at once, not at the next look."""
    pool = Pool.objects.create(name="p", max_concurrent=1)
    address = reverse("admin:routines_pool_change", args=[pool.pk])
    with django_capture_on_commit_callbacks() as callbacks:  # type: ignore[operator]
        operator.post(address, {"name": "p", "max_concurrent": 5})
    assert "wake_beats" in [callback.__name__ for callback in callbacks]
