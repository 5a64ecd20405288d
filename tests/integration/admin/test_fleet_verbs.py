"""The verbs of the queue do what their page has shown, to that pool and to no other."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from routines_app import service
from routines_app.admin import fleet_verbs
from routines_app.models import Pool, Routine, RoutineRun, new_run_id
from routines_app.verbs import clear_overrides
from tests.integration.admin.pages import last_entry, press, shown_in, told
from tests.integration.conftest import MONDAY, Time
from tests.integration.verbs.rows import waiting_run

Make = Callable[..., Routine]

pytestmark = pytest.mark.usefixtures("time")

FLEET = "admin:routines_fleet"
ASKED: dict[str, Any] = {
    "trigger": "manual",
    "requested_at": MONDAY,
    "admitted_at": None,
    "publish_after": None,
    "reason": "ceiling",
}


def verb_page(verb: str, pool: str = "") -> str:
    return reverse("admin:routines_fleet_verb", args=[verb]) + (f"?pool={pool}" if pool else "")


def cancelled() -> set[str]:
    return set(RoutineRun.objects.filter(status="CANCELLED").values_list("routine__name", flat=True))


@pytest.fixture
def two_pools(make: Make) -> tuple[Pool, Pool]:
    """Each with a routine of its name, for which somebody has asked."""
    one, other = (service.create_pool(name, max_concurrent=1) for name in ("one", "other"))
    for pool in (one, other):
        waiting_run(make(pool.name, pool=pool), pool.pk, pool=pool, **ASKED)
    return one, other


def test_clearing_one_of_many_pools_clears_that_one(make: Make, operator: Client) -> None:
    """Also of a pool that is too far down for any list."""
    Pool.objects.bulk_create(Pool(name=f"a{number:03}", max_concurrent=1) for number in range(100))
    last, other = service.create_pool("zz", max_concurrent=1), Pool.objects.get(name="a000")
    waiting_run(make("mine", pool=last), 1, pool=last, **ASKED)
    waiting_run(make("theirs", pool=other), 2, pool=other, **ASKED)
    press(operator, verb_page("clear-overrides", "zz"))
    assert cancelled() == {"mine"}


@pytest.mark.parametrize("verb", sorted(fleet_verbs.QUEUE_VERBS))
@pytest.mark.parametrize("name", ["nope", "n%00l", "9" * 300])
def test_a_pool_that_is_not_there_is_not_all_of_them(
    operator: Client, two_pools: tuple[Pool, Pool], verb: str, name: str
) -> None:
    """Renamed or deleted while somebody looked at the fleet: the page says so, and has no button."""
    response = operator.get(verb_page(verb, name), follow=True)
    assert response.redirect_chain == [(reverse(FLEET), 302)]
    (said,) = told(response)
    assert "no pool has that name" in said or "give a Pool" in said
    assert len(said) < 500


def test_a_pool_that_was_renamed_after_its_page_was_shown_is_still_that_one(
    operator: Client, two_pools: tuple[Pool, Pool]
) -> None:
    """The page keeps the pool's id."""
    address = verb_page("clear-overrides", "one")
    page = operator.get(address)
    service.update_pool("one", name="uno")
    service.update_pool("other", name="one")
    response = operator.post(address, shown_in(page), follow=True)
    assert told(response) == ["Cancelled 1 waiting request of uno."]
    assert response.redirect_chain[-1][0] == f"{reverse(FLEET)}?pool=uno"
    assert cancelled() == {"one"}


@pytest.mark.parametrize("verb", sorted(fleet_verbs.QUEUE_VERBS))
def test_nothing_is_done_for_a_pool_that_is_gone(operator: Client, two_pools: tuple[Pool, Pool], verb: str) -> None:
    """Neither to others nor to a new one of its name."""
    empty = service.create_pool("empty", max_concurrent=1)
    address = verb_page(verb, "empty")
    page = operator.get(address)
    service.delete_pool(empty)
    (said,) = told(operator.post(address, shown_in(page), follow=True))
    assert "no pool has that id" in said
    assert RoutineRun.objects.filter(status="PENDING").count() == RoutineRun.objects.count() == 2


