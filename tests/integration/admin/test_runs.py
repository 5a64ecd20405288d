"""The list of runs: what it finds, in which pages, and by how many questions."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from routines_app import service
from routines_app.admin import run_listing
from routines_app.models import Pool, RoutineRun
from routines_app.protocol.ledger import clock
from routines_app.verbs import run_selection
from tests.browser.scenes import ended, make_routine, make_run
from tests.integration.admin.pages import text_of

pytestmark = pytest.mark.each_database

LIST = "admin:routines_routinerun_changelist"
MINUTE = timedelta(minutes=1)
MOST_QUERIES = 9  # session, user, saved filters, routine and pool by name, the stretch, its ids, its rows, the pools


def found(client: Client, **asked: Any) -> list[RoutineRun]:
    """The runs of a page, as its table has them; any page takes a few queries."""
    with CaptureQueriesContext(connection) as captured:
        page = client.get(reverse(LIST), asked)
    assert page.status_code == 200
    assert len(captured) <= MOST_QUERIES
    assert page.context["cl"].question.problems == {}
    return list(page.context["cl"].result_list)


def problem(client: Client, **asked: Any) -> str:
    page = client.get(reverse(LIST), asked)
    assert list(page.context["cl"].result_list) == []
    assert "rt-problems" in page.content.decode()
    return " ".join(page.context["cl"].question.problems.values())


@pytest.fixture
def failed() -> Callable[..., RoutineRun]:
    def make(routine: Any, at: datetime, **fields: Any) -> RoutineRun:
        return ended(routine, at, status="FAILED", **({"reason": "exception", "error": "ValueError: no"} | fields))

    return make


def test_the_runs_are_searched_by_name_and_id(operator: Client) -> None:
    """Exact, because anything else would read millions of rows; a name is looked up, and runs are found by its id."""
    run, other = ended(make_routine("one"), clock.now()), ended(make_routine("two"), clock.now())
    for term in ("one", str(run.pk)):
        page = text_of(operator, f"{reverse(LIST)}?q={term}")
        assert str(run.pk) in page
        assert str(other.pk) not in page
    assert found(operator, routine=run.routine_id) == [run]
    assert "No routine is called 'three'" in problem(operator, q="three")
    with CaptureQueriesContext(connection) as captured:
        found(operator, q="one")
    assert not [query for query in captured if "JOIN" in query["sql"] and '"name" =' in query["sql"]]


def test_every_filter_finds_its_runs(operator: Client, failed: Callable[..., RoutineRun]) -> None:
    """By status, trigger, reason, pool, queue, worker, task, and final failures."""
    now, pool = clock.now(), Pool.objects.create(name="warehouse", max_concurrent=1)
    routine = make_routine()
    plain = ended(routine, now - 9 * MINUTE)
    skipped = make_run(routine, at=now - 8 * MINUTE, status="SKIPPED", reason="overlap", completed_at=now)
    first = failed(routine, now - 7 * MINUTE)
    second = failed(routine, now - 6 * MINUTE, attempt=2, chain=first.pk, retry_of=first, trigger="retry")
    special = ended(routine, now - 5 * MINUTE, pool=pool, queue="slow", trigger="backfill")
    RoutineRun.objects.filter(pk=special.pk).update(worker="w@2", task="shop.other")
    assert found(operator) == [special, second, first, skipped, plain]
    assert found(operator, status="FAILED") == found(operator, status__exact="FAILED") == [second, first]
    assert found(operator, trigger="retry") == [second]
    assert found(operator, reason="overlap") == [skipped]
    assert found(operator, final="1") == [second]
    for name, value in {"pool": "warehouse", "queue": "slow", "worker": "w@2", "task": "shop.other"}.items():
        assert found(operator, **{name: value}) == [special]
        assert found(operator, **{name: value}, routine=routine.pk, status="SUCCESS", range="hour") == [special]
        assert found(operator, **{name: value}, final="1") == []
    assert found(operator, trigger="backfill") == [special]


def test_the_time_of_a_range_is_when_runs_were_made(operator: Client) -> None:
    """A backfill of an old slot belongs to the hour in which it happens."""
    routine, now = make_routine(), clock.now()
    runs = [ended(routine, now - timedelta(hours=hours)) for hours in (1, 30, 200)]
    backfilled = ended(routine, now - MINUTE, scheduled_for=now - timedelta(days=300))
    assert found(operator, range="hour") == [backfilled]
    assert found(operator, range="24h") == [backfilled, runs[0]]
    assert found(operator, range="7d") == [backfilled, *runs[:2]]
    since, until = now - timedelta(hours=31), now - timedelta(hours=1)
    assert found(operator, **{"from": since.isoformat(), "until": until.isoformat()}) == [runs[1]]
    assert found(operator, **{"from": "31h ago", "until": "2h ago", "range": "hour"}) == [runs[1]]


def test_today_begins_at_the_readers_midnight(operator: Client, settings: Any) -> None:
    """Not at that of UTC."""
    settings.TIME_ZONE = "Asia/Tokyo"
    now = clock.now()
    midnight = now - timedelta(hours=(now.hour + 9) % 24, minutes=now.minute, seconds=now.second + 1)
    routine = make_routine()
    ended(routine, midnight - MINUTE)
    assert found(operator, range="today") == []
    today = ended(routine, midnight + timedelta(seconds=2))
    assert found(operator, range="today") == [today]


def test_a_typed_slot_opens_the_list_there(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run of that slot is the last of the page, and there are ways on to both sides."""
    monkeypatch.setattr(run_listing, "ROWS", 3)
    routine, now = make_routine(), clock.now().replace(microsecond=0)
    runs = [ended(routine, now - minutes * MINUTE) for minutes in range(10)]
    asked = {"slot": (now - 6 * MINUTE).isoformat(), "routine": routine.pk}
    assert found(operator, **asked) == runs[4:7]
    page = operator.get(reverse(LIST), asked)
    listing = page.context["cl"].listing
    assert page.content.decode().count("this slot") == 1
    assert list(operator.get(reverse(LIST) + listing.older).context["cl"].result_list) == runs[7:10]
    assert list(operator.get(reverse(LIST) + listing.newer).context["cl"].result_list) == runs[1:4]
    later = operator.get(reverse(LIST), {"slot": "now"})
    assert list(later.context["cl"].result_list)[:1] == runs[:1]
    assert "These are the newest" in later.content.decode()


