"""The plan of leases, and what another policy would change."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from routines_app.admin.plan_page import difference_in_words
from routines_app.models import Pool, Routine, RoutineRun
from routines_app.protocol.ledger import clock
from tests.browser.scenes import make_routine, make_run
from tests.integration.admin.pages import text_of
from tests.integration.conftest import Login

PLAN = "admin:routines_plan"
MINUTE = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def _nothing_shared() -> None:
    """The plan of a test before."""
    cache.clear()


@pytest.fixture
def pool() -> Pool:
    """Full with one run, and two wait."""
    pool, at = Pool.objects.create(name="db", max_concurrent=1), clock.now() - MINUTE
    for name in ("first", "second"):
        routine = make_routine(name, pool=pool)
        make_run(routine, at=at, pool=pool, reason="ceiling", publish_after=at)
    running = make_routine("runs", pool=pool)
    make_run(
        running, at=at, status="RUNNING", pool=pool, started_at=at, admitted_at=at, dispatched_at=at, heartbeat_at=at
    )
    return pool


def ask(client: Client, **typed: Any) -> Any:
    return client.get(reverse(PLAN), typed)


def verdicts(page: Any) -> dict[str, str]:
    return {one.name: str(one.verdict) for one in page.context["plan"].decisions}


def test_the_plan_says_what_becomes_of_each_and_why(operator: Client, pool: Pool) -> None:
    """Held runs are in it; nothing is asked, so nothing is different."""
    page = ask(operator)
    found = verdicts(page)
    assert (found["first"], found["second"]) == ("hold", "hold")
    text = text_of(operator, reverse(PLAN))
    assert "What would be different" not in text
    assert all(one.why in text for one in page.context["plan"].decisions)
    assert reverse(PLAN) in text_of(operator, reverse("admin:routines_fleet"))


def test_another_ceiling_is_asked_about(operator: Client, pool: Pool) -> None:
    """The differences come first, in plain words; nothing is written and the address is the question."""
    before = list(RoutineRun.objects.values())
    page = ask(operator, **{f"ceiling_{pool.pk}": "3"})
    assert verdicts(page) == {"first": "start", "second": "start"}
    assert {one.name for one, _ in page.context["differences"]} == {"first", "second"}
    text = " ".join(page.content.decode().split())
    assert text.index("would start instead of hold") < text.index("All decisions")
    assert 'value="3"' in text
    assert list(RoutineRun.objects.values()) == before
    assert Pool.objects.get().max_concurrent == 1


def test_a_changed_policy_without_an_effect_says_so(operator: Client, pool: Pool) -> None:
    """Not an empty table."""
    page = ask(operator, routine="first", concurrency="FORBID")
    assert "the same would happen as now" in page.content.decode()


def test_every_field_reaches_the_plan(operator: Client, pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fields say more than the same part of the JSON, and lists come together."""
    from routines_app import service

    asked: dict[str, Any] = {}
    real = service.plan_leases

    def spy(**how: Any) -> Any:
        asked.update(how)
        return real(**how)

    monkeypatch.setattr(service, "plan_leases", spy)
    typed = {"paused": "first", "routine": "second", "priority": "HIGH", "concurrency": "QUEUE", "every": "10m"}
    typed |= {"pool": "db", f"ceiling_{pool.pk}": "2", "more": '{"paused": ["runs"], "pools": {"db": 7}}'}
    assert not ask(operator, **typed).context["form"].errors
    assert asked["pools"] == ["db"]
    assert asked["what_if"] == {
        "paused": ["runs", "first"],
        "pools": {"db": 2},
        "priorities": {"second": "HIGH"},
        "concurrency": {"second": "QUEUE"},
        "schedules": {"second": {"every": "10m"}},
    }


@pytest.mark.parametrize(
    ("typed", "field"),
    [
        ({"paused": "nope"}, "paused"),
        ({"resumed": "nope, first"}, "resumed"),
        ({"paused": "first", "resumed": "first"}, "resumed"),
        ({"routine": "nope", "priority": "HIGH"}, "routine"),
        ({"priority": "HIGH"}, "routine"),
        ({"routine": "old", "priority": "HIGH"}, "routine"),
        ({"routine": "first", "cron": "61 * * * *"}, "cron"),
        ({"routine": "first", "every": "5"}, "every"),
        ({"routine": "first", "every": "5m", "cron": "* * * * *"}, "every"),
        ({"routine": "first", "priority": "URGENT"}, "priority"),
        ({"ceiling": "many"}, "ceiling"),
        ({"ceiling": "-3"}, "ceiling"),
        ({"more": "{"}, "more"),
        ({"more": "[]"}, "more"),
        ({"more": '{"ceilings": {}}'}, "more"),
        ({"more": '{"pools": {"nope": 3}}'}, "more"),
        ({"more": '{"priorities": {"first": "URGENT"}}'}, "more"),
        ({"now": "yesterday"}, "now"),
        ({"pool": "nope"}, "pool"),
    ],
)
def test_bad_input_is_one_error_at_its_field_and_what_was_typed_stays(
    operator: Client, pool: Pool, typed: dict[str, str], field: str
) -> None:
    """Beside the field; no plan pretends to be an answer."""
    make_routine("old", status="ARCHIVED")
    own = f"ceiling_{pool.pk}"
    page = ask(operator, **{own if name == "ceiling" else name: value for name, value in typed.items()})
    assert page.status_code == 200
    form = page.context["form"]
    at = own if field == "ceiling" else field
    assert list(form.errors) == [at], form.errors
    assert len(form.errors[at]) == 1
    assert "plan" not in page.context
    for name, value in typed.items():
        assert form[own if name == "ceiling" else name].value() == value


def test_looking_is_for_those_who_may_view(login: Login, viewer: Client, pool: Pool) -> None:
    """A viewer asks too: nothing is written. Others get nothing."""
    assert ask(viewer, **{f"ceiling_{pool.pk}": "3"}).status_code == 200
    assert ask(login(name="nobody")).status_code == 403


def test_names_are_escaped(operator: Client) -> None:
    """Of routines and pools, wherever they stand."""
    evil = "<script>alert(1)</script>"
    pool, at = Pool.objects.create(name=evil, max_concurrent=1), clock.now() - MINUTE
    make_run(make_routine(evil, pool=pool), at=at, pool=pool, reason="ceiling", publish_after=at)
    for page in (ask(operator), ask(operator, paused=evil), ask(operator, paused=f"{evil}!", routine=evil)):
        assert evil not in page.content.decode()
    assert Routine.objects.count() == 1


@pytest.mark.parametrize(
    ("now", "then", "words"),
    [
        ("hold", "start", "would start instead of hold"),
        (None, "start", "would start; now it is not there"),
        ("start", None, "would not be there; now: start"),
    ],
)
def test_a_difference_is_said_in_words(now: str | None, then: str | None, words: str) -> None:
    """Both ways, and for what is there only under one of the policies."""
    assert difference_in_words(now, then) == words


def test_the_present_plan_is_shared_for_a_moment_and_what_is_asked_about_is_not(
    operator: Client, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says of when it is."""
    monkeypatch.setattr("routines_app.admin.plan_page.SHARED_SECONDS", 600)  # however slow the machine is
    first = ask(operator)
    Routine.objects.filter(name="second").update(status="PAUSED")
    assert ask(operator).context["plan"] == first.context["plan"]
    changed = ask(operator, **{f"ceiling_{pool.pk}": "3"})
    assert verdicts(changed) == {"first": "start", "second": "hold"}
