"""Routines that are declared in code, in the admin: what people change stays, and can be given back."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from routines_app import service
from routines_app.masks import MASK
from routines_app.models import Pool, Routine, ScheduleChange
from routines_app.verbs.declare import declare_routine
from tests.integration.admin.pages import last_entry, overview_url, text_of, told, verb_url
from tests.integration.admin.test_form import change_url, form_of, save
from tests.integration.conftest import NOTE, Login

pytestmark = pytest.mark.usefixtures("db")
FIELDS = {"task": NOTE, "cron": "0 3 * * *", "timezone": "UTC", "kwargs": {"token": "s3cret"}, "timeout_ms": "10m"}


def declared(**fields: Any) -> Routine:
    return declare_routine("nightly", FIELDS | fields, "code:shop")


def test_all_but_name_and_task_can_be_typed_over(operator: Client) -> None:
    """It stays when code changes; secrets are masked, and go on as they are."""
    routine = declared()
    page = text_of(operator, change_url(routine))
    assert "Declared in the code of shop: its name and task can only be changed there." in page
    assert "s3cret" not in page
    assert not any(f'name="{field}"' in page for field in ("name", "task", "other_task"))
    assert all(f'name="{field}"' in page for field in ("cron", "kwargs", "queue"))
    save(operator, change_url(routine), cron="0 5 * * *", timeout_ms="90s", change_reason="slow days")
    routine = declared(cron="0 4 * * *")
    assert (routine.cron, routine.timeout_ms, routine.kwargs) == ("0 5 * * *", 90_000, {"token": "s3cret"})


def test_the_form_shows_what_code_says_beside_what_differs(operator: Client) -> None:
    """And nothing beside what does not; no secret of the code's either."""
    pool = Pool.objects.create(name="<narrow>", max_concurrent=1)
    routine = declared(pool=pool.name)
    form = form_of(operator, change_url(routine))
    assert not any("Code says" in str(field.help_text) for field in form.fields.values())

    changes = {"cron": "0 5 * * *", "timeout_ms": None, "kwargs": {"token": "mine"}, "pool": None, "keep_result": False}
    service.update_routine(routine, **changes)
    form = form_of(operator, change_url(routine))
    said = {name: str(field.help_text) for name, field in form.fields.items() if "Code says" in str(field.help_text)}
    assert said.keys() == changes.keys()
    assert "Code says: 0 3 * * *" in said["cron"]
    assert "Code says: 10m" in said["timeout_ms"]
    assert "Code says: &lt;narrow&gt;" in said["pool"]
    assert "Code says: yes" in said["keep_result"]
    assert MASK in said["kwargs"]
    page = text_of(operator, change_url(routine))
    assert "Code says: 0 3 * * *" in page
    assert "s3cret" not in page
    assert "<narrow>" not in page


def test_an_edited_trigger_is_shown_as_code_has_it(operator: Client) -> None:
    routine = declared()
    service.update_routine(routine, every="2h")
    form = form_of(operator, change_url(routine))
    said = [name for name, field in form.fields.items() if "Code says" in str(field.help_text)]
    assert sorted(said) == ["cron", "trigger_kind"]
    page = text_of(operator, overview_url(routine))
    assert "1 field differs from code" in page
    assert '<th scope="row">schedule</th><td>every 2h</td><td><code>0 3 * * *</code></td>' in page


def test_the_page_counts_what_differs_and_gives_it_back_with_one_click(operator: Client) -> None:
    """One or all; who did it is in both histories."""
    routine = declared()
    assert "from code" not in text_of(operator, overview_url(routine))
    service.update_routine(routine, cron="0 5 * * *", timeout_ms="90s", queue="slow")
    page = text_of(operator, overview_url(routine))
    assert "3 fields differ from code" in page
    assert "It is declared in the code of shop." in page
    assert "s3cret" not in page

    response = operator.post(verb_url(routine, "give-back"), {"field": "timeout_ms"}, follow=True)
    assert told(response) == ["Gave timeout_ms of nightly back to code."]
    assert "2 fields differ from code" in " ".join(response.content.decode().split())

    operator.post(verb_url(routine, "give-back"), {"reason": "over"})
    routine.refresh_from_db()
    assert (routine.cron, routine.timeout_ms, routine.queue) == ("0 3 * * *", 600_000, "")
    change = ScheduleChange.objects.latest("id")
    assert (change.actor, change.reason) == ("root", "given back to code: over")
    assert "Gave cron, queue of nightly back to code" in last_entry().change_message

    response = operator.post(verb_url(routine, "give-back"), {}, follow=True)
    assert told(response)[-1:] == ["Left nightly as it is: that does not differ from code."]


def test_a_field_that_is_none_is_refused_on_the_page_that_asks(operator: Client) -> None:
    routine = declared()
    assert 'value="cron"' in text_of(operator, verb_url(routine, "give-back") + "?field=cron")
    response = operator.post(verb_url(routine, "give-back"), {"field": "cro"})
    assert response.status_code == 422
    assert "did you mean" in response.content.decode()


def test_only_who_may_change_it_may_give_back_and_only_what_code_declares(
    operator: Client, viewer: Client, login: Login
) -> None:
    routine = declared()
    service.update_routine(routine, queue="slow")
    page = text_of(viewer, overview_url(routine))
    assert "1 field differs from code" in page
    assert "give-back" not in page
    assert viewer.post(verb_url(routine, "give-back")).status_code == 403
    assert Routine.objects.get().queue == "slow"
    own = service.create_routine("own", task=NOTE)
    response = operator.get(verb_url(own, "give-back"), follow=True)
    assert told(response) == ["Give back to code is not for a routine that is not declared in code."]