def test_pages_go_on_where_the_last_one_ended(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when runs arrive between two of them; and back again."""
    monkeypatch.setattr(run_listing, "ROWS", 3)
    routine, now = make_routine(), clock.now()
    runs = [ended(routine, now - minutes * MINUTE) for minutes in range(1, 9)]
    seen, ways, address = [], [], ""
    for _ in range(3):
        page = operator.get(reverse(LIST) + (address or "?status=SUCCESS")).context["cl"]
        seen += page.result_list
        ways.append(page.listing)
        address = page.listing.older
        ended(routine, clock.now())
    assert seen == runs
    assert (ways[0].newer, ways[2].older) == ("", "")
    assert "status=SUCCESS" in ways[1].older
    assert list(operator.get(reverse(LIST) + ways[2].newer).context["cl"].result_list) == runs[3:6]


def test_a_rare_value_is_looked_for_in_stretches(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page looks through so many rows, says how far that was, and goes on from there."""
    monkeypatch.setattr(run_selection, "LOOKED_THROUGH", 4)
    routine, now = make_routine(), clock.now()
    rare = ended(routine, now - 20 * MINUTE, queue="rare")
    for minutes in range(1, 10):
        ended(routine, now - minutes * MINUTE)
    seen, address = [], "?queue=rare"
    for pages in range(1, 6):  # noqa: B007
        page = operator.get(reverse(LIST) + address)
        seen += page.context["cl"].result_list
        address = page.context["cl"].listing.older
        assert ("Look further back" in page.content.decode()) == bool(address)
        if not address:
            break
    assert (seen, pages) == ([rare], 3)
    back = operator.get(reverse(LIST), {"queue": "rare", "after": str(rare.pk)}).context["cl"]
    assert (list(back.result_list), "after=" in back.listing.newer) == ([], True)


def test_what_cannot_be_read_finds_nothing_and_says_what_would_be_right(operator: Client) -> None:
    """A filter that is wrong is never taken for none."""
    ended(make_routine(), clock.now())
    assert "03:00 yesterday" in problem(operator, slot="soon")
    assert "03:00 yesterday" in problem(operator, **{"from": "whenever"})
    assert "give one of PENDING" in problem(operator, status="BROKEN")
    assert "hour, today, 24h, 7d" in problem(operator, range="year")
    assert "no pool has that name" in problem(operator, pool="nope")
    assert "no routine has that id" in problem(operator, routine="999999")
    assert "the id of a run" in problem(operator, before="x")
    assert "give a time after" in problem(operator, **{"from": "1h ago", "until": "2h ago"})


def test_the_first_line_of_an_error_is_in_the_list_masked(operator: Client, failed: Callable[..., RoutineRun]) -> None:
    """The rest of it is not read, and a secret that is cut in the middle stays one."""
    routine, now = make_routine(), clock.now()
    failed(routine, now, error="ConnectionError: api_key=k-hidden-1\nsecond line")
    cut = failed(routine, now, error="x" * 379 + " postgres://app:k-hidden-2" + "y" * 500)
    with CaptureQueriesContext(connection) as captured:
        page = operator.get(reverse(LIST)).content.decode()
    assert "ConnectionError: api_key=••••••" in page
    assert not [text for text in ("k-hidden", "second line") if text in page]
    start = RoutineRun.objects.values_list(service.error_start(), flat=True).get(pk=cut.pk)
    assert "k-hi" in start
    assert "k-hi" not in service.error_line(start)
    read = [re.sub(r"(LEFT|SUBSTR)\([^)]*\)", "", query["sql"]) for query in captured]
    assert not [sql for sql in read if re.search(r"SELECT.*.error.[, ].*FROM", sql)]
