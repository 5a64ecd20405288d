"""Adding and changing routines through the form: the service decides, and its refusals stand at their fields."""

from __future__ import annotations

from typing import Any

import pytest
from django.forms import Form
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from routines_app import service
from routines_app.models import Pool, Routine, ScheduleChange
from tests.browser.scenes import make_routine
from tests.integration.admin.pages import last_entry, overview_url, unrendered, verb_url

ADD = "admin:routines_routine_add"


def change_url(routine: Routine) -> str:
    return reverse("admin:routines_routine_change", args=[routine.pk])


def typed(form: Form, **changes: Any) -> dict[str, Any]:
    """What a browser would send back for a form, with some fields typed over."""
    values = {name: form[name].value() for name in form.fields}
    values = {name: value for name, value in values.items() if value not in (None, False)}
    return values | changes


def form_of(client: Client, address: str) -> Form:
    """As it is before anybody has typed; pages of it are looked at elsewhere."""
    with unrendered():
        form: Form = client.get(address).context["adminform"].form
    return form


def save(client: Client, address: str, **changes: Any) -> Any:
    return client.post(address, typed(form_of(client, address), **changes), follow=True)


NEW = {"name": "new", "task": "tests.acceptance.tasks.note", "trigger_kind": "CRON", "cron": "0 9 * * *"}


def test_a_routine_is_added_through_the_service(operator: Client) -> None:
    """It is planned at once, and history and audit trail name who and why."""
    response = save(operator, reverse(ADD), **NEW, timezone="Europe/Paris", tags="a, b", change_reason="asked by sales")
    routine = Routine.objects.select_related("state").get()
    assert response.redirect_chain[-1][0] == overview_url(routine)
    assert (routine.cron, routine.timezone, routine.tags) == ("0 9 * * *", "Europe/Paris", ["a", "b"])
    assert routine.state.next_run_at is not None
    change = ScheduleChange.objects.get(kind="created")
    assert (change.actor, change.reason) == ("root", "asked by sales")
    assert last_entry().change_message == "Added. Why: asked by sales"


def test_a_change_goes_through_the_service(operator: Client) -> None:
    """Only what differs is changed, and the version grows."""
    routine = make_routine()
    save(operator, change_url(routine), timeout_ms="90s", change_reason="slow days")
    routine.refresh_from_db()
    assert (routine.timeout_ms, routine.version) == (90_000, 2)
    assert last_entry().change_message == "Changed timeout_ms. Why: slow days"


def test_saving_without_a_change_changes_nothing(operator: Client) -> None:
    """No new version and no entry in the schedule's history."""
    routine = make_routine(kwargs={"password": "x"}, tags=["a"])
    save(operator, change_url(routine))
    routine.refresh_from_db()
    assert routine.version == 1
    assert not ScheduleChange.objects.exists()


@pytest.mark.usefixtures("unrendered")
@pytest.mark.parametrize(
    ("changes", "field", "says"),
    [
        ({"cron": "61 * * * *"}, "cron", "minute"),
        ({"cron": "0 0 31 4 *"}, "cron", "never"),
        ({"cron": ""}, "cron", "needs this"),
        ({"trigger_kind": "INTERVAL", "interval_ms": ""}, "interval_ms", "needs this"),
        ({"trigger_kind": "INTERVAL", "interval_ms": "10ms"}, "interval_ms", "1s"),
        ({"timezone": "Europe/Pariss"}, "timezone", "Europe/Paris"),
        ({"timeout_ms": "soon"}, "timeout_ms", "30s"),
        ({"timeout_ms": "2d"}, "timeout_ms", "1d"),
        ({"timeout_ms": "3600"}, "timeout_ms", "say '3600s' or '1h'"),
        ({"max_attempts": "5000"}, "max_attempts", "1000"),
        ({"args": "{}"}, "args", "JSON list"),
        ({"kwargs": "{nope"}, "kwargs", "Give JSON"),
        ({"start_at": "2030-01-02T00:00", "end_at": "2030-01-01T00:00"}, "end_at", "start_at"),
        ({"min_interval_ms": "2h", "max_interval_ms": "1h"}, "max_interval_ms", "min_interval_ms"),
        ({"retry_for": "not a name"}, "retry_for", "ValueError"),
        ({"name": ""}, "name", "required"),
        ({"name": "taken"}, "name", "no other routine"),
        ({"task": "nowhere.task"}, "task", "valid choice"),
    ],
)
def test_what_is_wrong_stands_at_its_field(operator: Client, changes: dict[str, str], field: str, says: str) -> None:
    """Nothing is written, and the field says what would be right."""
    make_routine("taken")
    response = save(operator, reverse(ADD), **(NEW | changes))
    errors = response.context["adminform"].form.errors
    assert says.lower() in " ".join(errors[field]).lower()
    assert Routine.objects.count() == 1


