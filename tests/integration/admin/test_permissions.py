"""Who has only view sees everything and can press nothing; each verb has a permission of its own."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from routines_app import service
from routines_app.admin.verb_buttons import VERBS
from routines_app.models import Pool, Routine, RoutineRun
from routines_app.protocol.ledger import clock
from tests.browser.scenes import a_working_day, ended, make_routine, make_run
from tests.integration.admin.pages import act, list_url, overview_url, run_url, verb_url
from tests.integration.conftest import Login


def test_a_viewer_sees_every_page(viewer: Client) -> None:
    """View is enough to look at everything."""
    routine = a_working_day()
    run = RoutineRun.objects.filter(status="RUNNING").get()
    addresses = [list_url(), overview_url(routine), run_url(run), run_url(run, "live")]
    addresses += [reverse("admin:routines_fleet"), reverse("admin:routines_fleet_live"), reverse("admin:routines_plan")]
    addresses += [reverse("admin:routines_routinerun_changelist"), reverse("admin:routines_pool_changelist")]
    assert {viewer.get(address).status_code for address in addresses} == {200}


def test_a_viewer_finds_no_button(viewer: Client) -> None:
    """No verb is offered on the page of a routine or of a run, and no action in the list."""
    routine = make_routine()
    page = viewer.get(overview_url(routine))
    assert page.context["verbs"] == {}
    assert "/do/" not in page.content.decode()
    run = make_run(routine, at=clock.now())
    page = viewer.get(run_url(run))
    assert not any(page.context[may] for may in ("may_cancel", "may_run", "may_retry"))
    assert "_selected_action" not in viewer.get(list_url()).content.decode()


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_a_viewer_cannot_press_a_verb(viewer: Client, verb: str) -> None:
    """Knowing the address is not enough."""
    routine = make_routine()
    assert viewer.post(verb_url(routine, verb)).status_code == 403
    assert viewer.get(verb_url(routine, verb)).status_code == 403


@pytest.mark.usefixtures("unrendered")
@pytest.mark.parametrize("verb", sorted(VERBS))
def test_a_verb_needs_its_own_permission_and_no_other(login: Login, verb: str) -> None:
    """The permission of the verb opens its page; all the others together do not."""
    routine = make_routine()
    needed = VERBS[verb].permission
    others = {one.permission for one in VERBS.values()} - {needed}
    assert login("view_routine", needed, name="with").get(verb_url(routine, verb)).status_code in (200, 302)
    assert login("view_routine", *others, name="without").get(verb_url(routine, verb)).status_code == 403


def test_a_list_action_needs_the_permission_of_its_verb(login: Login) -> None:
    """Someone who may pause but not run cannot run by posting the action."""
    routine = make_routine()
    client = login("view_routine", "pause_routine")
    act(client, "run", routine)
    assert not RoutineRun.objects.exists()
    act(client, "pause", routine, confirmed="1")
    assert Routine.objects.get().status == "PAUSED"


@pytest.mark.parametrize("page", ["cancel", "abandon", "retry"])
def test_the_verbs_of_a_run_are_walled(viewer: Client, page: str) -> None:
    """They need cancel_routinerun, abandon_routinerun and run_routine."""
    run = make_run(make_routine(), at=clock.now())
    assert viewer.post(run_url(run, page)).status_code == 403


@pytest.mark.parametrize(("verb", "permission"), [("retry", "run_routine"), ("cancel", "cancel_routinerun")])
def test_acting_on_many_runs_is_walled(login: Login, verb: str, permission: str) -> None:
    """As acting on one is; and nobody acts on what they may not see."""
    address = reverse("admin:routines_run_many", args=[verb])
    allowed = login("view_routinerun", permission, name="both")
    assert allowed.get(address).status_code == 200
    for number, has in enumerate((["view_routinerun"], [permission])):
        client = login(*has, name=f"one-{number}")
        assert {client.get(address).status_code, client.post(address).status_code} == {403}
    run = make_run(make_routine(), at=clock.now(), status="FAILED", completed_at=clock.now())
    chosen = {"action": f"{verb}_runs", "_selected_action": [run.pk], "index": 0}
    listed = reverse("admin:routines_routinerun_changelist")
    assert "batch" in allowed.post(listed, chosen).context
    assert login("view_routinerun", name="looks").post(listed, chosen).context["action_form"] is None


def test_who_may_not_view_sees_nothing(login: Login) -> None:
    """Staff without a permission gets no page."""
    routine = make_routine()
    client = login()
    addresses = [
        list_url(),
        overview_url(routine),
        reverse("admin:routines_fleet"),
        reverse("admin:routines_plan"),
        reverse("admin:routines_run_groups"),
        run_url(ended(routine, clock.now())),
    ]
    assert {client.get(address).status_code for address in addresses} == {403}


def test_a_viewer_is_sent_from_the_form_to_the_page(viewer: Client) -> None:
    """Django's read-only form would show secrets; the page shows them masked."""
    routine = make_routine(kwargs={"password": "hunter2"})
    response = viewer.get(reverse("admin:routines_routine_change", args=[routine.pk]), follow=True)
    assert response.redirect_chain[-1][0] == overview_url(routine)
    assert "hunter2" not in response.content.decode()


