"""The health bar and pages that keep themselves fresh, in a browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.urls import reverse
from playwright.sync_api import Page, Route, expect

from routines_app.admin import due_markup
from routines_app.models import Node, Role, RoutineRun, RoutineState
from routines_app.protocol.ledger import clock
from routines_app.verbs.health.notices import ask
from tests.browser.rotation_scene import make_rotation
from tests.browser.scenes import a_working_day, ended, make_routine, make_run

Open = Callable[..., Page]
MakeUser = Callable[..., User]
Picture = Callable[[Page, str], Path]
LIST = "admin:routines_routine_changelist"
DEAD = "No beat is alive, and"


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A busy machine may take its time to answer."""
    monkeypatch.setattr(ask, "SECONDS", 60.0)
    cache.clear()
    yield
    cache.clear()


def kill_the_fleet(minutes: int = 12) -> None:
    """Beat and worker have left their rows behind, and everything is overdue."""
    gone = clock.now() - timedelta(minutes=minutes)
    Node.objects.update(seen_at=gone)
    RoutineState.objects.filter(next_run_at__isnull=False).update(next_run_at=gone)


def test_a_dead_fleet_is_red_on_every_page(open_page: Open, make_user: MakeUser, picture: Picture) -> None:
    """Also on the admin's own index; since when, and how many routines are overdue."""
    routine = a_working_day()
    rotation = make_rotation()
    kill_the_fleet()
    page = open_page(make_user(), reverse("admin:index"))
    addresses = [
        reverse("admin:index"),
        *(reverse(f"admin:routines_{model}_changelist") for model in ("routine", "routinerun", "pool", "rotation")),
        *(reverse(f"admin:routines_{model}_add") for model in ("routine", "pool", "rotation")),
        *(reverse(f"admin:routines_{name}") for name in ("fleet", "plan")),
        *(reverse(f"admin:routines_routine_{name}", args=[routine.pk]) for name in ("overview", "change", "history")),
        reverse("admin:routines_rotation_overview", args=[rotation.pk]),
        reverse("admin:routines_routine_verb", args=[routine.pk, "pause"]),
    ]
    for address in addresses:
        page.goto(address)
        bar = page.get_by_role("region", name="Health of the fleet")
        expect(bar.locator(".rt-level-alarm").first).to_contain_text(DEAD)
        expect(bar.locator("time").first).to_contain_text("12 min ago")
        expect(bar.locator("time").first).to_contain_text("EST")  # the browser's zone, on the index too
    page.goto(reverse("admin:routines_fleet"))
    expect(page.get_by_text("All is well")).to_have_count(0)
    expect(page.locator(".rt-tile", has_text="Late, last hour")).to_contain_text("due and not started")
    picture(page, "health-dead-fleet")


def test_the_bar_turns_by_itself(open_page: Open, make_user: MakeUser, monkeypatch: pytest.MonkeyPatch) -> None:
    """A form is open for long: its bar must not stay green."""
    monkeypatch.setattr(ask, "KEPT_SECONDS", 0.1)
    now = clock.now()
    for role in Role:
        facts = {"host": "a", "pid": 1, "started_at": now, "seen_at": now}
        Node.objects.create(name=f"{role}@a:1", role=role, **facts)
    make_routine()
    page = open_page(make_user(), reverse("admin:routines_routine_add"))
    expect(page.get_by_text("All is well: 1 beat and 1 worker are there, and nothing is overdue.")).to_be_visible()
    page.locator("#id_name").fill("half a na")
    kill_the_fleet()
    expect(page.get_by_text(DEAD)).to_be_visible()
    expect(page.locator("#id_name")).to_have_value("half a na")


def test_the_list_refreshes_itself_and_leaves_what_a_person_does(open_page: Open, make_user: MakeUser) -> None:
    """A chosen row, typed text and an open choice stay; another order moves the rows and their boxes together."""
    alpha, beta = make_routine("alpha", interval_ms=3_600_000), make_routine("beta", interval_ms=7_200_000)
    page = open_page(make_user(), reverse(LIST) + "?o=4")
    rows = page.locator("#result_list tbody tr")
    expect(rows.first).to_contain_text("alpha")
    page.get_by_role("row", name="alpha").get_by_role("checkbox").check()
    page.get_by_label("Search", exact=True).fill("bet")
    page.get_by_label("Why:").fill("because")
    RoutineState.objects.filter(pk=alpha.pk).update(failure_count=3)
    RoutineState.objects.filter(pk=beta.pk).update(next_run_at=clock.now() - timedelta(minutes=3, seconds=30))
    gamma = make_routine("gamma", interval_ms=9_000_000)
    expect(rows).to_have_count(3)
    expect(page.get_by_role("row", name="alpha")).to_contain_text("3 failed")
    expect(page.get_by_role("row", name="beta")).to_contain_text("overdue by 3 min")
    expect(page.get_by_role("row", name="beta")).to_contain_text("Active, overdue")
    expect(rows.first).to_contain_text("beta")
    chosen = page.locator("input.action-select:checked")
    expect(chosen).to_have_count(1)
    expect(chosen).to_have_attribute("value", str(alpha.pk))
    expect(page.locator("tr.selected")).to_contain_text("alpha")
    expect(page.get_by_label("Search", exact=True)).to_have_value("bet")
    expect(page.get_by_label("Search", exact=True)).not_to_be_focused()
    expect(page.get_by_label("Why:")).to_be_focused()
    expect(page.get_by_label("Why:")).to_have_value("because")
    assert str(gamma.pk) in page.locator("input.action-select").evaluate_all("boxes => boxes.map((box) => box.value)")


