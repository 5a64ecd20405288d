"""Pictures of every page, light and dark, for people to look at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import Page, expect

from routines_app import service
from routines_app.models import Routine, RoutineRun
from tests.browser.scenes import a_working_day, backfilled, what_if

PHONE = {"width": 390, "height": 844}
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_every_page_can_be_looked_at(
    open_page: Callable[..., Page], make_user: Callable[..., User], picture: Callable[[Page, str], Path], look: str
) -> None:
    """Each page renders with real-looking data, without an error, in both themes; on a telephone none is too wide."""
    routine = a_working_day()
    run = RoutineRun.objects.get(status="RUNNING")
    failed = RoutineRun.objects.filter(status="FAILED", attempt=1).first()
    assert failed is not None
    paused = Routine.objects.get(name="push-to-crm")
    batch = service.pause_batch("sale", tag="reports", reason="a sale")
    pool = service.drain_pool("mail")
    pages = {
        "routines": reverse("admin:routines_routine_changelist"),
        "routine": reverse("admin:routines_routine_overview", args=[routine.pk]),
        "routine-form": reverse("admin:routines_routine_change", args=[routine.pk]),
        "routine-pause": reverse("admin:routines_routine_verb", args=[routine.pk, "pause"]),
        "routine-resume": reverse("admin:routines_routine_verb", args=[paused.pk, "resume"]),
        "runs": reverse("admin:routines_routinerun_changelist"),
        "run-running": reverse("admin:routines_routinerun_change", args=[run.pk]),
        "run-failed": reverse("admin:routines_routinerun_change", args=[failed.pk]),
        "routine-week": reverse("admin:routines_routine_overview", args=[routine.pk]) + "?window=7d",
        "routine-why": reverse("admin:routines_routine_overview", args=[routine.pk]) + "?why=03:00",
        "routine-history": reverse("admin:routines_routine_history", args=[routine.pk]),
        "routine-copy": reverse("admin:routines_routine_copy", args=[routine.pk]),
        "routine-backfill": reverse("admin:routines_routine_verb", args=[routine.pk, "backfill"]),
        "backfill": backfilled(routine),
        "routines-filtered": reverse("admin:routines_routine_changelist") + "?status__exact=ACTIVE&tag=shop",
        "runs-filtered": reverse("admin:routines_routinerun_changelist") + "?status=FAILED&range=24h",
        "run-groups": reverse("admin:routines_run_groups"),
        "runs-retry": reverse("admin:routines_run_many", args=["retry"]) + "?range=24h",
        "runs-cancel": reverse("admin:routines_run_many", args=["cancel"]),
        "batches": reverse("admin:routines_batches"),
        "batch": reverse("admin:routines_batch", args=[batch.pk]),
        "batch-new": reverse("admin:routines_batch_new") + "?filter=status__exact%3DACTIVE",
        "pool-drained": reverse("admin:routines_pool_change", args=[pool.pk]),
        "pool-stop": reverse("admin:routines_pool_verb", args=[pool.pk, "stop"]),
        "index": reverse("admin:index"),
        "agenda": reverse("admin:routines_agenda"),
        "agenda-day": reverse("admin:routines_agenda") + "?window=1d",
        "fleet": reverse("admin:routines_fleet"),
        "pools": reverse("admin:routines_pool_changelist"),
        "pool": reverse("admin:routines_pool_add"),
        "clear-overrides": reverse("admin:routines_fleet_verb", args=["clear-overrides"]),
        "hint-factor": reverse("admin:routines_routine_verb", args=[routine.pk, "hint-factor"]),
        "plan": reverse("admin:routines_plan"),
        "what-if": reverse("admin:routines_plan") + what_if(),
        "what-if-wrong": reverse("admin:routines_plan") + "?routine=sync-orders&cron=61+*+*+*+*&paused=nobody",
    }
    page = open_page(make_user(), pages["routines"], dark=look == "dark")
    if look == "phone":
        page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    too_wide = {}
    for name, address in pages.items():
        response = page.goto(address)
        assert response is not None
        assert response.ok, name
        if name == "routine-form":
            page.locator("[data-preview] table").wait_for()
        if name == "run-failed":
            expect(page.get_by_text("Admitted", exact=True)).to_be_visible()
        picture(page, f"{name}-{look}")
        too_wide[name] = page.evaluate(TOO_WIDE)
    assert {name: pixels for name, pixels in too_wide.items() if pixels} == {}
