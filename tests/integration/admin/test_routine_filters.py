"""The filters of the routines list, its search and its order."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client

from routines_app import service
from routines_app.models import Node, Pool, RoutineState
from routines_app.protocol.ledger import clock
from routines_app.verbs import distinct, search_index
from tests.browser.scenes import make_routine, make_run
from tests.integration.admin.pages import list_url
from tests.integration.conftest import NOTE

pytestmark = pytest.mark.each_database

GONE, REMOTE = "gone.tasks.old", "remote.tasks.known_by_a_worker"


def listed(client: Client, query: str) -> list[str]:
    page = client.get(f"{list_url()}?{query}")
    assert page.status_code == 200
    return [row.name for row in page.context["cl"].result_list]


@pytest.fixture
def fleet(db: None) -> None:
    now = clock.now()
    pool = Pool.objects.create(name="narrow", max_concurrent=1)
    Node.objects.create(name="w", role="worker", host="h", pid=1, tasks=[REMOTE], started_at=now, seen_at=now)
    make_routine("alpha", pool=pool, group="sales", tags=["a", "b"], task=NOTE)
    make_routine("beta", group="stock", tags=["b", "c"], task=GONE, declared_in="code:code")
    make_routine("gamma", tags=["c"], task=REMOTE, priority="HIGH")
    ran = make_routine("delta", tags=["with, comma"], task=NOTE)
    RoutineState.objects.filter(pk=ran.pk).update(last_run_at=now, next_run_at=now - timedelta(minutes=5))
    make_run(ran, at=now, status="RUNNING", reason="overdue", started_at=now)


@pytest.mark.usefixtures("fleet")
def test_each_filter_finds_its_routines(viewer: Client) -> None:
    """Alone and together with others; what does not combine finds nothing."""
    pool = Pool.objects.get().pk
    expected = {
        f"pool={pool}": ["alpha"],
        "pool=none": ["beta", "delta", "gamma"],
        "group=stock": ["beta"],
        "group=nobody": [],
        "declared=code": ["beta"],
        "declared=database": ["alpha", "delta", "gamma"],
        "task=unregistered": ["beta"],
        "ran=never": ["gamma", "beta", "alpha"],  # the newest first
        "health=late": ["delta"],
        "health=overdue": ["delta"],
        "health=failing": ["delta"],
        "tag=b": ["alpha", "beta"],
        "tag=b&tag=c": ["beta"],
        "tag=a&tag=c&tags=any": ["alpha", "beta", "gamma"],
        "tag=with%2C+comma": ["delta"],
        "tag=b&declared=code&ran=never&task=unregistered": ["beta"],
        "tag=b&priority__exact=HIGH": [],
        "health=failing&ran=never": [],
    }
    assert {query: listed(viewer, query) for query in expected} == expected


@pytest.mark.usefixtures("fleet")
def test_tags_are_added_and_taken_away_by_their_links(viewer: Client) -> None:
    """What is chosen elsewhere stays, in the search's form too."""
    page = viewer.get(f"{list_url()}?tag=b&tag=c&priority__exact=MEDIUM")
    changelist = page.context["cl"]
    (tags,) = [spec for spec in changelist.filter_specs if spec.title == "tag"]
    links = {choice["display"]: choice["query_string"] for choice in tags.choices(changelist)}
    assert links["c"] == "?priority__exact=MEDIUM&tag=b"
    assert links["a"] == "?priority__exact=MEDIUM&tag=b&tag=c&tag=a"
    assert links["(any of them is enough)"] == "?priority__exact=MEDIUM&tag=b&tag=c&tags=any"
    assert page.content.decode().count('<input type="hidden" name="tag" value=') == 2


def test_a_pool_that_is_none_is_refused(viewer: Client) -> None:
    """Ignored, it would show everything to somebody who is about to act on all that match."""
    make_routine()
    assert viewer.get(f"{list_url()}?pool=x").status_code == 302


