"""Nothing serious for axe-core on any page, and contrast enough in either theme."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import Page

from routines_app import service
from routines_app.models import RotationMember, RoutineRun
from tests.browser.rotation_scene import a_rotation_at_work, a_tick
from tests.browser.scenes import a_working_day, backfilled, what_if

SERIOUS = {"serious", "critical"}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_no_page_has_a_serious_finding(
    open_page: Callable[..., Page], make_user: Callable[..., User], dark: bool
) -> None:
    """Our own parts of each page are usable by everyone; the stock admin around them is Django's."""
    routine = a_working_day()
    run = RoutineRun.objects.get(status="RUNNING")
    rotation = a_rotation_at_work()
    member = RotationMember.objects.filter(status="IN_FLIGHT").earliest("pk")
    pool, batch = service.drain_pool("warehouse"), service.pause_batch("sale", tag="reports", reason="a sale")
    failed = RoutineRun.objects.filter(status="FAILED").first()
    told = routine.runs.filter(status="SUCCESS").latest("pk")  # a slot whose answer leads to its run
    assert failed is not None
    addresses = [
        reverse("admin:routines_routine_changelist"),
        reverse("admin:routines_routine_overview", args=[routine.pk]),
        reverse("admin:routines_routine_overview", args=[routine.pk]) + "?" + urlencode({"why": told.scheduled_for}),
        reverse("admin:routines_routine_history", args=[routine.pk]),
        reverse("admin:routines_routine_change", args=[routine.pk]),
        reverse("admin:routines_routine_changelist") + "?health=failing&tag=reports&tag=night",
        reverse("admin:routines_routine_copy", args=[routine.pk]),
        backfilled(routine),
        reverse("admin:routines_routine_verb", args=[routine.pk, "pause"]),
        reverse("admin:routines_routinerun_changelist"),
        reverse("admin:routines_routinerun_changelist") + "?slot=soon&worker=w&final=1",
        reverse("admin:routines_run_groups"),
        reverse("admin:routines_run_many", args=["retry"]),
        reverse("admin:routines_run_many", args=["cancel"]),
        reverse("admin:routines_routinerun_change", args=[run.pk]),
        reverse("admin:routines_routinerun_change", args=[failed.pk]),
        reverse("admin:routines_routine_overview", args=[routine.pk]) + "?window=7d",
        reverse("admin:routines_agenda"),
        reverse("admin:routines_fleet"),
        reverse("admin:routines_pool_changelist"),
        reverse("admin:routines_pool_add"),
        reverse("admin:routines_pool_change", args=[pool.pk]),
        reverse("admin:routines_pool_verb", args=[pool.pk, "stop"]),
        reverse("admin:routines_batches"),
        reverse("admin:routines_batch_new") + "?filter=status__exact%3DACTIVE",
        reverse("admin:routines_batch", args=[batch.pk]),
        reverse("admin:routines_fleet_verb", args=["clear-overrides"]),
        reverse("admin:routines_plan"),
        reverse("admin:routines_plan") + what_if(),
        reverse("admin:routines_routine_verb", args=[routine.pk, "hint-factor"]),
        reverse("admin:routines_rotation_changelist"),
        reverse("admin:routines_rotation_overview", args=[rotation.pk]),
        reverse("admin:routines_rotation_change", args=[rotation.pk]),
        reverse("admin:routines_rotation_verb", args=[rotation.pk, "archive"]),
        reverse("admin:routines_routine_overview", args=[member.pk]),
        reverse("admin:routines_routinerun_change", args=[member.run]),
        reverse("admin:routines_routinerun_change", args=[a_tick(rotation).pk]),
        "/shop/",
    ]
    # axe is put into the page as an inline script, which is just what the policy forbids.
    page = open_page(make_user(), addresses[0], bypass_csp=True, dark=dark)
    rules = ["color-contrast"] if dark else []  # the theme changes nothing else
    found = {address: _serious(page, address, rules) for address in addresses}
    assert {address: findings for address, findings in found.items() if findings} == {}


def _serious(page: Page, address: str, rules: list[str]) -> list[str]:
    """By the rules that are named, or by all."""
    page.goto(address)
    if page.locator("[data-preview]").count():
        page.locator("[data-preview] table").wait_for()
    options = {"resultTypes": ["violations"]} | ({"runOnly": rules} if rules else {})
    response: Any = Axe().run(page, context={"include": [["main"]]}, options=options).response
    return [
        f"{violation['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
        for violation in response["violations"]
        if violation["impact"] in SERIOUS
        for node in violation["nodes"][:3]
    ]
