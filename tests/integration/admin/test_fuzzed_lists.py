"""Lists, searches, fragments and addresses of the admin, asked for what cannot be: an answer, never a crash."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from hypothesis import example, given
from hypothesis import strategies as st

from routines_app.admin.run_question import OLDER_NAMES, OWN
from routines_app.models import Pool, RoutineRun
from routines_app.protocol.ledger import clock
from tests.browser.scenes import ended, make_routine
from tests.integration.admin.pages import overview_url, run_url
from tests.integration.fuzzing import VALUES, Pairs, asked, fuzzed, pairs, path_part

# Others are refused at once (test_own_filters.py), and would keep these from being asked.
OF_ALL = ["q", "o", "p", "all", "_facets", "_popup"]
OF_ROUTINES = ["status", "trigger_kind", "concurrency_policy", "priority"]
FILTERS = {
    "routine": ["health", "tag", *(f"{field}__{way}" for field in OF_ROUTINES for way in ("exact", "isnull"))],
    "routinerun": [*OWN, *OLDER_NAMES],
    "pool": [],
}
SEARCHED = ["term", "page", "app_label", "model_name", "field_name"]
PATHS = ["routine/{}/", "routine/{}/change/", "routine/{}/overview/", "routine/{}/do/run/", "routine/1/do/{}/"]
PATHS += ["routine/{}/history/", "routine/{}/delete/", "pool/{}/change/", "pool/{}/delete/", "pool/{}/history/"]
PATHS += ["routinerun/{}/change/", "routinerun/{}/live/", "routinerun/{}/cancel/", "routinerun/{}/history/", "{}"]


@pytest.fixture
def client(operator: Client) -> Client:
    pool = Pool.objects.create(name="warehouse", max_concurrent=2)
    ended(make_routine("stored", tags=["a"], pool=pool), clock.now())
    return operator


LISTS = st.sampled_from(sorted(FILTERS)).flatmap(
    lambda model: st.tuples(st.just(model), pairs(OF_ALL + FILTERS[model]))
)


@fuzzed(40)
@given(chosen=LISTS)
@example(chosen=("routine", [("tag", b"a\x00b")]))
@example(chosen=("routine", [("status__exact", b"\x00")]))
@example(chosen=("routinerun", [("reason", b"\x00"), ("p", b"9" * 5_000)]))
def test_every_list(client: Client, chosen: tuple[str, Pairs]) -> None:
    """Filters, search, order and page."""
    model, values = chosen
    asked(client, reverse(f"admin:routines_{model}_changelist"), values)


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


@fuzzed(20)
@given(values=pairs([*OWN, *OLDER_NAMES]))
@example(values=[("error", b"a\x00b"), ("q", b"\x00")])
def test_pages_of_many_runs(client: Client, values: Pairs) -> None:
    """They read what the list reads."""
    for address in ("run_groups", "run_many"):
        asked(client, reverse(f"admin:routines_{address}", args=["retry"] if address == "run_many" else []), values)


@fuzzed(30)
@given(path=st.sampled_from(PATHS), value=VALUES)
def test_addresses(client: Client, path: str, value: bytes) -> None:
    """What nobody has is not found."""
    asked(client, "/admin/routines/" + path.format(path_part(value[:8_000])), [])
