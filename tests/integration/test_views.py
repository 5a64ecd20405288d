"""The views and the button for a project's own pages."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.template import engines
from django.test import Client, RequestFactory
from pytest_django import Settings

from routines_app.models import Routine, RoutineRun
from routines_app.protocol.ledger import clock
from tests.browser.scenes import ended, make_routine
from tests.integration.conftest import Login

pytestmark = pytest.mark.usefixtures("db", "redis_url")


@pytest.fixture(autouse=True)
def own_urls(settings: Settings) -> None:
    settings.ROOT_URLCONF = "tests.browser.urls"


def test_run_now_answers_with_the_run(login: Login) -> None:
    """The run is there and knows who asked for it."""
    make_routine()
    response = login("run_routine").post("/routines/nightly-report/run/")
    assert response.status_code == 201
    assert response.json()["run"]["status"] == "PENDING"
    assert RoutineRun.objects.get().requested_by == "ada"


def test_a_routine_can_be_named_by_its_id(login: Login) -> None:
    """As everywhere: an id or a name."""
    routine = make_routine("team/sync")
    client = login("run_routine")
    assert client.post(f"/routines/{routine.pk}/run/").status_code == 201
    assert client.post("/routines/team/sync/run/").status_code == 201


def test_pause_and_resume(login: Login) -> None:
    """With reason and end, by someone who may pause."""
    make_routine()
    client = login("pause_routine")
    until = clock.now() + timedelta(hours=1)
    data = {"reason": "stocktaking", "until": until.isoformat()}
    assert client.post("/routines/nightly-report/pause/", data).json()["status"] == "PAUSED"
    assert Routine.objects.values_list("pause_reason", "paused_until").get() == ("stocktaking", until)
    assert client.post("/routines/nightly-report/resume/").json()["status"] == "ACTIVE"


def test_a_refusal_names_the_field(login: Login) -> None:
    """A program can show it at the right place."""
    make_routine()
    client = login("pause_routine", "run_routine", "view_routine")
    response = client.post("/routines/nightly-report/pause/", {"until": "tomorrow"})
    assert (response.status_code, response.json()["field"]) == (400, "until")
    assert client.post("/routines/nightly-report/resume/").status_code == 409
    assert client.post("/routines/nobody/run/").status_code == 404
    assert client.get("/routines/nightly-report/runs/?limit=1000").status_code == 400


def test_more_digits_than_a_number_may_have_are_refused(login: Login) -> None:
    """As a limit they are wrong, and no routine has such an id."""
    make_routine()
    client, digits = login("run_routine", "view_routine"), "9" * 5_000
    response = client.get("/routines/nightly-report/runs/", {"limit": digits})
    assert (response.status_code, response.json()["field"]) == (400, "limit")
    assert client.get(f"/routines/{digits}/runs/").status_code == 404
    assert client.post(f"/routines/{digits}/run/").status_code == 404


def test_the_newest_runs_are_told_without_arguments(login: Login) -> None:
    """Status and times, nothing that may be secret."""
    run = ended(make_routine(kwargs={"password": "x"}), clock.now())
    (told,) = login("view_routine").get("/routines/nightly-report/runs/").json()["runs"]
    assert (told["id"], told["status"], told["active"]) == (str(run.pk), "SUCCESS", False)
    assert not {"args", "kwargs", "result"} & set(told)


@pytest.mark.parametrize("verb", ["run", "pause", "resume"])
def test_verbs_need_a_login_a_permission_and_a_post(login: Login, verb: str) -> None:
    """Anonymous people are sent to the login, others without the permission are refused."""
    make_routine()
    address = f"/routines/nightly-report/{verb}/"
    assert Client().post(address).status_code == 302
    assert login("view_routine").post(address).status_code == 403
    assert login(everything=True, name="root").get(address).status_code == 405
    assert not RoutineRun.objects.exists()


def test_runs_need_a_login_and_view(login: Login) -> None:
    """Reading is protected too."""
    make_routine()
    assert Client().get("/routines/nightly-report/runs/").status_code == 302
    assert login("run_routine").get("/routines/nightly-report/runs/").status_code == 403


def test_verbs_are_protected_against_forged_posts(login: Login) -> None:
    """Without the CSRF token nothing happens, with or without the project's middleware."""
    make_routine()
    client = login("run_routine")
    client.handler.enforce_csrf_checks = True
    assert client.post("/routines/nightly-report/run/").status_code == 403
    assert not RoutineRun.objects.exists()


def test_a_form_returns_to_its_page_and_nowhere_else(login: Login) -> None:
    """`next` is followed on our own host only."""
    make_routine()
    client = login("run_routine")
    assert client.post("/routines/nightly-report/run/", {"next": "/shop/"}).headers["Location"] == "/shop/"
    assert client.post("/routines/nightly-report/run/", {"next": "https://evil.example/"}).status_code == 201


def render(user: object) -> str:
    request = RequestFactory().get("/shop/")
    request.user = user  # type: ignore[assignment]
    template = engines["django"].from_string(
        '{% load routines %}{% routine_assets %}{% routine_button "nightly-report" "Go" %}'
    )
    return template.render({}, request)


def test_the_button_is_a_form_for_those_who_may_run() -> None:
    """It posts to the run view and works without JavaScript."""
    routine = make_routine()
    html = render(User.objects.create_superuser("root"))
    assert f'action="/routines/{routine.pk}/run/"' in html
    assert "csrfmiddlewaretoken" in html
    assert ">Go</button>" in html
    assert "routines/button.js" in html


def test_the_button_is_not_there_for_others() -> None:
    """Someone who may not run sees nothing."""
    make_routine()
    assert "<form" not in render(User.objects.create_user("eve"))
    assert "<form" not in render(AnonymousUser())


@pytest.mark.parametrize("field", ["reason", "until", "release", "idempotency_key", "next"])
def test_megabytes_are_refused_without_an_echo(login: Login, field: str) -> None:
    """Nothing of them is read, and the answer says how much is taken."""
    make_routine()
    client = login("pause_routine", "run_routine")
    for verb in ("run", "pause", "resume"):
        response = client.post(f"/routines/{Routine.objects.get().pk}/{verb}/", {field: "x" * 1_800_000})
        assert (response.status_code, response.json()["field"]) == (400, "request")
        assert len(response.content) < 300
    assert not RoutineRun.objects.exists()
    assert Routine.objects.get().status == "ACTIVE"
