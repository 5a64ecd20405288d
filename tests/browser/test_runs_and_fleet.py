"""The page of a run, the fleet, and the button of a project's own page, in a browser."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import Page, expect

from routines_app.models import RoutineRun, RunLog
from routines_app.protocol.ledger import clock
from tests.browser.scenes import a_working_day, ended, make_routine, make_run

Open = Callable[..., Page]
MakeUser = Callable[..., User]


def page_of(run: RoutineRun) -> str:
    return reverse("admin:routines_routinerun_change", args=[run.pk])


def test_a_running_run_updates_itself_until_it_ends(open_page: Open, make_user: MakeUser) -> None:
    """Progress and log follow; when the run ends, the page is that of an ended run."""
    now = clock.now()
    run = make_run(make_routine(), at=now, status="RUNNING", started_at=now, progress={"done": 1, "total": 4})
    page = open_page(make_user(), page_of(run))
    expect(page.get_by_text("1 of 4 (25 %)", exact=True)).to_be_visible()
    RoutineRun.objects.update(progress={"done": 3, "total": 4, "note": "nearly"})
    RunLog.objects.create(run=run, at=now, line="third part done")
    expect(page.get_by_text("3 of 4 (75 %) · nearly")).to_be_visible()
    expect(page.get_by_text("third part done")).to_be_visible()
    RoutineRun.objects.update(status="SUCCESS", completed_at=clock.now(), result={"rows": 12})
    expect(page.get_by_role("heading", name="nightly-report Success")).to_be_visible()
    expect(page.get_by_text('"rows": 12')).to_be_visible()
    expect(page.get_by_role("link", name="Cancel")).to_have_count(0)


def test_a_waiting_run_is_cancelled(open_page: Open, make_user: MakeUser) -> None:
    """A page asks why; afterwards the run is cancelled."""
    run = make_run(make_routine(), at=clock.now())
    page = open_page(make_user(), page_of(run))
    page.get_by_role("link", name="Cancel").click()
    page.get_by_label("Why").fill("wrong month")
    page.get_by_role("button", name="Cancel this run").click()
    expect(page.locator(".messagelist")).to_contain_text("Cancelled the run")
    assert RoutineRun.objects.get().status == "CANCELLED"


def test_a_failed_run_is_retried(open_page: Open, make_user: MakeUser) -> None:
    """One click, and the page of the new run."""
    run = ended(make_routine(), clock.now(), status="FAILED", reason="exception", error="ValueError: no")
    page = open_page(make_user(), page_of(run))
    page.get_by_role("button", name="Retry").click()
    expect(page.locator(".messagelist")).to_contain_text("with the same arguments")
    assert RoutineRun.objects.count() == 2


def test_a_run_is_run_again_with_its_arguments(open_page: Open, make_user: MakeUser) -> None:
    """The form starts with what the run had."""
    run = ended(make_routine(), clock.now(), args=["march"], kwargs={})
    page = open_page(make_user(), page_of(run))
    page.get_by_role("link", name="Run again with these arguments").click()
    box = page.get_by_label("Arguments:", exact=True)
    box.fill(box.input_value().replace("march", "april"))
    page.get_by_role("button", name="Run now").click()
    expect(page.locator(".messagelist")).to_contain_text("Asked for a run")
    assert RoutineRun.objects.exclude(pk=run.pk).get().args == ["april"]


def test_the_fleet_updates_itself_and_can_be_paused(open_page: Open, make_user: MakeUser) -> None:
    """What ends disappears; a person who wants to read can stop the updates."""
    a_working_day()
    page = open_page(make_user(), reverse("admin:routines_fleet"))
    running = page.locator(".rt-card", has_text="Running now")
    expect(running).to_contain_text("sync-orders")
    RoutineRun.objects.filter(status="RUNNING").update(status="SUCCESS", completed_at=clock.now(), running_key=None)
    expect(running).to_contain_text("Nothing is running.")
    page.get_by_role("button", name="Pause updates").click()
    expect(page.get_by_role("status")).to_have_text("Updates are paused.")


def test_the_button_on_a_projects_own_page_follows_its_run(open_page: Open, make_user: MakeUser) -> None:
    """One click runs, and the words beside the button follow the run to its end."""
    make_routine()
    page = open_page(make_user(), "/shop/")
    page.get_by_role("button", name="Run now").click()
    expect(page.get_by_role("status")).to_have_text("Waiting …")
    run = RoutineRun.objects.get()
    now = clock.now()
    RoutineRun.objects.filter(pk=run.pk).update(status="RUNNING", started_at=now, progress={"done": 1, "total": 2})
    expect(page.get_by_role("status")).to_have_text("Running … 50 %")
    RoutineRun.objects.filter(pk=run.pk).update(status="SUCCESS", completed_at=now)
    expect(page.get_by_role("status")).to_have_text("Done")
    expect(page.get_by_role("button", name="Run now")).to_be_enabled()
