"""The queue on the fleet page, and its two verbs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from routines_app import service
from routines_app.admin import fleet_queue
from routines_app.admin.fleet_verbs import QUEUE_VERBS
from routines_app.models import Pool, RoutineRun
from routines_app.protocol.ledger import clock
from tests.browser.scenes import make_routine, make_run
from tests.integration.admin.pages import last_entry, press, text_of, told
from tests.integration.conftest import Login

FLEET = "admin:routines_fleet"
MINUTE = timedelta(minutes=1)


def verb_page(verb: str) -> str:
    return reverse("admin:routines_fleet_verb", args=[verb])


@pytest.fixture
def busy() -> Pool:
    """A pool of one that is full, with an override and an automatic run that wait for it; and another pool."""
    pool, now = Pool.objects.create(name="db <1>", max_concurrent=1), clock.now()
    other = Pool.objects.create(name="other", max_concurrent=1)
    running = make_routine("runs", pool=pool)
    times = {"started_at": now - MINUTE, "admitted_at": now - MINUTE, "dispatched_at": now - MINUTE}
    make_run(running, at=now - MINUTE, status="RUNNING", worker="worker@web-2", pool=pool, **times)
    waiting(make_routine("asked", pool=pool), requested_by="<i>ada</i>", trigger="manual", requested_at=now)
    waiting(make_routine("nightly", pool=pool, priority="LOW"))
    waiting(make_routine("elsewhere", pool=other))
    return pool


def waiting(routine: Any, **fields: Any) -> RoutineRun:
    at = clock.now() - MINUTE
    return make_run(routine, at=at, pool=routine.pool, reason="ceiling", publish_after=at, **fields)


def test_the_queue_tells_what_runs_what_was_asked_for_and_what_comes_by_itself(operator: Client, busy: Pool) -> None:
    """Since when and where; by whom; band and staleness; and why each waits. Anybody's text is escaped."""
    page = operator.get(reverse(FLEET))
    facts = page.context
    assert [run.name for run in facts["now_running"].rows] == ["runs"]
    assert [run.name for run in facts["overrides"].rows] == ["asked"]
    assert {run.name for run in facts["automatic"].rows} == {"nightly", "elsewhere"}
    text = " ".join(page.content.decode().split())
    assert "worker@web-2" in text
    assert "&lt;i&gt;ada&lt;/i&gt;" in text
    assert "<td>low</td><td>never succeeded</td>" in text
    for run in (*facts["overrides"].rows, *facts["automatic"].rows):
        assert run.why
        assert run.why.replace("<", "&lt;").replace(">", "&gt;") in text.replace("&#x27;", "'")


def test_the_queue_of_one_pool_is_asked_for_by_its_name(operator: Client, busy: Pool) -> None:
    """The page, its live part and its buttons stay with that pool."""
    page = operator.get(reverse(FLEET), {"pool": "other"})
    assert [run.name for run in page.context["automatic"].rows] == ["elsewhere"]
    assert not page.context["now_running"].rows
    text = page.content.decode()
    assert f"{reverse('admin:routines_fleet_live')}?pool=other" in text
    assert f"{verb_page('run-stalest')}?pool=other" in text
    live = operator.get(reverse("admin:routines_fleet_live"), {"pool": "db <1>"})
    assert [run.name for run in live.context["automatic"].rows] == ["nightly"]


@pytest.mark.parametrize("name", ["nope", "n\x00l", "9" * 300])
def test_a_pool_that_is_not_there_is_said(operator: Client, busy: Pool, name: str) -> None:
    """The rest of the page is there."""
    page = operator.get(reverse(FLEET), {"pool": name})
    assert page.status_code == 200
    assert "is not accepted" in page.context["queue_problem"]
    assert len(page.context["queue_problem"]) < 500


