"""Pages ask the same number of questions however much there is to show."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from pytest_django import Settings

from routines_app.admin.paging import COUNTED_AT_MOST, CappedPaginator
from routines_app.coordination import leases
from routines_app.models import Pool, Routine, RoutineRun
from routines_app.protocol.ledger import clock
from tests.browser.rotation_scene import make_member, make_rotation
from tests.browser.scenes import a_working_day, ended, make_routine
from tests.integration.admin.pages import list_url, overview_url, run_url

SESSION = 2  # the session and the user
SOME = 3  # what a rotation asks more when there is a tick, a pick and somebody stale to be named

pytestmark = pytest.mark.usefixtures("measured_clock")


def queries_of(client: Client, address: str) -> int:
    client.get(address)  # content types and the like are remembered after the first time
    with CaptureQueriesContext(connection) as captured:
        assert client.get(address).status_code == 200
    return len(captured)


def add_routines(count: int, start: int = 0) -> None:
    pool = Pool.objects.get_or_create(name="p", defaults={"max_concurrent": 3})[0]
    now = clock.now()
    for number in range(start, start + count):
        routine = make_routine(f"routine-{number:03}", pool=pool)
        for minutes in range(3):
            ended(routine, now - timedelta(minutes=minutes))
        make_member(make_rotation(f"rotation-{number:03}"), f"member-{number:03}")


@pytest.mark.parametrize(
    ("page", "expected"),
    [("routine_changelist", 9), ("routinerun_changelist", 4), ("pool_changelist", 3), ("rotation_changelist", 3)],
)
def test_a_list_asks_as_much_for_many_rows_as_for_few(operator: Client, page: str, expected: int) -> None:
    """A page of a list costs a fixed number of queries: no query per row."""
    address = reverse(f"admin:routines_{page}")
    add_routines(2)
    few = queries_of(operator, address)
    add_routines(20, start=2)
    assert queries_of(operator, address) == few == SESSION + expected


def test_the_page_of_a_routine_asks_a_fixed_number_of_questions(operator: Client) -> None:
    """Its runs, its pace, its history and its plan, each once."""
    routine = make_routine()
    ended(routine, clock.now())
    few = queries_of(operator, overview_url(routine))
    for minutes in range(30):
        ended(routine, clock.now() - timedelta(minutes=minutes))
    assert queries_of(operator, overview_url(routine)) == few == SESSION + 8


def test_the_page_of_a_rotation_asks_a_fixed_number_of_questions(operator: Client) -> None:
    """However many its members, its ticks and its samples are."""
    rotation = make_rotation()
    make_member(rotation, "first")
    address = reverse("admin:routines_rotation_overview", args=[rotation.pk])
    few = queries_of(operator, address)
    for number in range(30):
        make_member(rotation, f"m-{number}", phase=number % 3)
        tick = ended(rotation.routine, clock.now(), 0, reason="picked", result={"picked": []})
        ended(rotation.routine, clock.now(), 0, phase="seed", rotation=rotation, tick=tick.pk)
    assert queries_of(operator, address) <= few + SOME


def heavy_reads(captured: CaptureQueriesContext) -> list[str]:
    """The queries that read what can be megabytes per run."""
    return [query["sql"] for query in captured if '"traceback"' in query["sql"] or '"result"' in query["sql"]]


def test_the_page_of_a_routine_reads_no_results(operator: Client) -> None:
    """The ledger and the lease's holder are shown without results and tracebacks, so they are not loaded."""
    routine = make_routine(concurrency_policy="FORBID")
    run = ended(routine, clock.now(), result="x" * 10_000)
    leases.acquire(routine.pk, str(run.pk), 30)
    with CaptureQueriesContext(connection) as captured:
        page = operator.get(overview_url(routine))
    assert page.context["ledger"] == [page.context["lease"].run] == [run]
    assert not heavy_reads(captured)


def test_watching_a_run_reads_no_results(operator: Client, settings: Settings) -> None:
    """The button asks every 1.5 seconds."""
    settings.ROOT_URLCONF = "tests.browser.urls"
    run = ended(make_routine(), clock.now(), result="x" * 10_000)
    with CaptureQueriesContext(connection) as captured:
        assert len(operator.get(f"/routines/{run.routine_id}/runs/?limit=50").json()["runs"]) == 1
    assert len(captured) == SESSION + 2
    assert not heavy_reads(captured)


def test_the_page_of_a_pool_asks_only_what_an_index_answers(operator: Client) -> None:
    """Ended runs of a pool have no index of their own: the page must not look for them."""
    pool = Pool.objects.create(name="p", max_concurrent=3)
    with CaptureQueriesContext(connection) as captured:
        page = operator.get(reverse("admin:routines_pool_change", args=[pool.pk]))
    assert "Delete" in page.content.decode()
    asked = [query["sql"] for query in captured if "routines_routinerun" in query["sql"]]
    assert all(re.search(r".status. IN", sql) for sql in asked)


def test_the_page_of_a_run_asks_a_fixed_number_of_questions(operator: Client) -> None:
    """The run, its chain, what does it again, what it blocked, its log and the record in django-celery-results."""
    run = ended(make_routine(), clock.now())
    assert queries_of(operator, run_url(run)) == SESSION + 6


def test_the_fleet_page_asks_a_fixed_number_of_questions(operator: Client) -> None:
    """Each fact is one query, whatever the number of rows behind it; the queue is a few."""
    address = reverse("admin:routines_fleet")
    add_routines(2)
    few = queries_of(operator, address)
    a_working_day()
    assert queries_of(operator, address) == few == SESSION + 12


def test_the_form_asks_a_fixed_number_of_questions(operator: Client) -> None:
    """Parents and pools are found by autocomplete, so the form does not list them."""
    routine = make_routine()
    address = reverse("admin:routines_routine_change", args=[routine.pk])
    few = queries_of(operator, address)
    add_routines(10)
    assert queries_of(operator, address) == few


def test_a_long_list_is_not_counted_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The count stops at a limit and the page says so."""
    monkeypatch.setattr("routines_app.admin.paging.COUNTED_AT_MOST", 3)
    for number in range(5):
        make_routine(f"r{number}")
    paginator = CappedPaginator(Routine.objects.order_by("name"), 2)
    assert (paginator.count, paginator.is_capped, paginator.num_pages) == (3, True, 2)
    assert COUNTED_AT_MOST == 10_000


def test_a_capped_list_says_that_there_is_more(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody takes the limit for the number of rows."""
    monkeypatch.setattr("routines_app.admin.paging.COUNTED_AT_MOST", 3)
    add_routines(5)
    assert "more than 3 routines" in " ".join(operator.get(list_url()).content.decode().split())


def test_a_query_of_the_list_never_counts_all_rows(operator: Client) -> None:
    """Every COUNT of the list stands around a limited subquery."""
    add_routines(2)
    with CaptureQueriesContext(connection) as captured:
        operator.get(list_url())
        operator.get(reverse("admin:routines_routinerun_changelist"))
    counts = [query["sql"] for query in captured if "COUNT(" in query["sql"]]
    assert counts
    assert all("LIMIT" in sql for sql in counts)
    assert RoutineRun.objects.exists()
