"""Hidden arguments go where they were meant to go, or nowhere: the attacks, by people with few rights."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.signals import got_request_exception
from django.test import Client
from django.urls import reverse
from django.views.debug import SafeExceptionReporterFilter

from routines_app import service
from routines_app.masks import MASK
from routines_app.models import Routine, RoutineRun
from tests.browser.scenes import make_routine
from tests.integration.admin.pages import run_url, told, unrendered, verb_url
from tests.integration.admin.test_form import ADD, NEW, change_url, form_of, save, typed
from tests.integration.conftest import NOTE, Login

PREVIEW = "admin:routines_routine_preview"
OTHER_TASK = "tests.acceptance.tasks.fail"
URL, TOKEN = "https://us.example/", "s3cret"
STOLEN = {"url": "http://attacker/", "token": MASK}


@pytest.fixture
def routine() -> Routine:
    return make_routine(kwargs={"url": URL, "token": TOKEN}, task=NOTE)


def run_form(client: Client, routine: Routine, like: RoutineRun | None = None) -> Any:
    address = verb_url(routine, "run") + (f"?like={like.pk}" if like else "")
    with unrendered():
        return client.get(address).context["form"]


def run(client: Client, routine: Routine, like: RoutineRun | None = None, **changes: str) -> Any:
    return client.post(verb_url(routine, "run"), typed(run_form(client, routine, like), **changes))


def errors_of(response: Any, field: str) -> str:
    return str(response.context["form"].errors[field])


# Run now


@pytest.mark.parametrize(
    "changes",
    [
        {"kwargs": json.dumps(STOLEN)},
        {"args": '["http://attacker/"]'},
        {"args": '["http://attacker/"]', "kwargs": ""},
    ],
)
def test_who_may_only_view_and_run_cannot_send_a_secret_away(
    login: Login, routine: Routine, changes: dict[str, str]
) -> None:
    """Not beside another address, nor beside positional arguments, nor by leaving the named ones empty."""
    page = run(login("view_routine", "run_routine"), routine, **changes)
    assert "type it anew, or leave everything as it was" in errors_of(page, "kwargs")
    assert TOKEN not in page.content.decode()
    assert not RoutineRun.objects.exists()


def test_a_run_with_the_arguments_as_they_are_has_the_secret(login: Login, routine: Routine) -> None:
    """Running it is allowed, and it runs with the routine's own."""
    run(login("view_routine", "run_routine"), routine)
    made = RoutineRun.objects.get()
    assert service.find_routine(made.routine_id).kwargs == {"url": URL, "token": TOKEN}
    assert (made.args, made.kwargs) == (None, None)


def test_a_run_with_everything_typed_anew_has_what_was_typed(login: Login, routine: Routine) -> None:
    kwargs = {"url": "https://them.example", "token": "theirs"}
    run(login("view_routine", "run_routine"), routine, kwargs=json.dumps(kwargs))
    assert RoutineRun.objects.get().kwargs == kwargs


def test_a_run_keeps_the_arguments_that_it_was_asked_for_with(login: Login) -> None:
    """Or a secret that the routine gets later would be put beside an address that somebody chose today."""
    routine = make_routine(task=NOTE)
    client = login("view_routine", "view_routinerun", "run_routine")
    run(client, routine, args='["http://attacker/"]', kwargs="")
    service.update_routine(routine, kwargs={"token": TOKEN})
    service.cancel_run(RoutineRun.objects.get())  # while it waits, asking again would only return it
    client.post(run_url(RoutineRun.objects.get(), "retry"))
    assert [made.kwargs for made in RoutineRun.objects.all()] == [{}, {}]


@pytest.mark.parametrize("version", ["1", ""])
def test_a_page_from_before_an_edit_restores_nothing(login: Login, routine: Routine, version: str) -> None:
    """The person saw another task there than would get the secret now."""
    client = login("view_routine", "run_routine")
    data = typed(run_form(client, routine), read_version=version)
    service.update_routine(routine, task=OTHER_TASK)
    page = client.post(verb_url(routine, "run"), data)
    assert "because the routine (after this page was loaded) changed" in errors_of(page, "kwargs")
    assert not RoutineRun.objects.exists()


