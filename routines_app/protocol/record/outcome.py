"""How a body ended: the value that is handed to finish."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from routines_app.core.words import Reason, RunStatus


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """The end of one attempt. Texts are already cleaned and cut to what the ledger holds."""

    status: RunStatus
    reason: str = Reason.NONE
    result: str | None = None
    error: str = ""
    traceback: str = ""
    progress: dict[str, Any] | None = None
    exception_names: tuple[str, ...] = ()
    """Short and dotted names of the error's class and its bases, for retry_for and no_retry_for."""
    retryable: bool = True
    """False ends the chain whatever the retry rule says: an unknown task fails the same way every time."""
    asked_delay_ms: int | None = None
    """The delay of the next attempt, when it is not the routine's rule that says it."""
    own_retry: bool = False
    """The task itself asked to be tried again, which follows its own limits and not the routine's."""
    retry_args: tuple[Any, dict[str, Any]] | None = None
    """New arguments that the task asked for with `self.retry()`."""
    mirrored: bool = True
    """False for tasks that ignore their result: nothing goes to django-celery-results."""

    @property
    def interrupted(self) -> bool:
        """A worker's shutdown ended it: a new row takes its place."""
        return self.status == RunStatus.CANCELLED and self.reason == Reason.INTERRUPTED


def succeeded(result: str | None, reason: Reason = Reason.NONE) -> Outcome:
    return Outcome(status=RunStatus.SUCCESS, reason=reason, result=result)


def failed(reason: Reason, error: str = "", **more: Any) -> Outcome:
    return Outcome(status=RunStatus.FAILED, reason=reason, error=error, **more)


def cancelled(reason: str) -> Outcome:
    return Outcome(status=RunStatus.CANCELLED, reason=reason)
