"""`self.retry()` inside a routine's run becomes a retry of the routine.

Celery's own `retry` publishes a message before it raises. The task's `retry` is wrapped, once per task: inside a
routine's run it only raises, and the retry becomes a row with the delay that was asked for; elsewhere it is Celery's.
"""

from __future__ import annotations

import functools
from datetime import UTC, datetime, timedelta
from typing import Any

from celery.app.task import Task
from celery.exceptions import Retry

from routines_app.protocol.run.current import current_run
from routines_app.verbs.checking import arguments

MARK = "_routines_retry"


class RoutineRetry(Retry):  # type: ignore[misc, unused-ignore]
    """Carries the new arguments that the task asked for."""

    arguments: tuple[Any, dict[str, Any] | None] = (None, None)


def take_over(task: Task[..., Any]) -> None:
    """Wrap the task's `retry`; done once, and without effect outside of a routine's run."""
    if getattr(task.retry, MARK, False):
        return
    celerys = task.retry

    @functools.wraps(celerys)
    def retry(*given: Any, **options: Any) -> Any:
        run = current_run()
        if run is None or task.request.id != run.run_id:
            return celerys(*given, **options)
        return _raise_retry(*given, **options)

    setattr(retry, MARK, True)
    task.__dict__["retry"] = retry


def _raise_retry(
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    exc: Exception | None = None,
    throw: bool = True,
    eta: datetime | None = None,
    countdown: Any = None,
    **_: Any,
) -> Retry:
    error = RoutineRetry(exc=exc, when=eta if eta is not None else countdown)
    error.arguments = (args, kwargs)
    if throw:
        raise error from exc
    return error


def asked(error: Retry) -> dict[str, Any]:
    """What the task asked for, as arguments of the outcome. Without a delay the routine's own rule decides.

    Raises `InvalidValue` for arguments that the ledger does not hold, `TypeError`, `ValueError` or `OverflowError` for
    a delay that is none.
    """
    found: dict[str, Any] = {}
    if error.when is not None:
        found["asked_delay_ms"] = _delay_ms(error.when)
    args, kwargs = error.arguments if isinstance(error, RoutineRetry) else (None, None)
    if args is not None or kwargs is not None:
        found["retry_args"] = _storable(args, kwargs)
    return found


def _storable(args: Any, kwargs: Any) -> tuple[list[Any] | None, dict[str, Any] | None]:
    return (
        None if args is None else arguments.positional("args of self.retry()", list(args)),
        None if kwargs is None else arguments.named("kwargs of self.retry()", kwargs),
    )


def _delay_ms(when: Any) -> int:
    if isinstance(when, datetime):
        # A task reckons its eta from the clock that it sees: by that clock the wait is what it meant, right or wrong.
        aware = when if when.tzinfo else when.replace(tzinfo=UTC)
        return max(0, int((aware - datetime.now(UTC)) / timedelta(milliseconds=1)))
    return max(0, int(when * 1000))
