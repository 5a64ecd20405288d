"""From how a body ended to what the ledger records of it."""

from __future__ import annotations

import logging
import traceback
from dataclasses import replace
from types import TracebackType
from typing import Any

from celery import current_app
from celery.app.task import Task
from celery.exceptions import Ignore, Reject, Retry, SoftTimeLimitExceeded

from routines_app.conf import get_settings
from routines_app.core.errors import InvalidValue, shown
from routines_app.core.words import Reason, RunStatus
from routines_app.execution import retries
from routines_app.execution.live import LiveRun
from routines_app.execution.stops import Stop
from routines_app.protocol.record.facts import RunFacts
from routines_app.protocol.record.outcome import Outcome, cancelled, failed, succeeded
from routines_app.protocol.record.texts import error_text, exception_names, result_json, traceback_text

logger = logging.getLogger(__name__)

SHOWN_TASKS = 20
_NOT_THE_TASKS = ("routines_app.execution.", "celery.app.trace", "celery.app.task")


def unknown_task(name: str) -> Outcome:
    """The tasks that there are go to the worker's log: everybody who may look at runs reads the row."""
    registered = sorted(known for known in current_app.tasks if not known.startswith("celery."))
    listed = ", ".join(registered[:SHOWN_TASKS]) + (" …" if len(registered) > SHOWN_TASKS else "")
    logger.error("unknown task %r; registered: %s", name, listed)
    return failed(Reason.UNKNOWN_TASK, f"unknown task '{name}': its worker has not registered it", retryable=False)


def no_arguments(facts: RunFacts) -> Outcome | None:
    """Plain SQL can store anything, and the letters of a text are no arguments; None when they are some."""
    for what, kind in ((facts.args, list), (facts.kwargs, dict)):
        if not isinstance(what, kind):
            return failed(Reason.BAD_ARGUMENTS, f"its arguments are no {kind.__name__}: {shown(what)}", retryable=False)
    return None


def misfit(task: Task[..., Any], facts: RunFacts) -> TypeError | None:
    """What is wrong with the arguments, before anything has run; None when they fit, or the task does not care."""
    header = getattr(task, "__header__", None)  # a task that is made from a class has none
    if not task.typing or header is None:
        return None
    try:
        header(*facts.args, **facts.kwargs)
    except TypeError as error:
        return error
    return None


def outside_of_body(what: str, error: BaseException) -> Outcome:
    said = f"{what}: {error_text(error, get_settings().max_error_chars)}"
    return failed(Reason.EXCEPTION, said, exception_names=exception_names(error))


def stopped(live: LiveRun) -> Outcome | None:
    """Of a body that ended because it was asked to; None when it was not."""
    match live.stop:
        case None:
            return None
        case Stop.TIMEOUT:
            return failed(Reason.TIMEOUT, f"timed out after {live.deadline - live.began:g} s")
        case Stop.LOST:
            return failed(Reason.ORPHANED, "its worker lost touch with the ledger")
        case stop:
            return cancelled(Reason(stop.value))


def success(task: Task[..., Any], value: Any) -> Outcome:
    if task.ignore_result:
        return Outcome(status=RunStatus.SUCCESS, mirrored=False)
    return succeeded(result_json(value, get_settings().max_result_bytes))


def of_error(error: BaseException, live: LiveRun) -> Outcome:
    """Of a body that raised this. One that was stopped has ended by that, but out of time it may say how."""
    if live.stop not in (None, Stop.TIMEOUT):
        return stopped(live) or _raised(error, live.facts)
    if live.stop is Stop.TIMEOUT and isinstance(error, SoftTimeLimitExceeded):
        return replace(stopped(live) or _raised(error, live.facts), traceback=_traceback(error))
    outcome = _raised(error, live.facts)
    if live.stop is Stop.TIMEOUT and outcome.reason == Reason.EXCEPTION:
        return replace(outcome, reason=Reason.TIMEOUT)
    return outcome


def of_retry(error: Retry, facts: RunFacts, because: BaseException | None = None) -> Outcome:
    """The task wants to be tried again; `because` of what it raised, if that is not what it said."""
    try:
        return _failure(because or error.exc or error, **retries.asked(error, facts))
    except (InvalidValue, TypeError, ValueError, OverflowError) as refused:
        # Tried again it would ask for the same: say what is wrong instead of handing it to the ledger.
        return _failure(refused, reason=Reason.BAD_ARGUMENTS, retryable=False)


def _raised(error: BaseException, facts: RunFacts) -> Outcome:
    match error:
        case Retry():
            return of_retry(error, facts)
        case Ignore():
            return succeeded(None, Reason.IGNORED)
        case Reject():
            return _failure(error, reason=Reason.REJECTED, retryable=False)
        case SoftTimeLimitExceeded():
            return _failure(error, reason=Reason.TIMEOUT)  # not ours: the task's, or of a limit in its message
        case _:
            return _failure(error)


def _failure(error: BaseException, *, reason: Reason = Reason.EXCEPTION, **more: Any) -> Outcome:
    return failed(
        reason,
        error_text(error, get_settings().max_error_chars),
        traceback=_traceback(error),
        exception_names=exception_names(error),
        **more,
    )


def _traceback(error: BaseException) -> str:
    return traceback_text(error, below_us(error.__traceback__), get_settings().max_traceback_chars)


def can_be_shown(error: BaseException) -> bool:
    """Some exceptions cannot even be formatted, and would hide behind what that raises."""
    try:
        return bool(traceback.format_exception(error))
    except Exception:  # noqa: BLE001 - whatever its parts raise
        return False


def below_us(begin: TracebackType | None) -> TracebackType | None:
    """The traceback without the frames at its top that are ours, or Celery's way to the task."""
    while begin is not None and begin.tb_next is not None:
        if not str(begin.tb_frame.f_globals.get("__name__")).startswith(_NOT_THE_TASKS):
            return begin
        begin = begin.tb_next
    return begin