# A run like another one


@pytest.fixture
def old_run(routine: Routine) -> RoutineRun:
    """A run whose own arguments are secret, of a routine that has harmless ones by now."""
    old = service.run_now(routine, kwargs={"url": URL, "token": "of-then"})
    service.update_routine(routine, kwargs={})
    return old


def test_a_run_like_another_has_its_secret(login: Login, routine: Routine, old_run: RoutineRun) -> None:
    run(login("view_routine", "view_routinerun", "run_routine"), routine, old_run)
    assert RoutineRun.objects.latest("id").kwargs == {"url": URL, "token": "of-then"}


def test_a_run_like_another_does_not_send_its_secret_away(login: Login, routine: Routine, old_run: RoutineRun) -> None:
    client = login("view_routine", "view_routinerun", "run_routine")
    page = run(client, routine, old_run, kwargs=json.dumps(STOLEN))
    assert "because the named arguments changed" in errors_of(page, "kwargs")
    page = run(client, routine, old_run, args="")
    assert "token is hidden" in errors_of(page, "kwargs").lower()
    assert RoutineRun.objects.count() == 1


@pytest.mark.parametrize("change", [{"task": OTHER_TASK}, {"queue": "theirs"}])
def test_a_run_like_another_does_not_go_to_another_task(
    login: Login, routine: Routine, old_run: RoutineRun, change: dict[str, str]
) -> None:
    """Who may change the routine could choose which task gets the secret: by the form, and by the button."""
    client = login("view_routine", "view_routinerun", "run_routine")
    service.update_routine(routine, **change)
    page = run(client, routine, old_run)
    assert f"because the {next(iter(change))} changed" in errors_of(page, "kwargs")
    RoutineRun.objects.update(status="CANCELLED", completed_at=old_run.scheduled_for)
    assert "hidden arguments" in told(client.post(run_url(old_run, "retry"), follow=True))[0]
    assert RoutineRun.objects.count() == 1


def test_who_may_not_look_at_runs_starts_from_the_routines_own_arguments(
    login: Login, routine: Routine, old_run: RoutineRun
) -> None:
    """The run's page is closed to them: the form shows none of its arguments, and a post gets none of its secrets."""
    client = login("view_routine", "run_routine")
    assert client.get(run_url(old_run)).status_code == 403
    form = run_form(client, routine, old_run)
    assert URL not in str(form)
    seen = login("view_routine", "view_routinerun", "run_routine", name="eve")
    guessed = typed(run_form(seen, routine, old_run))
    assert guessed["like"]
    page = client.post(verb_url(routine, "run"), guessed)
    assert "token is hidden" in errors_of(page, "kwargs").lower()
    assert RoutineRun.objects.count() == 1


# The form


@pytest.mark.parametrize(
    ("changes", "because"),
    [
        ({"kwargs": json.dumps(STOLEN)}, "the named arguments"),
        ({"args": '["http://attacker/"]'}, "the arguments"),
        ({"task": OTHER_TASK}, "the task"),
        ({"queue": "theirs"}, "the queue"),
        ({"task": OTHER_TASK, "queue": "theirs"}, "the task and the queue"),
    ],
)
def test_who_may_change_a_routine_cannot_send_its_secret_away(
    login: Login, routine: Routine, changes: dict[str, str], because: str
) -> None:
    """Neither with other arguments, nor by another task, nor to another worker; nothing is saved."""
    page = save(login("view_routine", "change_routine"), change_url(routine), **changes)
    error = str(page.context["adminform"].form.errors["kwargs"])
    assert f"Token is hidden; because {because} changed, type it anew, or leave everything as it was." in error
    assert TOKEN not in page.content.decode()
    routine.refresh_from_db()
    assert (routine.version, routine.task, routine.kwargs) == (1, NOTE, {"url": URL, "token": TOKEN})


