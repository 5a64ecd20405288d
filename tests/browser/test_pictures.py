"""Pictures of every page, light and dark, for people to look at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import Page

from routines_app.models import Routine, RoutineRun
from tests.browser.scenes import a_working_day, what_if


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_page_can_be_looked_at(
    open_page: Callable[..., Page], make_user: Callable[..., User], picture: Callable[[Page, str], Path], dark: bool
) -> None:
    """Each page renders with real-looking data, without an error, in both themes."""
    routine = a_working_day()
    run = RoutineRun.objects.get(status="RUNNING")
    failed = RoutineRun.objects.filter(status="FAILED", attempt=1).first()
    assert failed is not None
    paused = Routine.objects.get(name="push-to-crm")
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
    page = open_page(make_user(), pages["routines"], dark=dark)
    for name, address in pages.items():
        response = page.goto(address)
        assert response is not None
        assert response.ok, name
        if name == "routine-form":
            page.locator("[data-preview] table").wait_for()
        picture(page, f"{name}-{'dark' if dark else 'light'}")
