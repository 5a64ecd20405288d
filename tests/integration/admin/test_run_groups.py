"""Failures grouped by error."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from routines_app.models import RoutineRun
from routines_app.protocol.ledger import clock
from routines_app.verbs import error_groups, run_errors
from tests.browser.scenes import ended, make_routine

GROUPS = "admin:routines_run_groups"
MINUTE = timedelta(minutes=1)


@pytest.fixture
def a_bad_night() -> dict[str, RoutineRun]:
    """Two routines that cannot connect, one that is slow, and one that failed last week."""
    now, runs = clock.now(), {}
    for minutes, (name, error) in enumerate(
        [
            ("sync", "ConnectionError: no answer after 7 s"),
            ("poll", "ConnectionError: no answer after 31 s"),
            ("sync", "ConnectionError: no answer after 12 s\nat line 3"),
            ("slow", "Timeout: token=abc1 took too long"),
        ]
    ):
        routine = runs[name].routine if name in runs else make_routine(name)
        at = now - (minutes + 1) * MINUTE
        runs[name] = ended(routine, at, status="FAILED", reason="exception", error=error)
    ended(make_routine("old"), now - timedelta(days=8), status="FAILED", error="ConnectionError: no answer after 1 s")
    return runs


def groups_of(client: Client, query: str = "") -> Any:
    with CaptureQueriesContext(connection) as captured:
        page = client.get(reverse(GROUPS) + query)
    assert page.status_code == 200
    assert len(captured) <= 7
    return page


def test_failures_that_fail_alike_are_one_line(operator: Client, a_bad_night: dict[str, RoutineRun]) -> None:
    """With how many runs of how many routines, since when, and never a secret; of the last day, unless asked."""
    page = groups_of(operator)
    first, second = page.context["groups"]
    assert first.group.kind == "ConnectionError: no answer after # s"
    assert (first.group.count, first.routines) == (3, 2)
    assert [name for _, name in first.named] == ["sync", "poll"]
    assert first.group.since == pytest.approx(clock.now() - 3 * MINUTE, abs=timedelta(minutes=1))
    assert second.group.count == 1
    assert "abc1" not in page.content.decode()
    every = groups_of(operator, f"?from={(clock.now() - timedelta(days=9)).isoformat().replace('+', '%2B')}")
    assert every.context["groups"][0].group.count == 4


def test_a_group_leads_to_its_runs_and_to_a_retry_of_them(operator: Client, a_bad_night: dict[str, RoutineRun]) -> None:
    """Both by the kind that was shown, within the same time."""
    group = groups_of(operator).context["groups"][0]
    assert parse_qs(urlsplit(group.runs).query) == {"error": [group.group.kind], "range": ["24h"]}
    listed = operator.get(group.runs).context["cl"].result_list
    assert {run.routine.name for run in listed} == {"sync", "poll"}
    assert len(listed) == 3
    asked = operator.get(group.retry)
    assert (asked.context["batch"].count, asked.context["batch"].is_all) == (3, True)


def test_only_so_many_failures_are_read_and_the_page_says_so(
    operator: Client, a_bad_night: dict[str, RoutineRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest."""
    for module in (run_errors, error_groups):
        monkeypatch.setattr(module, "LINES_READ", 2)
    page = groups_of(operator)
    assert [one.group.count for one in page.context["groups"]] == [2]
    assert "Only the 2 newest failures were read" in page.content.decode()


def test_filters_are_those_of_the_list(operator: Client, a_bad_night: dict[str, RoutineRun]) -> None:
    """And what is wrong with them is said."""
    routine = a_bad_night["poll"].routine_id
    assert [one.group.count for one in groups_of(operator, f"?routine={routine}").context["groups"]] == [1]
    assert "03:00 yesterday" in groups_of(operator, "?from=soon").content.decode()