def test_a_long_queue_is_cut(operator: Client, busy: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """And says how much more there is, also of what was not read."""
    monkeypatch.setattr(fleet_queue, "SHOWN", 2)
    monkeypatch.setattr(fleet_queue, "READ", 5)
    for number in range(6):
        waiting(make_routine(f"many-{number}", pool=busy))
    page = operator.get(reverse(FLEET))
    assert len(page.context["automatic"].rows) == 2
    assert page.context["automatic"].more == 6
    assert "and 6 more" in page.content.decode()


def test_what_was_not_read_is_not_called_automatic(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind more overrides than are read nobody knows what the others are."""
    monkeypatch.setattr(fleet_queue, "READ", 2)
    for number in range(5):
        waiting(make_routine(f"many-{number}"), trigger="manual", requested_at=clock.now())
    page = operator.get(reverse(FLEET))
    assert (page.context["overrides"].more, page.context["automatic"].more, page.context["unread"]) == (0, 0, 3)
    text = page.content.decode()
    assert "3 more wait, asked for by hand or not." in text
    assert "Nothing else waits." not in text


def test_a_viewer_sees_the_queue_without_its_buttons(viewer: Client, busy: Pool) -> None:
    """And cannot press them by their addresses."""
    page = text_of(viewer, reverse(FLEET))
    assert "nightly" in page
    assert not any(verb_page(verb) in page for verb in QUEUE_VERBS)
    for verb in QUEUE_VERBS:
        assert {viewer.get(verb_page(verb)).status_code, viewer.post(verb_page(verb)).status_code} == {403}
    assert RoutineRun.objects.filter(status="PENDING").count() == 3


@pytest.mark.parametrize("verb", sorted(QUEUE_VERBS))
def test_a_verb_of_the_queue_needs_its_own_permission(login: Login, verb: str) -> None:
    """Clearing is cancelling, and the stalest is run."""
    needed = QUEUE_VERBS[verb].permission
    other = ({"cancel_routinerun", "run_routine"} - {needed}).pop()
    assert login("view_routine", needed, name="with").get(verb_page(verb)).status_code == 200
    assert login("view_routine", other, name="without").get(verb_page(verb)).status_code == 403
    assert login(needed, name="blind").get(verb_page(verb)).status_code == 403


def test_overrides_are_cleared_after_a_confirmation(operator: Client, busy: Pool) -> None:
    """Only what was asked for by hand goes, and the history says who and why."""
    asking = text_of(operator, verb_page("clear-overrides"))
    assert "1 request waits now" in asking
    assert "&lt;i&gt;ada&lt;/i&gt;" in asking
    assert "waits now" not in text_of(operator, verb_page("clear-overrides") + "?pool=other")
    assert RoutineRun.objects.filter(status="CANCELLED").count() == 0
    response = press(operator, verb_page("clear-overrides") + "?pool=db+%3C1%3E", reason="a mistake")
    assert told(response) == ["Cancelled 1 waiting request of db <1>."]
    assert response.redirect_chain[-1][0] == f"{reverse(FLEET)}?pool=db+%3C1%3E"
    assert [run.routine.name for run in RoutineRun.objects.filter(status="CANCELLED")] == ["asked"]
    assert last_entry().change_message == "Cancelled 1 waiting request of db <1>. Why: a mistake"
    assert last_entry().object_repr == "db <1>"
    assert told(press(operator, verb_page("clear-overrides"))) == ["Cancelled 0 waiting requests."]


def test_the_stalest_is_run(operator: Client) -> None:
    """It is named, and the request has its author."""
    make_routine("only", interval_ms=600_000)
    response = press(operator, verb_page("run-stalest"), reason="drill")
    assert told(response) == ["Asked for a run of only, the stalest."]
    assert RoutineRun.objects.values_list("trigger", "requested_by").get() == ("manual", "root")
    assert last_entry().change_message == "Asked for a run of only, the stalest. Why: drill"


def test_without_a_routine_nothing_is_stalest(operator: Client) -> None:
    """And the page says so."""
    assert told(press(operator, verb_page("run-stalest"))) == ["No routine can be asked for now."]


def test_a_refusal_of_a_queue_verb_stands_on_its_page(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it was asked, with what there is to cancel."""

    def refuse(*args: Any, **kwargs: Any) -> int:
        raise service.NotFound("pool", "gone", "give a pool that is there")

    monkeypatch.setattr(service, "clear_overrides", refuse)
    page = press(operator, verb_page("clear-overrides"))
    assert page.status_code == 422
    assert page.context["form"].non_field_errors() == ["pool: 'gone' is not accepted: give a pool that is there"]
    assert told(page) == []
    assert operator.get(verb_page("nothing")).status_code == 404