@pytest.mark.usefixtures("fleet")
def test_many_different_tasks_are_asked_row_by_row(viewer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is the same."""
    monkeypatch.setattr(distinct, "TASKS", 1)
    assert listed(viewer, "task=unregistered") == ["beta"]


def test_what_is_offered_is_bounded(operator: Client) -> None:
    """Forty groups and pools: thirty of each, and the one that is chosen."""
    for number in range(40):
        pool = Pool.objects.create(name=f"p-{number:02}", max_concurrent=1)
        make_routine(f"r-{number}", group=f"g-{number:02}", pool=pool)
    changelist = operator.get(f"{list_url()}?group=g-39&pool={Pool.objects.latest('pk').pk}").context["cl"]
    sizes = {
        str(spec.title): len(spec.lookup_choices) for spec in changelist.filter_specs if hasattr(spec, "lookup_choices")
    }
    assert (sizes["group"], sizes["pool"]) == (31, 32)
    assert service.groups_of_routines(3) == ["g-00", "g-01", "g-02"]


@pytest.mark.usefixtures("fleet")
def test_a_search_finds_how_names_begin_and_every_part_where_it_has_the_index(
    viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The field says which; words of two letters have no trigram, and begin."""
    monkeypatch.setattr(search_index, "_found", {service.ledger_alias(): False})
    found = {query: listed(viewer, f"q={query}") for query in ("ALP", "lph", "sal", "alpha+sal", "alpha+gone")}
    assert found == {"ALP": ["alpha"], "lph": [], "sal": ["alpha"], "alpha+sal": ["alpha"], "alpha+gone": []}
    assert "begins" in viewer.get(list_url()).content.decode()
    monkeypatch.setattr(search_index, "_found", {service.ledger_alias(): True})
    assert {query: listed(viewer, f"q={query}") for query in ("LPH", "lp", "al")} == {
        "LPH": ["alpha"],
        "lp": [],
        "al": ["alpha"],
    }
    assert "any part" in viewer.get(list_url()).content.decode()


@pytest.mark.django_db(transaction=True)
def test_the_index_for_parts_of_names_is_made_or_refused_with_a_reason() -> None:
    """An embedded PostgreSQL has no pg_trgm, other databases no trigrams at all: both are told, and nothing breaks."""
    with pytest.raises(service.NotAllowed, match=r"pg_trgm|only PostgreSQL"):
        service.index_search()
    assert not service.finds_parts(anew=True)


def test_by_next_fire_a_paused_routine_is_where_its_pause_ends(operator: Client) -> None:
    """As the column says it, in both directions, and in the order of names where there is nothing to look at."""
    now = clock.now()
    for name, hours in (("late", 9), ("soon", 1)):
        make_routine(name, status="PAUSED", paused_until=now + timedelta(hours=hours))
    for name in ("b-never", "a-never"):
        make_routine(name, status="PAUSED")
    make_routine("shelved", status="ARCHIVED")
    up = listed(operator, "status__exact=PAUSED&o=4")
    down = listed(operator, "status__exact=PAUSED&o=-4")
    if connection.features.nulls_order_largest:
        assert up == ["soon", "late", "a-never", "b-never"]
    assert down == list(reversed(up))
    assert listed(operator, "status__exact=ARCHIVED&o=4") == ["shelved"]


def test_by_next_fire_the_rest_is_in_the_order_of_its_plan(operator: Client) -> None:
    """The same whether the few that match are sorted or the many looked for."""
    soon, later = make_routine("soon", interval_ms=60_000), make_routine("later", interval_ms=3_600_000)
    manual = make_routine("manual", trigger_kind="MANUAL", cron="")
    fires = {state.pk: state.next_run_at for state in RoutineState.objects.all()}
    assert fires[soon.pk] < fires[later.pk]
    assert fires[manual.pk] is None
    assert [name for name in listed(operator, "o=4") if name != "manual"] == ["soon", "later"]
    assert [name for name in listed(operator, "o=-4") if name != "manual"] == ["later", "soon"]


@pytest.mark.django_db
@pytest.mark.parametrize("walked", [0, 5, 1_000])
@pytest.mark.parametrize("order", ["", "&o=-1", "&o=4", "&o=-4"])
def test_a_search_that_finds_very_many_keeps_the_order(
    viewer: Client, monkeypatch: pytest.MonkeyPatch, walked: int, order: str
) -> None:
    """Whether they are among the first of all or at the far end, page after page."""
    monkeypatch.setattr("routines_app.admin.changelist.WALKED", walked)
    now = clock.now()
    for number in range(16):
        routine = make_routine(f"{['left', 'right'][number % 2]} {number:02}")
        RoutineState.objects.filter(pk=routine.pk).update(next_run_at=now + timedelta(minutes=number * 7 % 16))
    monkeypatch.setattr("routines_app.admin.routines.RoutineAdmin.list_per_page", 2)
    every = [name for page in range(1, 9) for name in listed(viewer, f"p={page}{order}") if name.startswith("right")]
    monkeypatch.setattr("routines_app.admin.paging.COUNTED_AT_MOST", 6)
    assert len(every) == 8
    assert [name for page in (1, 2, 3) for name in listed(viewer, f"q=right&p={page}{order}")] == every[:6]