def test_several_errors_are_shown_together(operator: Client) -> None:
    """A person mends all of them in one go, and reads each on the page."""
    response = save(operator, reverse(ADD), **(NEW | {"timezone": "Mars", "max_attempts": "0", "timeout_ms": "x"}))
    errors = response.context["adminform"].form.errors
    assert {"timezone", "max_attempts", "timeout_ms"} <= set(errors)
    assert all(escape(said) in response.text for field in errors.values() for said in field)


@pytest.mark.usefixtures("unrendered")
def test_a_time_out_can_be_set_to_none_and_unset(operator: Client) -> None:
    """What the form shows of either is what it sends back."""
    routine = make_routine()
    for typed_in, stored, shown in (("0s", 0, "0s"), ("", None, None), ("5 min", 300_000, "5m")):
        save(operator, change_url(routine), timeout_ms=typed_in)
        assert Routine.objects.get().timeout_ms == stored
        assert form_of(operator, change_url(routine))["timeout_ms"].value() == shown
    save(operator, change_url(routine), description="untouched")
    assert Routine.objects.get().timeout_ms == 300_000


def test_an_edit_of_a_stale_version_is_refused(operator: Client) -> None:
    """Somebody else saved in between: the form says so and overwrites nothing."""
    routine = make_routine()
    data = typed(form_of(operator, change_url(routine)), timeout_ms="90s")
    service.update_routine(routine.pk, description="changed meanwhile")
    response = operator.post(change_url(routine), data)
    assert "read it again" in str(response.context["adminform"].form.non_field_errors())
    assert Routine.objects.get().timeout_ms is None


def test_secrets_are_masked_and_kept(operator: Client) -> None:
    """The form never shows a secret, and saving another field keeps it."""
    routine = make_routine(kwargs={"password": "hunter2", "limit": 5})
    page = operator.get(change_url(routine))
    assert "hunter2" not in page.content.decode()
    save(operator, change_url(routine), description="edited")
    assert Routine.objects.values_list("description", "kwargs").get() == ("edited", routine.kwargs)


def test_an_interval_can_become_a_cron_and_manual(operator: Client) -> None:
    """The field that the trigger does not need is ignored, whatever is left in it."""
    routine = make_routine(interval_ms=60_000)
    save(operator, change_url(routine), trigger_kind="CRON", cron="0 1 * * *", interval_ms="60s")
    assert Routine.objects.values_list("trigger_kind", "cron", "interval_ms").get() == ("CRON", "0 1 * * *", None)
    save(operator, change_url(routine), trigger_kind="MANUAL")
    assert Routine.objects.values_list("trigger_kind", "cron").get() == ("MANUAL", "")


def test_an_unregistered_task_can_keep_its_other_fields_edited(operator: Client) -> None:
    """The stored task stays a choice and says that it is not registered."""
    routine = make_routine(task="gone.task")
    assert "gone.task (not registered)" in operator.get(change_url(routine)).content.decode()
    save(operator, change_url(routine), description="still here")
    assert Routine.objects.get().description == "still here"


