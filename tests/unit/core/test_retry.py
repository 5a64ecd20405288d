"""Retry: delays that grow to their cap, budgets, filters and interruptions."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routines_app.core.retry import Exhausted, NotRetryable, RetryAt, RetryRule, decide_retry, retry_delay_ms

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
RULE = RetryRule(max_attempts=5, delay_ms=1_000, max_delay_ms=5_000, jitter=0.0)
VALUE_ERROR = ("ValueError", "builtins.ValueError", "Exception", "builtins.Exception")


def after_ms(ms: int) -> datetime:
    return NOW + timedelta(milliseconds=ms)


@pytest.mark.parametrize(("used", "delay_ms"), [(1, 1_000), (2, 2_000), (3, 4_000), (4, 5_000)])
def test_the_delay_doubles_up_to_its_cap(used: int, delay_ms: int) -> None:
    """Without jitter it is deterministic, and the next run carries one more of the budget."""
    decision = decide_retry(RULE, budget_used=used, now=NOW, jitter=0.9, exception_names=VALUE_ERROR)
    assert decision == RetryAt(at=after_ms(delay_ms), budget_used=used + 1)


@given(
    st.integers(0, 10**7),
    st.integers(0, 10**8),
    st.floats(0, 1),
    st.integers(1, 2_000),
    st.floats(0, 1, exclude_max=True),
)
def test_delays_are_bounded_and_grow_until_the_cap(
    delay: int, cap: int, share: float, attempt: int, jitter: float
) -> None:
    """No attempt waits longer than the cap and its jitter, and none less than the one before it."""
    rule = RetryRule(delay_ms=delay, max_delay_ms=cap, jitter=share)
    waited = retry_delay_ms(rule, attempt, jitter)
    assert 0 <= waited <= cap * (1 + share)
    assert retry_delay_ms(rule, attempt, 0.0) <= waited
    assert waited <= retry_delay_ms(rule, attempt + 1, jitter)


def test_the_last_attempt_exhausts_the_chain() -> None:
    """`max_attempts` counts all attempts, the first included."""
    once = replace(RULE, max_attempts=1)
    assert decide_retry(once, budget_used=1, now=NOW, jitter=0.0) == Exhausted()
    assert decide_retry(RULE, budget_used=5, now=NOW, jitter=0.0) == Exhausted()


@pytest.mark.parametrize(
    ("retry_for", "no_retry_for", "goes_on"),
    [
        ((), (), True),
        (("ValueError",), (), True),
        (("builtins.Exception",), (), True),
        (("KeyError",), (), False),
        ((), ("ValueError",), False),
        (("ValueError",), ("Exception",), False),
        ((), ("KeyError",), True),
    ],
)
def test_the_lists_of_exceptions_decide_what_is_retried(
    retry_for: tuple[str, ...], no_retry_for: tuple[str, ...], goes_on: bool
) -> None:
    """Short and dotted names, base classes too; the list of what is not retried wins."""
    rule = replace(RULE, retry_for=retry_for, no_retry_for=no_retry_for)
    decision = decide_retry(rule, budget_used=1, now=NOW, jitter=0.0, exception_names=VALUE_ERROR)
    assert isinstance(decision, RetryAt if goes_on else NotRetryable)


def test_without_an_exception_only_the_budget_decides() -> None:
    """A lost worker is retried although it is in nobody's list."""
    rule = replace(RULE, retry_for=("ValueError",))
    assert isinstance(decide_retry(rule, budget_used=1, now=NOW, jitter=0.0), RetryAt)


def test_a_delay_that_is_asked_for_is_kept() -> None:
    """Neither cap, jitter nor lists apply to it; the budget does."""
    rule = replace(RULE, jitter=0.5, no_retry_for=("Exception",))
    for asked, delay in ((90_000, 90_000), (0, 0), (-5, 0)):
        decision = decide_retry(
            rule, budget_used=1, now=NOW, jitter=0.5, exception_names=VALUE_ERROR, asked_delay_ms=asked
        )
        assert decision == RetryAt(at=after_ms(delay), budget_used=2)
    assert decide_retry(rule, budget_used=5, now=NOW, jitter=0.5, asked_delay_ms=1) == Exhausted()


def test_a_tasks_own_retry_costs_no_budget() -> None:
    """Whatever the routine says: the task's own limit has let it through."""
    rule = replace(RULE, max_attempts=1, no_retry_for=("Exception",))
    for asked, delay in ((90_000, 90_000), (0, 0), (-5, 0), (None, 0)):
        decision = decide_retry(
            rule,
            budget_used=1,
            now=NOW,
            jitter=0.5,
            exception_names=VALUE_ERROR,
            asked_delay_ms=asked,
            own_retry=True,
            own_retries=4,
        )
        assert decision == RetryAt(at=after_ms(delay), budget_used=1, own_retries=5)


def test_a_try_that_the_routine_makes_begins_without_own_retries() -> None:
    """An interrupted attempt goes on where it was."""
    decision = decide_retry(RULE, budget_used=1, now=NOW, jitter=0.0, own_retries=4)
    assert isinstance(decision, RetryAt)
    assert decision.own_retries == 0
    for interruptions in (0, 3):
        interrupted = decide_retry(
            RULE, budget_used=1, now=NOW, jitter=0.0, own_retries=4, interrupted=True, interruptions=interruptions
        )
        assert isinstance(interrupted, RetryAt)
        assert interrupted.own_retries == 4


def test_an_interruption_is_free_three_times() -> None:
    """A deploy costs no attempt; a chain that is interrupted again and again ends like any other."""
    for interruptions in range(3):
        decision = decide_retry(RULE, budget_used=5, now=NOW, jitter=0.0, interrupted=True, interruptions=interruptions)
        assert decision == RetryAt(at=NOW, budget_used=5, interrupted=True)
    fourth = decide_retry(RULE, budget_used=5, now=NOW, jitter=0.0, interrupted=True, interruptions=3)
    assert fourth == Exhausted()
    with_budget = decide_retry(RULE, budget_used=1, now=NOW, jitter=0.0, interrupted=True, interruptions=3)
    assert with_budget == RetryAt(at=after_ms(1_000), budget_used=2)
