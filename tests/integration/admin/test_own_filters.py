"""What the addresses of the lists may ask for."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from routines_app.protocol.ledger import clock
from tests.browser.scenes import ended, make_routine


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