def test_pools_and_parents_are_autocompleted(operator: Client) -> None:
    """The form does not list 100,000 parents; typing finds them."""
    make_routine("sync-a")
    Pool.objects.create(name="warehouse", max_concurrent=2)
    for field, term, found in (("parent", "sync", "sync-a"), ("pool", "ware", "warehouse (2)")):
        where = {"app_label": "routines", "model_name": "routine", "field_name": field, "term": term}
        assert operator.get(reverse("admin:autocomplete"), where).json()["results"][0]["text"] == found


@pytest.mark.parametrize("field", ["parent", "pool"])
@pytest.mark.parametrize("chosen", ["abc", "\x00", "9" * 5_000, "2" * 30, "-1"])
def test_a_row_that_cannot_be_is_refused_at_its_field(operator: Client, field: str, chosen: str) -> None:
    """Also where the form starts with it: the widget would ask the database for it."""
    response = save(operator, reverse(ADD), **NEW, **{field: chosen})
    assert response.context["adminform"].form.errors.keys() == {field}
    assert operator.get(reverse(ADD), {field: chosen[:3_900]}).status_code == 200
    assert not Routine.objects.exists()


@pytest.mark.parametrize("field", ["args", "kwargs"])
@pytest.mark.parametrize(
    ("typed_in", "said"),
    [
        ("[" * 100_000 + "]" * 100_000, "Nest at most 25 levels."),
        ('{"a":' * 5_000 + "1" + "}" * 5_000, "Nest at most 25 levels."),
        (f"[{'9' * 5_000}]", "Whole numbers of at most 64 bits; give larger ones as text."),
        (f'{{"a": {"9" * 5_000}}}', "Whole numbers of at most 64 bits; give larger ones as text."),
    ],
    ids=["lists", "objects", "digits", "digits below"],
)
def test_arguments_that_no_parser_bears_are_refused_at_their_field(
    operator: Client, field: str, typed_in: str, said: str
) -> None:
    """In the form of the routine, and where a run is asked for."""
    routine = make_routine()
    for address in (reverse(ADD), change_url(routine)):
        response = save(operator, address, **(NEW if address == reverse(ADD) else {}), **{field: typed_in})
        assert response.context["adminform"].form.errors[field] == [said]
    response = operator.post(verb_url(routine, "run"), {field: typed_in})
    assert response.context["form"].errors[field] == [said]


@pytest.mark.parametrize(
    ("kind", "typed_into"),
    [
        ("MANUAL", {"cron": "0 9 * * *"}),
        ("MANUAL", {"interval_ms": "10m"}),
        ("MANUAL", {"once_at": "2999-01-01T09:00:00"}),
        ("CRON", {"cron": "0 9 * * *", "interval_ms": "10m"}),
    ],
)
def test_what_the_trigger_has_no_use_for_is_not_dropped_silently(
    operator: Client, kind: str, typed_into: dict[str, str]
) -> None:
    """Without scripts every field can be typed into: the last one says what to do about it."""
    response = save(operator, reverse(ADD), **(NEW | {"cron": "", "trigger_kind": kind} | typed_into))
    assert "choose" in str(response.context["adminform"].form.errors[list(typed_into)[-1]])
    assert not Routine.objects.exists()


def test_the_old_schedule_goes_with_its_trigger(operator: Client) -> None:
    """What was stored and not typed is no mistake: without scripts the old cron is still in its field."""
    routine = make_routine()
    save(operator, change_url(routine), trigger_kind="MANUAL")
    routine.refresh_from_db()
    assert (routine.trigger_kind, routine.cron) == ("MANUAL", "")


def test_a_closed_part_of_the_form_opens_over_an_error(operator: Client) -> None:
    """Without scripts too: an error that nobody sees cannot be mended."""
    address = change_url(make_routine())
    response = operator.post(address, typed(form_of(operator, address), min_interval_ms="nonsense", emphasis="x"))
    (part,) = [one for one in response.context["adminform"] if one.name == "Rank and pace"]
    assert not part.is_collapsible
