"""The page of a routine."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from redis.exceptions import ConnectionError as RedisAway

from routines_app.coordination import leases
from routines_app.models import Routine, RoutineState, ScheduleChange
from routines_app.protocol.ledger import clock
from tests.browser.scenes import ended, make_routine, make_run, make_run_with_retry
from tests.integration.admin.pages import list_url, overview_url, run_url, text_of


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
    assert page.count('class="rt-link"') == 2 * 2  # once for each width
    assert "Timeline of 3 runs" in page


def test_the_page_of_a_routine_leads_to_its_run_that_will_not_stop(operator: Client) -> None:
    """It may be older than every run that is shown, and needs a person."""
    now = clock.now()
    routine, another = make_routine(), make_routine("another")
    run = make_run(routine, at=now - timedelta(days=40), status="RUNNING", reason="overdue", started_at=now)
    link = f'href="{run_url(run)}"><span class="rt-pill rt-is-failed">overdue</span>'
    assert link in text_of(operator, overview_url(routine))
    assert "overdue" not in text_of(operator, overview_url(another))


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


def test_the_page_says_when_redis_cannot_be_asked(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lease is unknown then; everything else is there."""

    def away(routine_id: int) -> None:
        raise RedisAway("no route")

    monkeypatch.setattr(leases, "holder", away)
    page = operator.get(overview_url(make_routine(concurrency_policy="FORBID")))
    assert page.context["lease"].problem == "Redis cannot be asked: no route"


def test_a_lease_of_something_else_is_shown_by_its_token(operator: Client) -> None:
    """A token that is no run's id is shown as it is."""
    routine = make_routine(concurrency_policy="REPLACE")
    leases.acquire(routine.pk, "by-hand", 30)
    assert "by-hand" in operator.get(overview_url(routine)).content.decode()