def test_the_page_of_a_routine_refreshes_itself(open_page: Open, make_user: MakeUser) -> None:
    """New runs come in; scroll and selected text stay."""
    routine, now = make_routine(interval_ms=3_600_000), clock.now()
    for minutes in range(40):
        ended(routine, now - timedelta(minutes=minutes))
    page = open_page(make_user(), reverse("admin:routines_routine_overview", args=[routine.pk]))
    page.evaluate("window.scrollTo(0, 300); document.querySelector('[aria-labelledby=rt-ledger]').scrollTop = 120")
    page.evaluate("document.getSelection().selectAllChildren(document.querySelector('.rt-facts code'))")
    ledger = page.get_by_role("region", name="Ledger")
    make_run(routine, at=clock.now(), status="SKIPPED", reason="overlap", completed_at=now)
    RoutineState.objects.update(next_run_at=now - timedelta(minutes=2, seconds=30))
    expect(ledger.locator("tbody tr").first).to_contain_text("Skipped")
    expect(page.locator("h1")).to_contain_text("Active, overdue")
    expect(page.locator(".rt-tile", has_text="Next fire")).to_contain_text("overdue by 2 min")
    assert page.evaluate("document.getSelection().toString()") == routine.task
    assert page.evaluate("[window.scrollY, document.querySelector('[aria-labelledby=rt-ledger]').scrollTop > 100]") == [
        300,
        True,
    ]


def test_a_list_may_become_empty_and_fill_again(open_page: Open, make_user: MakeUser) -> None:
    """The last run that matched a filter has ended: nobody sees it running for ever."""
    routine = make_routine(interval_ms=3_600_000)
    run = make_run(routine, at=clock.now(), status="RUNNING", started_at=clock.now())
    page = open_page(make_user(), reverse("admin:routines_routinerun_changelist") + "?status=RUNNING")
    rows = page.locator("#result_list tbody tr")
    expect(rows).to_have_count(1)
    page.get_by_label("Routine or run").fill("night")
    RoutineRun.objects.filter(pk=run.pk).update(status="SUCCESS", completed_at=clock.now())
    expect(rows).to_have_count(0)
    expect(page.get_by_text("0 runs")).to_be_visible()
    RoutineRun.objects.filter(pk=run.pk).update(status="RUNNING", completed_at=None)
    expect(rows).to_have_count(1)
    expect(page.get_by_label("Routine or run")).to_have_value("night")


def test_a_time_turns_red_when_it_is_overdue(
    open_page: Open, make_user: MakeUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time is the same, and what is said of it is not."""
    monkeypatch.setattr(due_markup, "GRACE", timedelta(hours=1))
    make_routine("alpha", interval_ms=3_600_000)
    RoutineState.objects.update(next_run_at=clock.now() - timedelta(minutes=2, seconds=30))
    page = open_page(make_user(), reverse(LIST))
    expect(page.get_by_role("row", name="alpha").locator("td.field-next_fire time")).to_contain_text("2 min ago")
    monkeypatch.setattr(due_markup, "GRACE", timedelta(seconds=5))
    late = page.get_by_role("row", name="alpha").locator("td.field-next_fire time.rt-late")
    expect(late).to_contain_text("overdue by 2 min")


@pytest.mark.parametrize("answer", ["login", "nothing"])
def test_a_page_whose_data_is_old_says_so(open_page: Open, make_user: MakeUser, answer: str) -> None:
    """The person has been logged out, or the server answers no more. When it does again, the words go."""
    make_routine("alpha")
    page = open_page(make_user(), reverse(LIST))
    page.clock.install()

    def refuse(route: Route) -> None:
        if route.request.resource_type != "fetch":
            route.continue_()
        elif answer == "login":
            route.fulfill(status=302, headers={"Location": reverse("admin:login")})

    page.route("**/*", refuse)
    page.reload()
    note = page.get_by_role("status")
    page.clock.run_for(40_000)
    expect(note).to_contain_text("The data on this page is ")
    expect(note).to_contain_text("You may have been logged out." if answer == "login" else " s old.")
    page.unroute("**/*")
    page.clock.run_for(20_000)
    expect(note).to_have_count(0)
