"""Lists, searches, fragments and addresses of the admin, asked for what cannot be: an answer, never a crash."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from routines_app.models import Pool, RoutineRun
from routines_app.protocol.ledger import clock
from tests.browser.scenes import ended, make_routine
from tests.integration.admin.pages import overview_url, run_url
from tests.integration.fuzzing import VALUES, Pairs, asked, fuzzed, pairs, path_part

OF_ALL = ["q", "o", "p", "all", "_facets", "e", "_popup", "_to_field", "id", "id__in", "pk"]
OF_ROUTINES = ["status", "trigger_kind", "concurrency_policy", "priority"]
FILTERS = {
    "routine": ["health", "tag", "name__startswith", "kwargs__x", "parent__name", "tags__0"],
    "routinerun": [
        "reason",
        "status__exact",
        "status__isnull",
        "trigger__exact",
        "trigger__isnull",
        "routine__id__exact",
    ],
    "pool": ["name", "max_concurrent__gt"],
}
FILTERS["routine"] += [f"{field}__{lookup}" for field in OF_ROUTINES for lookup in ("exact", "isnull", "in")]
SEARCHED = ["term", "page", "app_label", "model_name", "field_name"]
PATHS = ["routine/{}/", "routine/{}/change/", "routine/{}/overview/", "routine/{}/do/run/", "routine/1/do/{}/"]
PATHS += ["routine/{}/history/", "routine/{}/delete/", "pool/{}/change/", "pool/{}/delete/", "pool/{}/history/"]
PATHS += ["routinerun/{}/change/", "routinerun/{}/live/", "routinerun/{}/cancel/", "routinerun/{}/history/", "{}"]


@pytest.fixture
def client(operator: Client) -> Client:
    pool = Pool.objects.create(name="warehouse", max_concurrent=2)
    ended(make_routine("stored", tags=["a"], pool=pool), clock.now())
    return operator


@pytest.mark.parametrize("model", sorted(FILTERS))
@fuzzed(15)
@given(data=st.data())
def test_every_list(client: Client, model: str, data: Any) -> None:
    """Filters, search, order and page."""
    asked(client, reverse(f"admin:routines_{model}_changelist"), data.draw(pairs([*OF_ALL, *FILTERS[model]])))


@fuzzed(10)
@given(changed=pairs(SEARCHED, most=2), field=st.sampled_from(["parent", "pool"]))
def test_the_search_of_the_forms(client: Client, changed: Pairs, field: str) -> None:
    """What the widgets of a routine's form ask."""
    filled = {"term": b"s", "app_label": b"routines", "model_name": b"routine", "field_name": field.encode()}
    names = {name for name, _ in changed}
    values = [(name, value) for name, value in filled.items() if name not in names]
    asked(client, reverse("admin:autocomplete"), values + changed)


@fuzzed(8)
@given(values=pairs(["window", "like", "limit", "next", "e"]))
def test_pages_and_fragments(client: Client, values: Pairs) -> None:
    """They read little of their address, and bear the rest."""
    run = RoutineRun.objects.get()
    for address in (overview_url(run.routine), run_url(run), run_url(run, "live")):
        asked(client, address, values)
    asked(client, reverse("admin:routines_fleet_live"), values)


@fuzzed(30)
@given(path=st.sampled_from(PATHS), value=VALUES)
def test_addresses(client: Client, path: str, value: bytes) -> None:
    """What nobody has is not found."""
    asked(client, "/admin/routines/" + path.format(path_part(value[:8_000])), [])
