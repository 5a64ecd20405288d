"""`self.retry()` and `autoretry_for` inside a routine's run: Celery decides, the ledger carries it out.

Celery's own `retry` knows the task's `max_retries`, delays, back-off and arguments, and publishes a message before it
raises. An eager task's it leaves to whoever called it: so the task seems to be eager for as long as `retry` takes, and
what was asked for becomes a row.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from celery.app.task import Task
from celery.exceptions import Retry

from routines_app.protocol.record.facts import RunFacts
from routines_app.verbs.checking import arguments

MARK = "_routines_retry"
_LIMIT = 6  # where `max_retries` stands among the arguments of `retry`


@dataclass
class OwnRetry:
    """What a task has asked for during one body."""

    refused: BaseException | None = None
    """Why it may not be tried again, whatever it asks for."""
    asked: Retry | None = None
    spent: bool = False
    """It has asked for more retries than it allows itself: the chain ends."""

    def ask(self, task: Task[..., Any], celerys: Callable[..., Any], *given: Any, **options: Any) -> Any:
        """Call Celery's `retry` without a message being sent."""
        if self.refused is not None:
            raise self.refused
        request = task.request
        before, request.is_eager = request.is_eager, True
        try:
            self.asked = celerys(*given, **options)  # it returns for throw=False only
        except Retry as error:
            self.asked = error
            raise
        except Exception:
            # The error that it gave, or that its retries are used up; an interrupt may come here too.
            self.spent = is_over(task, _asked_limit(*given, **options))
            raise
        finally:
            request.is_eager = before
        return self.asked


def take_over(task: Task[..., Any], of_body: Callable[[Task[..., Any]], OwnRetry | None]) -> None:
    """Wrap the task's `retry`; done once, and without effect outside of a routine's run."""
    if getattr(task.retry, MARK, False):
        return
    celerys = task.retry

    @functools.wraps(celerys)
    def retry(*given: Any, **options: Any) -> Any:
        own = of_body(task)
        return celerys(*given, **options) if own is None else own.ask(task, celerys, *given, **options)

    setattr(retry, MARK, True)
    task.__dict__["retry"] = retry


def is_over(task: Task[..., Any], limit: int | None = None) -> bool:
    """Whether it has been tried again as often as it allows itself, or as this call of `retry` does."""
    limit = task.max_retries if limit is None else limit
    return limit is not None and (task.request.retries or 0) >= limit


def _asked_limit(*given: Any, max_retries: int | None = None, **_: Any) -> int | None:
    return given[_LIMIT] if len(given) > _LIMIT else max_retries


def asked(error: Retry, facts: RunFacts) -> dict[str, Any]:
    """What the task asked for, as arguments of the outcome.

    Raises `InvalidValue` for arguments that the ledger does not hold, `TypeError`, `ValueError` or `OverflowError` for
    a delay that is none.
    """
    found: dict[str, Any] = {"own_retry": True, "asked_delay_ms": _delay_ms(error.when or 0)}
    signature: Any = getattr(error, "sig", None)  # what Celery would have sent
    if signature is not None:
        args, kwargs = list(signature.args), dict(signature.kwargs)
        if (args, kwargs) != (facts.args, facts.kwargs):
            found["retry_args"] = _storable(args, kwargs)
    return found


def _storable(args: list[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    return (
        arguments.positional("args of self.retry()", args),
        arguments.named("kwargs of self.retry()", kwargs),
    )


def _delay_ms(when: Any) -> int:
    if isinstance(when, datetime):
        # A task reckons its eta from the clock that it sees: by that clock the wait is what it meant, right or wrong.
        aware = when if when.tzinfo else when.replace(tzinfo=UTC)
        return max(0, int((aware - datetime.now(UTC)) / timedelta(milliseconds=1)))
    return max(0, int(when * 1000))
