"""What the addresses of the lists may ask for."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from routines_app.models import Pool, RoutineRun
from routines_app.protocol.ledger import clock
from tests.browser.scenes import ended, make_routine
from tests.integration.admin.pages import told


@pytest.mark.parametrize(
    ("model", "query"),
    [
        ("routine", "kwargs__password__startswith=h"),
        ("routine", "kwargs__contains=hunter2"),
        ("routine", "status__startswith=A"),
        ("routine", "parent__kwargs__contains=h"),
        ("routine", "health__startswith=f"),
        ("routinerun", "result__contains=h"),
        ("routinerun", "error__startswith=h"),
        ("routinerun", "traceback__regex=h"),
        ("routinerun", "routine__kwargs__password__startswith=h"),
        ("routinerun", "kwargs=h"),
        ("pool", "name__startswith=w"),
        ("pool", "routines__kwargs__contains=h"),
    ],
)
def test_a_list_answers_to_no_lookup_but_its_own_filters(viewer: Client, model: str, query: str) -> None:
    """Any other would tell masked values letter by letter, and read every row for it."""
    ended(make_routine(kwargs={"password": "hunter2"}), clock.now())
    assert viewer.get(f"{reverse(f'admin:routines_{model}_changelist')}?{query}").status_code == 400


@pytest.mark.parametrize(
    ("model", "query"),
    [
        ("routine", "status__exact=ACTIVE&trigger_kind__exact=CRON&concurrency_policy__exact=ALLOW&o=1&q=n"),
        ("routine", "health=late&tag=a"),
        ("routinerun", "status__exact=SUCCESS&trigger__exact=SCHEDULE&reason=overlap"),
    ],
)
def test_the_lists_own_filters_are_answered(viewer: Client, model: str, query: str) -> None:
    """What the links beside the list ask for."""
    ended(make_routine(), clock.now())
    assert viewer.get(f"{reverse(f'admin:routines_{model}_changelist')}?{query}").status_code == 200


@pytest.mark.parametrize("model", ["routine", "routinerun", "pool"])
def test_every_link_of_the_filters_leads_to_a_list(viewer: Client, model: str) -> None:
    """No filter offers an address that the list refuses."""
    ended(make_routine(tags=["a"]), clock.now())
    address = reverse(f"admin:routines_{model}_changelist")
    changelist = viewer.get(address).context["cl"]
    links = [choice["query_string"] for spec in changelist.filter_specs for choice in spec.choices(changelist)]
    assert [link for link in links if viewer.get(address + link).status_code != 200] == []


@pytest.mark.parametrize(
    ("model", "parameter"),
    [
        *(("routine", name) for name in ("tag", "health", "status__exact", "trigger_kind__exact", "priority__exact")),
        *(("routinerun", name) for name in ("reason", "status__exact", "trigger__exact", "status__isnull")),
        *((model, name) for model in ("routine", "routinerun", "pool") for name in ("q", "o", "p", "_facets", "a%00b")),
    ],
)
def test_a_nul_character_is_answered_with_the_list_and_a_word_about_it(
    operator: Client, model: str, parameter: str
) -> None:
    """PostgreSQL would raise where it should find nothing."""
    ended(make_routine(), clock.now())
    response = operator.get(f"{reverse(f'admin:routines_{model}_changelist')}?{parameter}=a%00", follow=True)
    assert response.status_code == 200
    assert told(response) == ["No text has a NUL character: the list is shown without filters."]


@pytest.mark.parametrize("field", ["parent", "pool"])
def test_the_search_of_a_form_finds_nothing_for_a_nul_character(operator: Client, field: str) -> None:
    """It asks the database by itself."""
    asked = {"app_label": "routines", "model_name": "routine", "field_name": field, "term": "a\x00b"}
    assert operator.get(reverse("admin:autocomplete"), asked).json()["results"] == []


@pytest.mark.parametrize("parameter", ["p", "o", "all", "q", "tag", "status__exact"])
def test_thousands_of_digits_are_no_number_and_no_crash(operator: Client, parameter: str) -> None:
    """A database refuses to store them, and Python to read more of them; no address is as long as that."""
    make_routine()
    address = f"{reverse('admin:routines_routine_changelist')}?{parameter}="
    assert operator.get(f"{address}{'9' * 3_900}", follow=True).status_code == 200
    assert operator.get(f"{address}{'9' * 5_000}", follow=True).status_code == 414


@pytest.mark.parametrize("chosen", ["abc", "\x00", "9" * 5_000, "-1", ""])
def test_an_action_is_for_routines_that_are_chosen_by_their_ids(operator: Client, chosen: str) -> None:
    """Django would hand the text to the database."""
    routine = make_routine()
    data = {"action": "run_routines", "_selected_action": [routine.pk, chosen], "index": 0}
    assert operator.post(reverse("admin:routines_routine_changelist"), data).status_code == 400
    assert not RoutineRun.objects.exists()


@pytest.mark.parametrize("model", ["routine", "pool"])
def test_a_form_that_names_no_column_is_that_of_the_row(operator: Client, model: str) -> None:
    """Django's pop-ups name one, and anybody can leave it empty."""
    pool = Pool.objects.create(name="p", max_concurrent=1)
    row = pool if model == "pool" else make_routine(pool=pool)
    address = reverse(f"admin:routines_{model}_change", args=[row.pk])
    assert operator.get(f"{address}?_to_field=").status_code == 200
    assert operator.post(address, {"_to_field": ""}).status_code == 200
