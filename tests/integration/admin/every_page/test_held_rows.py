"""Pages whose verb meets a row that somebody holds: they come back soon, say so, and nothing was written."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from routines_app import service
from routines_app.models import Pool, Routine, RoutineRun
from routines_app.verbs import held_rows
from tests.browser.scenes import make_routine
from tests.integration.admin.pages import act, told, verb_url
from tests.integration.admin.test_form import save
from tests.integration.holding import held, needs_row_locks, row_locked

pytestmark = [pytest.mark.django_db(transaction=True), needs_row_locks, pytest.mark.timeout(60)]

HELD = "somebody else is changing it, or holds its row: try again in a moment"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_rows, "LOCK_MS", 100)


@pytest.mark.parametrize("verb", ["run", "pause", "archive", "hint-interval"])
def test_a_verb_of_a_held_routine(operator: Client, verb: str) -> None:
    routine = make_routine()
    with held("routinestate", "routine_id", [routine.pk]):
        response = operator.post(verb_url(routine, verb), {"interval": "10m", "ttl": "1h"}, follow=True)
    assert HELD in response.content.decode()
    routine.refresh_from_db()
    assert routine.status == "ACTIVE"
    assert not RoutineRun.objects.exists()


def test_a_list_action_goes_on_with_the_others(operator: Client) -> None:
    first, second = make_routine(name="first"), make_routine(name="second")
    with held("routinestate", "routine_id", [first.pk]):
        response = act(operator, "run", first, second)
    assert any(HELD in sentence for sentence in told(response))
    assert list(RoutineRun.objects.values_list("routine__name", flat=True)) == ["second"]


def test_cancelling_a_held_run(operator: Client) -> None:
    run = service.run_now(make_routine())
    with row_locked(run.pk):
        response = operator.post(reverse("admin:routines_routinerun_cancel", args=[run.pk]), follow=True)
    assert HELD in response.content.decode()
    run.refresh_from_db()
    assert run.status == "PENDING"


def test_a_held_pool(operator: Client) -> None:
    pool = Pool.objects.create(name="narrow", max_concurrent=1)
    typed = {"name": "narrow", "max_concurrent": "2"}
    with held("pool", "id", [pool.pk]):
        response = operator.post(reverse("admin:routines_pool_change", args=[pool.pk]), typed, follow=True)
    assert HELD in response.content.decode()
    pool.refresh_from_db()
    assert pool.max_concurrent == 1


def test_the_form_of_a_held_routine(operator: Client) -> None:
    routine = make_routine()
    with held("routinestate", "routine_id", [routine.pk]):
        response = save(operator, reverse("admin:routines_routine_change", args=[routine.pk]), description="typed")
    assert HELD in response.content.decode()
    assert Routine.objects.get().description == routine.description