def test_what_says_nothing_about_the_destination_may_change(login: Login, routine: Routine) -> None:
    save(
        login("view_routine", "change_routine"),
        change_url(routine),
        description="x",
        timeout_ms="90s",
        cron="1 * * * *",
    )
    routine.refresh_from_db()
    assert (routine.description, routine.kwargs["token"]) == ("x", TOKEN)


def test_everything_may_change_with_the_secret_typed_anew(login: Login, routine: Routine) -> None:
    kwargs = json.dumps({"url": "https://them.example", "token": "theirs"})
    save(login("view_routine", "change_routine"), change_url(routine), task=OTHER_TASK, kwargs=kwargs)
    routine.refresh_from_db()
    assert (routine.task, routine.kwargs["token"]) == (OTHER_TASK, "theirs")


@pytest.mark.parametrize("sent", [{}, {"kwargs": ""}])
def test_arguments_that_are_not_sent_are_emptied_and_not_handed_on(
    login: Login, routine: Routine, sent: dict[str, str]
) -> None:
    """A task of somebody's choice gets none of what was there."""
    client = login("view_routine", "change_routine")
    data = typed(form_of(client, change_url(routine)), task=OTHER_TASK)
    client.post(change_url(routine), {name: value for name, value in data.items() if name != "kwargs"} | sent)
    routine.refresh_from_db()
    assert (routine.task, routine.kwargs) == (OTHER_TASK, {})


def test_a_form_from_before_an_edit_restores_nothing(login: Login, routine: Routine) -> None:
    """Somebody has put another task there meanwhile, and masks look the same."""
    client = login("view_routine", "change_routine")
    data = typed(form_of(client, change_url(routine)), description="x")
    service.update_routine(routine, task=OTHER_TASK, kwargs={"url": URL, "token": "of-now"})
    page = client.post(change_url(routine), data)
    assert "after this page was loaded" in str(page.context["adminform"].form.errors)
    routine.refresh_from_db()
    assert (routine.version, routine.kwargs["token"]) == (2, "of-now")


@pytest.mark.parametrize("as_copy", [True, False])
def test_a_copy_has_no_secrets(operator: Client, routine: Routine, as_copy: bool) -> None:
    """ "Save as new", asked for by hand, and a new routine with masks pasted into it."""
    address = change_url(routine) if as_copy else reverse(ADD)
    changes = {**NEW, "kwargs": json.dumps({"url": URL, "token": MASK}), **({"_saveasnew": "1"} if as_copy else {})}
    page = save(operator, address, **changes)
    assert "stands for a value that is hidden" in str(page.context["adminform"].form.errors["kwargs"])
    assert Routine.objects.count() == 1


@pytest.mark.parametrize("page", ["change", "run", "preview"])
def test_a_report_of_a_failure_does_not_quote_arguments(
    operator: Client, routine: Routine, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Django mails what was posted to a page that failed."""

    def fail(*args: object, **kwargs: object) -> None:
        raise OSError

    for verb in ("update_routine", "run_now", "now"):
        monkeypatch.setattr(service, verb, fail)
    requests: list[Any] = []

    def note(request: Any, **_: Any) -> None:
        requests.append(request)

    got_request_exception.connect(note)
    operator.raise_request_exception = False
    addresses = {"change": change_url(routine), "run": verb_url(routine, "run"), "preview": reverse(PREVIEW)}
    data = typed(form_of(operator, change_url(routine)), kwargs='{"token": "typed"}')
    assert operator.post(addresses[page], data).status_code == 500
    told = SafeExceptionReporterFilter().get_post_parameters(requests[0])
    assert "typed" not in str(told)
    assert "name" in told


@pytest.mark.parametrize("page", ["change", "run"])
def test_the_forms_recommend_names_instead_of_secrets(operator: Client, routine: Routine, page: str) -> None:
    address = change_url(routine) if page == "change" else verb_url(routine, "run")
    assert "Give the name of a secret rather than the secret" in operator.get(address).content.decode()
