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

from routines_app.models import Node, Role, RoutineState
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
        expect(bar.locator("time").first).to_have_text("12 min ago")
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
