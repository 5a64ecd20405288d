"""Values that plain SQL or a task has stored and that Python cannot read: every page says so, and none breaks."""

from __future__ import annotations

import pytest
from django.db import connection
from django.db.models import TextField, Value
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from routines_app import service
from routines_app.models import Routine, RoutineRun
from routines_app.models.json_field import TOO_DEEP
from routines_app.protocol.ledger import clock
from tests.browser.scenes import ended, make_routine, make_run
from tests.integration.admin.pages import list_url, overview_url, run_url, verb_url
from tests.integration.admin.test_form import change_url, save

DEEP = "[" * 950 + "]" * 950  # SQLite takes 1,000 levels
DIGITS = f"[{'9' * 5_000}]"
NUMBERS = '{"done": 1e400, "total": 9' + "0" * 400 + "}"


def store(table: str, columns: list[str], value: str) -> None:
    """As an administrator of the database would: past everything that checks."""
    if connection.vendor == "mysql" and value == DEEP:
        pytest.skip("MariaDB takes 31 levels")
    values = ", ".join(f"{connection.ops.quote_name(column)} = %s" for column in columns)
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {table} SET {values}", [value] * len(columns))


def every_page(routine: Routine, run: RoutineRun) -> list[str]:
    lists = [reverse(f"admin:routines_{model}_changelist") for model in ("routine", "routinerun", "pool")]
    of_routine = [overview_url(routine), change_url(routine), *(verb_url(routine, verb) for verb in ("run", "pause"))]
    of_run = [run_url(run), run_url(run, "live"), f"{verb_url(routine, 'run')}?like={run.pk}"]
    return [*lists, *of_routine, *of_run, reverse("admin:routines_fleet"), f"{list_url()}?tag=a&o=4"]


@pytest.mark.parametrize("value", [DEEP, DIGITS, NUMBERS, '"text"', "5", "[]"], ids=lambda value: value[:8])
def test_every_page_bears_what_sql_has_written(operator: Client, value: str) -> None:
    """One row does not break a list, nor its own page: it must be looked at to be mended."""
    routine = make_routine("stored", concurrency_policy="FORBID")
    run = make_run(routine, at=clock.now(), status="RUNNING", started_at=clock.now())
    service.update_routine(routine, description="a change, for the history")
    store("routines_routine", ["args", "kwargs", "tags", "retry_for", "no_retry_for"], value)
    store("routines_routinerun", ["args", "kwargs", "progress"], value)
    store("routines_schedulechange", ["before", "after"], value)
    answers = {address: operator.get(address).status_code for address in every_page(routine, run)}
    assert set(answers.values()) == {200}, answers


def test_the_page_of_a_routine_says_what_is_not_read_and_the_form_mends_it(operator: Client) -> None:
    """Typing arguments again is enough."""
    routine = make_routine("stored")
    store("routines_routine", ["args"], DEEP)
    assert str(TOO_DEEP) in operator.get(overview_url(routine)).text
    save(operator, change_url(routine), args="[1]")
    assert Routine.objects.get().args == [1]


@pytest.mark.parametrize("result", [DEEP, f'{{"a": {DEEP}}}', DIGITS, '{"token":' * 3_000, "[" * 3_000])
def test_a_result_that_cannot_be_read_is_shown_by_its_look(operator: Client, result: str) -> None:
    """Tasks return what they like."""
    run = ended(make_routine(), clock.now(), error=result, traceback=result)
    RoutineRun.objects.update(result=Value(result, TextField()))
    page = operator.get(run_url(run))
    assert page.status_code == 200
    assert result[:9].replace('"', "&quot;") in page.text


def test_the_views_for_own_pages_bear_it_too(operator: Client, settings: Settings) -> None:
    """Progress is told as it is stored."""
    settings.ROOT_URLCONF = "tests.browser.urls"
    routine = make_routine()
    make_run(routine, at=clock.now())
    store("routines_routinerun", ["progress", "args"], DEEP)
    assert operator.get(f"/routines/{routine.pk}/runs/").json()["runs"][0]["progress"] == TOO_DEEP
