"""A backfill says what it makes before it does, and is followed on a page of its own."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from routines_app import service
from routines_app.core.keys import slot_key
from routines_app.models import Routine, RoutineRun
from routines_app.protocol.ledger import clock
from tests.browser.scenes import ended, make_routine, make_run
from tests.integration.admin.pages import press, shown_in, told, verb_url
from tests.integration.conftest import Login


@pytest.fixture
def routine() -> Routine:
    return make_routine(cron="@hourly", timezone="UTC")


def stretch(first: int, last: int) -> dict[str, str]:
    hour = clock.now().replace(minute=0, second=0, microsecond=0)
    return {name: f"{hour - timedelta(hours=back):%Y-%m-%dT%H:%M}" for name, back in (("start", first), ("end", last))}


def batch_url(routine: Routine, batch: str, page: str = "") -> str:
    return reverse(f"admin:routines_routine_backfill{page}", args=[routine.pk, batch])


def backfilled(routine: Routine, hours: int = 3) -> tuple[str, list[RoutineRun]]:
    now = clock.now()
    runs = service.backfill(routine, now - timedelta(hours=hours), now, actor="ann")
    return service.batch_of(runs[0].idempotency_key), runs


def test_it_is_counted_first_and_made_when_confirmed(operator: Client, routine: Routine) -> None:
    """Nothing is written by the first press; the slots that ran are told; the second leads to the page of the batch."""
    slot = clock.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=2)
    ended(routine, slot, idempotency_key=slot_key(routine.pk, slot, 1))
    page = press(operator, verb_url(routine, "backfill"), **stretch(3, 1))
    assert (len(page.context["plan"].slots), page.context["plan"].ran) == (3, {"SUCCESS": 1})
    assert "Make 3 runs" in page.content.decode()
    assert RoutineRun.objects.count() == 1
    made = operator.post(verb_url(routine, "backfill"), shown_in(page), follow=True)
    assert told(made) == ["Asked for 3 runs of nightly-report, one for each slot of the stretch."]
    assert made.context["status"].counts == {"PENDING": 3}
    assert RoutineRun.objects.filter(trigger="backfill", requested_by="root").count() == 3


def test_another_stretch_than_the_one_that_was_counted_is_counted_again(operator: Client, routine: Routine) -> None:
    """What is confirmed is what was shown, also when it is as many."""
    page = press(operator, verb_url(routine, "backfill"), **stretch(3, 1))
    again = operator.post(verb_url(routine, "backfill"), shown_in(page) | stretch(4, 2))
    assert len(again.context["plan"].slots) == 3
    assert not RoutineRun.objects.exists()


@pytest.mark.parametrize(("first", "last", "said"), [(2, -9, "past"), (1, 3, "not before start")])
def test_what_is_refused_is_refused_at_the_count(
    operator: Client, routine: Routine, first: int, last: int, said: str
) -> None:
    """At its field."""
    page = operator.post(verb_url(routine, "backfill"), stretch(first, last))
    assert said in page.context["form"].errors["end"][0]


def test_a_stretch_without_a_slot_makes_nothing(operator: Client) -> None:
    """It is said at the field, and no empty batch is made."""
    yearly = make_routine("yearly", cron="0 0 29 2 *", timezone="UTC")
    page = operator.post(verb_url(yearly, "backfill"), stretch(3, 1))
    assert "No slot" in page.context["form"].errors["end"][0]


def test_of_each_slot_the_newest_attempt_counts(operator: Client, routine: Routine) -> None:
    """A retry stands for its chain; other runs of the routine, and other backfills, are not counted."""
    batch, runs = backfilled(routine)
    backfilled(routine)
    now = clock.now()
    RoutineRun.objects.filter(pk=runs[0].pk).update(status="FAILED", started_at=now, completed_at=now)
    make_run(routine, at=now, chain=runs[0].pk, attempt=2, status="RUNNING", started_at=now, trigger="retry")
    status = service.backfill_status(routine, batch)
    assert (status.counts, status.ended, status.requested_by) == ({"RUNNING": 1, "PENDING": 2}, 0, "ann")
    assert operator.get(batch_url(routine, batch, "_live"))["X-Routines-Status"] == "waiting"


def test_what_waits_is_cancelled_and_what_runs_goes_on(operator: Client, routine: Routine) -> None:
    """Of this backfill, its retries included; another one waits on."""
    batch, runs = backfilled(routine)
    other, _ = backfilled(routine)
    now = clock.now()
    RoutineRun.objects.filter(pk=runs[0].pk).update(status="RUNNING", started_at=now)
    page = operator.post(batch_url(routine, batch), follow=True)
    assert told(page) == ["Cancelled 2 runs of a backfill of nightly-report that waited."]
    assert page.context["status"].counts == {"RUNNING": 1, "CANCELLED": 2}
    assert not page.context["may_cancel"]
    assert service.backfill_status(routine, other).counts == {"PENDING": 3}


def test_it_is_kept_fresh_by_one_script(operator: Client, routine: Routine) -> None:
    """Two would ask twice as often, and tell of old data in two places."""
    batch, _ = backfilled(routine)
    page = operator.get(batch_url(routine, batch)).content.decode()
    assert page.count("routines/live.js") == 1
    assert page.count("data-live-note") == 1


def test_cancelling_needs_its_permission(login: Login, routine: Routine) -> None:
    """To look is not to cancel."""
    batch, _ = backfilled(routine)
    eve = login("view_routine", "view_routinerun", name="eve")
    assert "Cancel what waits" not in eve.get(batch_url(routine, batch)).content.decode()
    assert eve.post(batch_url(routine, batch)).status_code == 403


@pytest.mark.parametrize("batch", ["nothing", "0" * 18, "f" * 40, "019a93d5c5e0abcdef"])
def test_a_batch_that_is_none_is_not_found(operator: Client, routine: Routine, batch: Any) -> None:
    """Whatever is typed into the address."""
    assert operator.get(batch_url(routine, batch)).status_code == 404
    assert operator.post(batch_url(routine, batch)).status_code == 404