@pytest.mark.parametrize("sent", [{}, {"pool": ""}, {"pool": "one"}, {"pool": "9" * 40}, {"pool": "all"}])
@pytest.mark.parametrize("verb", sorted(fleet_verbs.QUEUE_VERBS))
def test_a_form_that_does_not_say_what_was_shown_does_nothing(
    operator: Client, two_pools: tuple[Pool, Pool], verb: str, sent: dict[str, str]
) -> None:
    """Which pool, or all; and when."""
    (said,) = told(operator.post(verb_page(verb), sent, follow=True))
    assert "is not accepted" in said
    assert RoutineRun.objects.filter(status="PENDING").count() == RoutineRun.objects.count() == 2


def test_the_stalest_of_one_pool_is_run(make: Make, operator: Client) -> None:
    """Not that of all."""
    service.create_pool("db", max_concurrent=1)
    make("elsewhere")
    make("here", pool="db")
    assert told(press(operator, verb_page("run-stalest", "db"))) == ["Asked for a run of here, the stalest."]


def test_the_page_lists_what_it_would_cancel(make: Make, operator: Client) -> None:
    """All requests of a routine and not its first alone; none that was sent."""
    pool = service.create_pool("db", max_concurrent=1)
    routine = make(pool=pool)
    waiting_run(routine, 0, pool=pool, **ASKED | {"admitted_at": MONDAY, "dispatched_at": MONDAY, "reason": ""})
    for number in (1, 2, 3):
        waiting_run(routine, number, pool=pool, **ASKED | {"requested_at": MONDAY - timedelta(seconds=number)})
    shown = operator.get(verb_page("clear-overrides")).context["requests"]
    assert shown.count == 3
    press(operator, verb_page("clear-overrides"))
    ended = RoutineRun.objects.filter(status="CANCELLED").order_by("requested_at")
    assert [request.run_id for request in shown.first] == [run.pk for run in ended]


def test_what_is_asked_for_after_the_page_was_shown_stays(
    make: Make, operator: Client, two_pools: tuple[Pool, Pool], time: Time
) -> None:
    """Whoever presses the button has not seen it."""
    page = operator.get(verb_page("clear-overrides"))
    now = time.pass_by(seconds=5)
    waiting_run(make("later"), 99, **ASKED | {"requested_at": now})
    time.pass_by(seconds=5)
    assert told(operator.post(verb_page("clear-overrides"), shown_in(page), follow=True)) == [
        "Cancelled 2 waiting requests."
    ]
    assert cancelled() == {"one", "other"}


def test_very_many_requests_are_cancelled_for_a_second_and_then_asked_about_again(
    make: Make, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One batch at least; the same button goes on with the rest."""
    monkeypatch.setattr(fleet_verbs, "SECONDS", -1.0)
    monkeypatch.setattr(clear_overrides, "CANCELLED_AT_ONCE", 2)
    routine = make()
    runs = RoutineRun.objects.bulk_create(
        RoutineRun(
            id=new_run_id(),
            routine=routine,
            task=routine.task,
            scheduled_for=MONDAY,
            eligible_at=MONDAY,
            idempotency_key=f"m:{number}",
            **ASKED,
        )
        for number in range(5)
    )
    page = press(operator, verb_page("clear-overrides"), reason="too many")
    assert told(page) == ["Cancelled 2 waiting requests.", "3 requests are left: confirm to go on with them."]
    assert last_entry().change_message == "Cancelled 2 waiting requests. Why: too many"
    assert page.context["requests"].count == 3
    page = operator.post(verb_page("clear-overrides"), shown_in(page), follow=True)
    assert told(page) == ["Cancelled 2 waiting requests.", "1 request is left: confirm to go on with it."]
    page = operator.post(verb_page("clear-overrides"), shown_in(page), follow=True)
    assert told(page) == ["Cancelled 1 waiting request."]
    assert RoutineRun.objects.filter(status="CANCELLED").count() == len(runs)