def test_a_viewer_cannot_ask_for_previews(viewer: Client) -> None:
    """The preview belongs to the form."""
    assert viewer.post(reverse("admin:routines_routine_preview")).status_code == 403


def test_runs_cannot_be_changed_or_deleted_by_anyone(operator: Client) -> None:
    """The ledger is written by the machinery only."""
    run = ended(make_routine(), clock.now())
    assert operator.get(reverse("admin:routines_routinerun_delete", args=[run.pk])).status_code == 403
    assert operator.get(reverse("admin:routines_routinerun_add")).status_code == 403
    assert operator.get(reverse("admin:routines_routine_delete", args=[run.routine_id])).status_code == 403


def test_a_pool_in_use_cannot_be_deleted(operator: Client) -> None:
    """Its routines and runs would lose their ceiling; an unused one can go."""
    used, free = Pool.objects.create(name="used", max_concurrent=1), Pool.objects.create(name="free", max_concurrent=1)
    service.create_routine("r", task="tests.acceptance.tasks.note", pool=used)
    assert operator.get(reverse("admin:routines_pool_delete", args=[used.pk])).status_code == 403
    assert operator.get(reverse("admin:routines_pool_delete", args=[free.pk])).status_code == 200


def test_a_pool_that_the_ledger_remembers_cannot_be_deleted(operator: Client) -> None:
    """The page says what keeps it, without reading those runs; an unused one goes."""
    kept, free = (Pool.objects.create(name=name, max_concurrent=1) for name in ("kept", "free"))
    ended(make_routine(), clock.now(), pool=kept)
    with CaptureQueriesContext(connection) as captured:
        page = operator.get(reverse("admin:routines_pool_delete", args=[kept.pk]))
    assert page.context["protected"] == ["runs of kept in the ledger"]
    assert all("LIMIT 1" in query["sql"] for query in captured if "routines_routinerun" in query["sql"])
    for pool in (kept, free):
        operator.post(reverse("admin:routines_pool_delete", args=[pool.pk]), {"post": "yes"})
    assert list(Pool.objects.all()) == [kept]


@pytest.mark.parametrize("field", ["parent", "pool"])
def test_whoever_may_only_add_learns_no_names_by_guessing_ids(login: Login, field: str) -> None:
    """The form would show the name of what is chosen; the search behind it is for those who may look."""
    pool = Pool.objects.create(name="the warehouse", max_concurrent=1)
    hidden = {"parent": make_routine("the payroll").pk, "pool": pool.pk}[field]
    client = login("add_routine")
    address = reverse("admin:routines_routine_add")
    asked = {"app_label": "routines", "model_name": "routine", "field_name": field, "term": "the"}
    pages = [
        client.get(address, {field: hidden}),
        client.post(address, {field: hidden, "name": "the pay"}),
        client.get(reverse("admin:autocomplete"), asked),
    ]
    assert [page.status_code for page in pages] == [200, 200, 403]
    assert not any(name in page.text for page in pages for name in ("the payroll", "the warehouse"))
    seeing = login("add_routine", "view_routine", name="eve")
    assert seeing.get(address, {field: hidden}).text.count("the payroll" if field == "parent" else "the warehouse")


@pytest.mark.usefixtures("time")  # far from 03:17, whose minute every minutely preview would show
def test_whoever_may_only_add_learns_no_schedule_by_guessing_ids(login: Login) -> None:
    """The preview compares with what is saved, and knows how long its runs take: for those who may look."""
    hidden = make_routine(cron="17 3 * * *", timezone="UTC")
    for minutes in range(3):
        ended(hidden, clock.now() - timedelta(minutes=minutes), seconds=90)
    typed = {"trigger_kind": "CRON", "cron": "* * * * *", "timezone": "UTC"}
    address = reverse("admin:routines_routine_preview")
    adding, seeing = login("add_routine"), login("add_routine", "view_routine", name="eve")
    shown, as_new = (adding.post(address, typed | {"routine": of}).json() for of in (str(hidden.pk), ""))
    assert ("03:17" in shown["html"], "usual duration" in shown["html"]) == (False, False)
    assert shown == as_new
    full = seeing.post(address, typed | {"routine": str(hidden.pk)}).json()["html"]
    assert "instead of 7" in full
    assert "usual duration of 1m 30s" in full


def test_a_pool_is_chosen_by_whoever_may_see_pools(login: Login) -> None:
    """Without looking at routines."""
    pool = Pool.objects.create(name="the warehouse", max_concurrent=1)
    page = login("add_routine", "view_pool").get(reverse("admin:routines_routine_add"), {"pool": pool.pk})
    assert "the warehouse" in page.text
