"""The routine form: what a message carries, and tasks that only their workers know."""

from __future__ import annotations

import json

from django.test import Client
from django.urls import reverse

from routines_app.masks import MASK
from routines_app.models import Routine
from tests.browser.scenes import make_routine
from tests.integration.admin.pages import overview_url
from tests.integration.admin.test_form import ADD, NEW, change_url, form_of, save
from tests.integration.conftest import NOTE

SECRET = {"priority": 4, "headers": {"token": "s3cret"}}
ELSEWHERE = "warehouse.tasks.note"


def test_options_are_typed_shown_and_taken_away(operator: Client) -> None:
    """As JSON; empty means none."""
    save(operator, reverse(ADD), **NEW, options=json.dumps({"priority": 4}))
    routine = Routine.objects.get()
    assert routine.options == {"priority": 4}
    assert "&quot;priority&quot;: 4" in operator.get(overview_url(routine)).content.decode()
    save(operator, change_url(routine), options="")
    routine.refresh_from_db()
    assert (routine.options, routine.version) == (None, 2)
    assert form_of(operator, change_url(routine))["options"].value() == ""


def test_a_wrong_option_is_told_at_its_field(operator: Client) -> None:
    page = save(operator, reverse(ADD), **NEW, options='{"priority": "much"}')
    assert "Priority: give a whole number" in str(page.context["adminform"].form.errors["options"])


def test_secrets_in_headers_are_masked_and_kept(operator: Client) -> None:
    """They go where they were meant to go: with other options, arguments, a task or a queue they are typed anew."""
    routine = make_routine(options=SECRET, task=NOTE)
    assert "s3cret" not in operator.get(overview_url(routine)).content.decode()
    shown = form_of(operator, change_url(routine))["options"].value()
    assert MASK in shown
    save(operator, change_url(routine), description="kept")
    assert Routine.objects.values_list("options", "description").get() == (SECRET, "kept")
    for changes in ({"options": json.dumps({"exchange": "mine", "headers": {"token": MASK}})}, {"queue": "mine"}):
        page = save(operator, change_url(routine), **changes)
        assert "is hidden" in str(page.context["adminform"].form.errors["options"])
    routine.refresh_from_db()
    assert routine.options == SECRET


def test_hidden_arguments_do_not_go_another_way(operator: Client) -> None:
    """An exchange is as good as a queue for whoever wants them executed elsewhere."""
    routine = make_routine(kwargs={"token": "s3cret"}, task=NOTE)
    page = save(operator, change_url(routine), options=json.dumps({"exchange": "mine"}))
    assert "because the message options changed" in str(page.context["adminform"].form.errors["kwargs"])


def test_a_task_that_nobody_here_knows_is_typed(operator: Client) -> None:
    """That is confirmation enough; the page says which names are close."""
    page = save(operator, reverse(ADD), **(NEW | {"task": "", "other_task": ELSEWHERE}))
    routine = Routine.objects.get()
    assert routine.task == ELSEWHERE
    assert "did you mean tests.acceptance.tasks.note?" in page.content.decode()
    save(operator, change_url(routine), description="later")
    assert Routine.objects.values_list("task", "description").get() == (ELSEWHERE, "later")
    save(operator, change_url(routine), other_task=NOTE)
    assert Routine.objects.get().task == NOTE


def test_without_any_task_the_form_asks_for_one(operator: Client) -> None:
    page = save(operator, reverse(ADD), **(NEW | {"task": ""}))
    assert "required" in str(page.context["adminform"].form.errors["task"])
    page = save(operator, reverse(ADD), **(NEW | {"other_task": "routines_app.execute_run"}))
    assert "of yours" in str(page.context["adminform"].form.errors["task"])


def test_hidden_arguments_are_not_given_to_another_task(operator: Client) -> None:
    routine = make_routine(kwargs={"token": "s3cret"}, task=NOTE)
    page = save(operator, change_url(routine), other_task="mine.tasks.send_away")
    assert "because the task changed" in str(page.context["adminform"].form.errors["kwargs"])
