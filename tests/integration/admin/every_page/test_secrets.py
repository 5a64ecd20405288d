"""Secrets in forms: never shown when they are stored, never lost when they are typed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from routines_app.masks import MASK
from routines_app.models import Routine, RoutineRun, RunLog
from routines_app.protocol.ledger import clock
from tests.browser.scenes import ended, make_routine
from tests.integration.admin.pages import run_url, verb_url
from tests.integration.admin.test_form import ADD, NEW, change_url, save, typed
from tests.integration.conftest import Login


def test_a_secret_typed_into_a_new_routine_survives_an_error_elsewhere(operator: Client) -> None:
    """The form shows again what was typed, so that the next save stores it and not its mask."""
    address = reverse(ADD)
    page = save(operator, address, **(NEW | {"cron": "61 * * * *", "kwargs": '{"password":"s3cret"}'}))
    form = page.context["adminform"].form
    assert form["kwargs"].value() == '{"password":"s3cret"}'
    operator.post(address, typed(form, cron="0 9 * * *"))
    assert Routine.objects.get().kwargs == {"password": "s3cret"}


def test_a_secret_typed_over_another_survives_an_error_elsewhere(operator: Client) -> None:
    """A mask in its place would mean the old one."""
    routine = make_routine(kwargs={"password": "old"})
    page = save(operator, change_url(routine), cron="61 * * * *", kwargs='{"password": "new"}')
    operator.post(change_url(routine), typed(page.context["adminform"].form, cron="0 9 * * *"))
    assert Routine.objects.get().kwargs == {"password": "new"}


def test_a_secret_that_was_left_alone_survives_an_error_elsewhere(operator: Client) -> None:
    """The mask is shown again, and means what is stored."""
    routine = make_routine(kwargs={"password": "kept"})
    page = save(operator, change_url(routine), cron="61 * * * *")
    assert "kept" not in page.content.decode()
    operator.post(change_url(routine), typed(page.context["adminform"].form, cron="0 9 * * *"))
    assert Routine.objects.values_list("cron", "kwargs").get() == ("0 9 * * *", {"password": "kept"})


def test_a_secret_typed_for_one_run_survives_an_error_elsewhere(operator: Client) -> None:
    """The page that asks for arguments shows them again as they were typed."""
    address = verb_url(routine := make_routine(kwargs={"token": "old"}), "run")
    page = operator.post(address, {"args": "{}", "kwargs": '{"token": "new"}'})
    form = page.context["form"]
    assert form.errors.keys() == {"args"}
    operator.post(address, typed(form, args="[]"))
    assert RoutineRun.objects.get(routine=routine).kwargs == {"token": "new"}


def test_run_now_without_arguments_shows_none_when_it_is_refused(operator: Client) -> None:
    """Fields that were not sent are empty, which means the routine's own arguments."""
    page = operator.post(verb_url(make_routine(), "run"), {"reason": "x" * 501})
    assert [page.context["form"][name].value() for name in ("args", "kwargs")] == ["", ""]


@pytest.mark.parametrize(
    ("stored", "edited", "which"),
    [
        ({"hosts": [{"token": "A"}, {"token": "B"}]}, {"hosts": [{"token": MASK}]}, "hosts[0].token"),
        ({"hosts": [{"token": "A"}]}, {"hosts": [{"token": "new"}, {"token": MASK}]}, "hosts[1].token"),
        ({"password": "A"}, {"db_password": MASK}, "db_password"),
    ],
)
def test_a_mask_without_a_match_is_an_error_at_its_field(
    operator: Client, stored: dict[str, Any], edited: dict[str, Any], which: str
) -> None:
    """Saving and running are refused alike: no dots and nobody else's secret are stored."""
    routine, kwargs = make_routine(kwargs=stored), json.dumps(edited)
    changing = save(operator, change_url(routine), kwargs=kwargs).context["adminform"].form
    asked = operator.get(verb_url(routine, "run")).context["form"]
    running = operator.post(verb_url(routine, "run"), typed(asked, kwargs=kwargs)).context["form"]
    for form in (changing, running):
        assert f"{which[0].upper()}{which[1:]} is hidden; because" in str(form.errors["kwargs"])
    assert Routine.objects.get().kwargs == stored
    assert not RoutineRun.objects.exists()


def test_logs_notes_and_results_of_a_run_are_masked(viewer: Client) -> None:
    """Task code writes them, and it writes what it has at hand; the page and its live part hide secrets in them."""
    told = {"done": 1, "total": 2, "note": "login with password=hunter2"}
    result = "login failed password=hunter2"
    run = ended(make_routine(), clock.now(), progress=told, result=result)
    RunLog.objects.create(run=run, at=clock.now(), line="Authorization: Bearer hunter2")
    RunLog.objects.create(run=run, at=clock.now(), line="fetched 5 rows")
    for page in ("change", "live"):
        text = viewer.get(run_url(run, page)).content.decode()
        assert "hunter2" not in text
        assert f"login with password={MASK}" in text
        assert f"Authorization: {MASK}" in text
        assert "fetched 5 rows" in text


def test_the_note_is_masked_for_a_projects_own_pages(login: Login, settings: Settings) -> None:
    """The JSON of the newest runs is read by everyone who may see the routine."""
    settings.ROOT_URLCONF = "tests.browser.urls"
    stored = ended(make_routine(), clock.now(), progress={"done": 1, "total": None, "note": "token=hunter2"})
    run = login("view_routine").get(f"/routines/{stored.routine_id}/runs/").json()["runs"][0]
    assert run["progress"] == {"done": 1, "total": None, "note": f"token={MASK}"}
