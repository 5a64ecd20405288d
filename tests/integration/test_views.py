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


def address(routine: Routine, verb: str) -> str:
    return f"/routines/{routine.pk}/{verb}/"


def test_run_now_answers_with_the_run(login: Login) -> None:
    """The run is there and knows who asked for it."""
    response = login("run_routine").post(address(make_routine(), "run"))
    assert response.status_code == 201
    assert response.json()["run"]["status"] == "PENDING"
    assert RoutineRun.objects.get().requested_by == "ada"


def test_an_address_has_an_id_and_no_name(login: Login) -> None:
    """A name can look like an id: a routine called as another one's id takes neither its runs nor its pauses."""
    meant = make_routine("team/sync")
    named = make_routine("impostor")
    Routine.objects.filter(pk=named.pk).update(name=str(meant.pk))  # as older rows may be called
    client = login("run_routine", "pause_routine")
    assert client.post(address(meant, "run")).status_code == 201
    assert client.post(address(meant, "pause")).status_code == 200
    assert RoutineRun.objects.get().routine_id == meant.pk
    assert Routine.objects.get(status="PAUSED").pk == meant.pk
    assert client.post("/routines/team/sync/run/").status_code == 404


def test_a_refusal_tells_nothing_about_other_routines(login: Login) -> None:
    """Whoever may run, and not look, learns no names by asking for what does not exist, nor by pausing."""
    routine = make_routine("nightly-report")
    client = login("run_routine", "pause_routine")
    told = [
        client.post("/routines/night/run/"),
        client.post(f"/routines/{routine.pk + 1}/run/"),
        client.post(address(routine, "pause")),
        client.post(address(routine, "resume")),
    ]
    assert [response.status_code for response in told] == [404, 404, 200, 200]
    assert not any("nightly-report" in response.text for response in told)
    looking = login("pause_routine", "view_routine", name="eve")
    assert looking.post(address(routine, "pause")).json()["name"] == "nightly-report"


def test_pause_and_resume(login: Login) -> None:
    """With reason and end, by someone who may pause."""
    routine = make_routine()
    client = login("pause_routine")
    until = clock.now() + timedelta(hours=1)
    data = {"reason": "stocktaking", "until": until.isoformat()}
    assert client.post(address(routine, "pause"), data).json()["status"] == "PAUSED"
    assert Routine.objects.values_list("pause_reason", "paused_until").get() == ("stocktaking", until)
    assert client.post(address(routine, "resume")).json()["status"] == "ACTIVE"


def test_a_refusal_names_the_field(login: Login) -> None:
    """A program can show it at the right place."""
    routine = make_routine()
    client = login("pause_routine", "run_routine", "view_routine")
    response = client.post(address(routine, "pause"), {"until": "tomorrow"})
    assert (response.status_code, response.json()["field"]) == (400, "until")
    Routine.objects.update(status="PARKED")
    assert client.post(address(routine, "resume")).status_code == 409
    assert client.post("/routines/999999/run/").status_code == 404
    assert client.get(address(routine, "runs"), {"limit": "1000"}).status_code == 400


def test_more_digits_than_a_number_may_have_are_refused(login: Login) -> None:
    """As a limit they are wrong, and no routine has such an id."""
    routine = make_routine()
    client, digits = login("run_routine", "view_routine"), "9" * 5_000
    response = client.get(address(routine, "runs"), {"limit": digits})
    assert (response.status_code, response.json()["field"]) == (400, "limit")
    assert client.get(f"/routines/{digits}/runs/").status_code == 404
    assert client.post(f"/routines/{digits}/run/").status_code == 404


def test_the_newest_runs_are_told_without_arguments(login: Login) -> None:
    """Status and times, nothing that may be secret."""
    routine = make_routine(kwargs={"password": "x"})
    run = ended(routine, clock.now())
    (told,) = login("view_routine").get(address(routine, "runs")).json()["runs"]
    assert (told["id"], told["status"], told["active"]) == (str(run.pk), "SUCCESS", False)
    assert not {"args", "kwargs", "result"} & set(told)


@pytest.mark.parametrize("verb", ["run", "pause", "resume"])
def test_verbs_need_a_login_a_permission_and_a_post(login: Login, verb: str) -> None:
    """Anonymous people are sent to the login, others without the permission are refused."""
    at = address(make_routine(), verb)
    assert Client().post(at).status_code == 302
    assert login("view_routine").post(at).status_code == 403
    assert login(everything=True, name="root").get(at).status_code == 405
    assert not RoutineRun.objects.exists()


def test_runs_need_a_login_and_view(login: Login) -> None:
    """Reading is protected too."""
    routine = make_routine()
    assert Client().get(address(routine, "runs")).status_code == 302
    assert login("run_routine").get(address(routine, "runs")).status_code == 403


def test_verbs_are_protected_against_forged_posts(login: Login) -> None:
    """Without the CSRF token nothing happens, with or without the project's middleware."""
    routine = make_routine()
    client = login("run_routine")
    client.handler.enforce_csrf_checks = True
    assert client.post(address(routine, "run")).status_code == 403
    assert not RoutineRun.objects.exists()


def test_a_form_returns_to_its_page_and_nowhere_else(login: Login) -> None:
    """`next` is followed on our own host only."""
    routine = make_routine()
    client = login("run_routine")
    assert client.post(address(routine, "run"), {"next": "/shop/"}).headers["Location"] == "/shop/"
    assert client.post(address(routine, "run"), {"next": "https://evil.example/"}).status_code == 201


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
