"""Retry: whether a chain goes on after an attempt has ended badly, and when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

MAX_INTERRUPTIONS = 3  # a chain that every deploy interrupts must not live for ever
MAX_DOUBLINGS = 40  # keeps the arithmetic small; any delay has met its cap long before


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryRule:
    """A routine's retry policy."""

    max_attempts: int = 3
    """All attempts, the first included."""
    delay_ms: int
    max_delay_ms: int
    jitter: float = 0.2
    """The largest share of the delay that is added at random; 0 makes it deterministic."""
    retry_for: tuple[str, ...] = ()
    """Exception names, short or dotted; empty means every exception."""
    no_retry_for: tuple[str, ...] = ()
    """Wins over `retry_for`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryAt:
    """The chain goes on with a new run, eligible at `at`, that carries `budget_used`."""

    at: datetime
    budget_used: int
    own_retries: int = 0
    """How often the task has asked for it itself; a try that the routine makes of a failure begins with none."""
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class Exhausted:
    """The last attempt is used up: the chain ends."""


@dataclass(frozen=True, slots=True)
class NotRetryable:
    """The policy does not retry this error: the chain ends."""


def decide_retry(
    rule: RetryRule,
    *,
    budget_used: int,
    now: datetime,
    jitter: float,
    exception_names: Sequence[str] = (),
    asked_delay_ms: int | None = None,
    own_retry: bool = False,
    own_retries: int = 0,
    interrupted: bool = False,
    interruptions: int = 0,
) -> RetryAt | Exhausted | NotRetryable:
    """Whether the chain goes on.

    `budget_used` counts the attempts that cost budget, the one that has just ended included (1 after the
    first). `exception_names` are those of the error's class and its bases; without an exception (a lost
    worker, a time-out) they are empty and only the budget decides. `asked_delay_ms` is a delay in place of the rule's.
    A task's `own_retry` follows the task's own limits, which have let it through already: it costs no budget. An
    interruption gives a new attempt at once and for free, three times per chain.
    """
    if interrupted and interruptions < MAX_INTERRUPTIONS:
        return RetryAt(at=now, budget_used=budget_used, own_retries=own_retries, interrupted=True)
    if own_retry:
        at = now + timedelta(milliseconds=max(0, asked_delay_ms or 0))
        return RetryAt(at=at, budget_used=budget_used, own_retries=own_retries + 1)
    if asked_delay_ms is None and not _retryable(rule, exception_names):
        return NotRetryable()
    if budget_used >= rule.max_attempts:
        return Exhausted()
    delay_ms = retry_delay_ms(rule, budget_used, jitter) if asked_delay_ms is None else max(0, asked_delay_ms)
    at = now + timedelta(milliseconds=delay_ms)
    return RetryAt(at=at, budget_used=budget_used + 1, own_retries=own_retries if interrupted else 0)


def retry_delay_ms(rule: RetryRule, attempt: int, jitter: float) -> int:
    """The delay after `attempt`: doubled each time, capped, then jitter on top."""
    doublings = max(0, min(attempt - 1, MAX_DOUBLINGS))
    capped = min(rule.delay_ms * 2**doublings, rule.max_delay_ms)
    return int(capped + capped * rule.jitter * jitter)


def _retryable(rule: RetryRule, names: Sequence[str]) -> bool:
    if any(name in rule.no_retry_for for name in names):
        return False
    return not names or not rule.retry_for or any(name in rule.retry_for for name in names)
