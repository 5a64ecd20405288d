"""Assertions on the ledger: what they count, and what they show when they fail."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest

from routines_app import service
from routines_app.core.errors import InvalidValue, NotFound
from routines_app.models import RoutineRun
from routines_app.testing import (
    FrozenClock,
    assert_ledger_balanced,
    assert_not_run,
    assert_ran,
    assert_skipped,
    run_due,
    run_until,
    running,
)
from routines_app.verbs import audit_slots
from tests.integration.testing.conftest import Make

THREE = "2026-03-02T03:00:00+00:00"


def said(caught: pytest.ExceptionInfo[AssertionError]) -> list[str]:
    """Its lines, each with single spaces."""
    return [" ".join(line.split()) for line in str(caught.value).splitlines()]


def test_runs_are_counted_by_their_end(nightly: Make, clock: FrozenClock) -> None:
    nightly("fails", max_attempts=2, retry_delay_ms="1m", retry_jitter=0)
    assert_not_run("nightly")

    run_until("2026-03-02T03:05:00+00:00")

    assert_ran("nightly")
    assert_ran("nightly", at=THREE)
    assert_ran("nightly", status="FAILED")
    assert_ran("nightly", 2, status=None)
    assert_ran("nightly", 0, at="2026-03-02T03:01:00+00:00")


def test_who_fails_shows_the_ledger_without_secrets(nightly: Make, clock: FrozenClock) -> None:
    nightly("fails", max_attempts=2, retry_delay_ms="1m", retry_jitter=0)
    run_until("2026-03-02T03:05:00+00:00")

    with pytest.raises(AssertionError) as caught:
        assert_ran("nightly", times=2, at=THREE)
    head, titles, *rows = said(caught)
    assert head == "nightly: 2 runs with SUCCESS at 2026-03-02 03:00:00+00:00 expected, 1 found. The ledger has:"
    assert titles == "slot status reason attempt error"
    assert rows[0].startswith("2026-03-02 03:00:00+00:00 FAILED exception 1 ValueError: try 1, with password=")
    assert rows[1] == "2026-03-02 03:00:00+00:00 SUCCESS - 2"
    assert "sesame" not in str(caught.value)

    with pytest.raises(AssertionError, match="0 runs expected, 2 found"):
        assert_not_run("nightly")


def test_who_has_nothing_to_show_says_so(nightly: Make) -> None:
    nightly()
    with pytest.raises(AssertionError, match=re.escape("1 run with SUCCESS expected, 0 found. The ledger has no run")):
        assert_ran("nightly")


def test_a_run_that_only_waits_has_not_run(nightly: Make) -> None:
    nightly()
    service.run_now("nightly")
    assert_not_run("nightly")
    with pytest.raises(AssertionError, match="PENDING"):
        assert_ran("nightly")


def test_skipped_slots_are_counted_not_rows(nightly: Make, clock: FrozenClock) -> None:
    nightly(catch_up_policy="LAST")
    clock.move(days=3)
    run_due()

    assert_ran("nightly")
    assert_skipped("nightly")
    assert_skipped("nightly", "misfire", times=2)
    assert_skipped("nightly", at="2026-03-03T03:00:00+00:00", times=1)
    assert_skipped("nightly", "overlap", times=0)
    with pytest.raises(AssertionError) as caught:
        assert_skipped("nightly", "misfire", times=3)
    assert said(caught)[0].startswith("nightly: 3 skipped slots (misfire) expected, 2 found.")
    assert "2 slots, 2026-03-02 03:00:00+00:00 to 2026-03-03 03:00:00+00:00 SKIPPED misfire 1" in said(caught)
    with pytest.raises(AssertionError, match=r"a skipped slot \(overlap\) expected, 0 found"):
        assert_skipped("nightly", "overlap")
    with pytest.raises(AssertionError, match=r"a skipped slot at 2026-03-04 03:00:00\+00:00 expected, 0 found"):
        assert_skipped("nightly", at="2026-03-04T03:00:00+00:00")


def test_only_the_newest_are_shown(nightly: Make, clock: FrozenClock) -> None:
    nightly(every="1m")
    run_until(clock.now() + timedelta(minutes=23))
    with pytest.raises(AssertionError) as caught:
        assert_not_run("nightly")
    assert len(said(caught)) == 22
    assert "The ledger has (3 more before these):" in said(caught)[0]
    assert said(caught)[-1].startswith("2026-03-02 03:22:00")


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda: assert_ran("nightly", status="DONE"), "status: 'DONE' .* one of PENDING, RUNNING, SUCCESS"),
        (lambda: assert_skipped("nightly", "late"), "reason: 'late' .* one of exception, timeout"),
        (lambda: assert_ran("nightly", at="03:00"), "at: '03:00' .* with its offset"),
        (lambda: assert_skipped("nightly", at="03:00"), "at: '03:00' .* with its offset"),
    ],
)
def test_words_that_the_ledger_does_not_have_are_refused(nightly: Make, act: Any, words: str) -> None:
    """Or a typing mistake would be a test that cannot fail."""
    nightly()
    with pytest.raises(InvalidValue, match=words):
        act()


def test_a_routine_that_is_not_there_is_refused(db: None) -> None:
    with pytest.raises(NotFound):
        assert_not_run("nigthly")


def test_a_ledger_balances_or_says_where_not(nightly: Make, clock: FrozenClock) -> None:
    assert_ledger_balanced()
    nightly()
    with running("nightly"):
        run_until("2026-03-05T12:00:00+00:00")
    assert_ledger_balanced()

    RoutineRun.objects.filter(scheduled_for="2026-03-03T03:00:00+00:00").delete()
    with pytest.raises(AssertionError, match=r"in \d places:\nnightly: 2026-03-03T03:00:00\+00:00"):
        assert_ledger_balanced()


def test_slots_that_nobody_looked_at_do_not_balance(nightly: Make, clock: FrozenClock) -> None:
    nightly()
    clock.move(days=1)
    with pytest.raises(AssertionError, match="2026-03-02T03:00:00"):
        assert_ledger_balanced()


def test_slots_that_the_audit_does_not_compare_are_not_said_to_balance(
    nightly: Make, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_slots, "MOST_SLOTS", 2)
    nightly()
    run_until("2026-03-03T12:00:00+00:00")
    assert_ledger_balanced()

    run_until("2026-03-05T12:00:00+00:00")
    with pytest.raises(
        AssertionError, match=r"more slots than are compared.*\nnightly: 2026-03-03 03:00:00\+00:00 was the"
    ):
        assert_ledger_balanced()
