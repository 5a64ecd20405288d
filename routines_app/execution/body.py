"""The body: the user's Celery task is called, and whatever happens becomes an outcome. Nothing gets out of here."""

from __future__ import annotations

import logging
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from billiard import common as billiard_common
from celery import current_app
from celery.app.task import Task
from celery.exceptions import Ignore, Reject, Retry, SoftTimeLimitExceeded, WorkerShutdown, WorkerTerminate

from routines_app.conf import get_settings
from routines_app.core.errors import InvalidValue, shown
from routines_app.core.words import Reason, RunStatus
from routines_app.execution import retries
from routines_app.execution.call import Call, call_task
from routines_app.execution.forked import leave_if_forked
from routines_app.execution.live import LiveRun
from routines_app.execution.stops import Stop
from routines_app.protocol.record.outcome import Outcome, cancelled, failed, succeeded
from routines_app.protocol.record.texts import error_text, exception_names, result_json, traceback_text

logger = logging.getLogger(__name__)

SHOWN_TASKS = 20
_OUR_FRAMES = (__name__, call_task.__module__)


@dataclass(kw_only=True)
class BodyEnd:
    """How the body ended, and the exception that must go on to end this process, if there is one."""

    outcome: Outcome
    leave: BaseException | None = None


def find_task(name: str) -> Task[..., Any] | None:
    """The registered task; in a web process (eager mode) the task modules may not have been imported yet."""
    if name not in current_app.tasks:
        current_app.loader.import_default_modules()
    return current_app.tasks.get(name)


def unknown_task(name: str) -> Outcome:
    """The tasks that there are go to the worker's log: everybody who may look at runs reads the row."""
    registered = sorted(known for known in current_app.tasks if not known.startswith("celery."))
    listed = ", ".join(registered[:SHOWN_TASKS]) + (" …" if len(registered) > SHOWN_TASKS else "")
    logger.error("unknown task %r; registered: %s", name, listed)
    return failed(Reason.UNKNOWN_TASK, f"unknown task '{name}': its worker has not registered it", retryable=False)


def bad_arguments(call: Call) -> Outcome | None:
    """What is wrong with the arguments, before anything has run; None when they fit."""
    facts = call.live.facts
    for what, kind in ((facts.args, list), (facts.kwargs, dict)):
        if not isinstance(what, kind):  # plain SQL has put it there, and its letters are no arguments
            return failed(Reason.BAD_ARGUMENTS, f"its arguments are no {kind.__name__}: {shown(what)}", retryable=False)
    if not call.task.typing:
        return None
    try:
        call.header(*call.args, **call.kwargs)
    except TypeError as error:
        return failed(Reason.BAD_ARGUMENTS, str(error), retryable=False, exception_names=exception_names(error))
    return None


def run_body(call: Call, exposed: AbstractContextManager[None]) -> BodyEnd:
    """Run the task to its end, whatever that is. Interrupts land in here and nowhere else.

    Inside `exposed` the signals that shut the process down take effect.
    """
    live = call.live
    try:
        try:
            live.enter_body()
            with exposed:
                call_task(call)
        finally:
            if live.is_ours:
                live.leave_body()
    except BaseException as error:  # noqa: BLE001 - the error boundary
        leave_if_forked(live, error)
        # Once more: an interrupt may have come while the body was being left. There is only ever one.
        live.leave_body()
        return _end_of_error(call, error)
    leave_if_forked(live)
    return BodyEnd(outcome=_success(call) if call.returned else stopped_outcome(live) or _success(call))


# From what happened to an outcome


def stopped_outcome(live: LiveRun) -> Outcome | None:
    """A body that was interrupted ended because of that, whatever it raised or returned afterwards."""
    match live.stop:
        case None:
            return None
        case Stop.TIMEOUT:
            return failed(Reason.TIMEOUT, f"timed out after {live.facts.timeout_ms / 1000:g} s")
        case Stop.LOST:
            return failed(Reason.ORPHANED, "its worker lost touch with the ledger")
        case stop:
            return cancelled(Reason(stop.value))


def _success(call: Call) -> Outcome:
    if call.task.ignore_result:
        return Outcome(status=RunStatus.SUCCESS, mirrored=False)
    return succeeded(result_json(call.value, get_settings().max_result_bytes))


def _end_of_error(call: Call, error: BaseException) -> BodyEnd:
    leaves = _ends_process(error)
    if call.returned:  # one of its handlers was cut short
        return BodyEnd(outcome=_success(call), leave=error if leaves else None)
    if leaves and time.monotonic() >= call.live.deadline:
        call.live.stop = Stop.TIMEOUT  # not a shutdown: Celery's own limit ends a process in the same way
    outcome = stopped_outcome(call.live) or (cancelled(Reason.INTERRUPTED) if leaves else _outcome_of_error(error))
    return BodyEnd(outcome=outcome, leave=error if leaves else None)


def _ends_process(error: BaseException) -> bool:
    """The worker shuts down; a `SystemExit` that the task raised by itself is just its failure."""
    if isinstance(error, WorkerShutdown | WorkerTerminate):
        return True
    return isinstance(error, SystemExit) and _shutdown_has_begun()


def _shutdown_has_begun() -> bool:
    """Whether the pool's own handler of the termination signal has run in this process."""
    return bool(getattr(billiard_common, "_should_have_exited", [False])[0])


def _outcome_of_error(error: BaseException) -> Outcome:
    match error:
        case Retry():
            return _retry_outcome(error)
        case Ignore():
            return succeeded(None, Reason.IGNORED)
        case Reject():
            return _failure(error, reason=Reason.REJECTED, retryable=False)
        case SoftTimeLimitExceeded():
            return _failure(error, reason=Reason.TIMEOUT)  # Celery's own limit, set for the whole worker
        case _:
            return _failure(error)


def _retry_outcome(error: Retry) -> Outcome:
    try:
        return _failure(error.exc or error, **retries.asked(error))
    except (InvalidValue, TypeError, ValueError, OverflowError) as refused:
        # Tried again it would ask for the same: say what is wrong instead of handing it to the ledger.
        return _failure(refused, reason=Reason.BAD_ARGUMENTS, retryable=False)


def _failure(error: BaseException, *, reason: Reason = Reason.EXCEPTION, **more: Any) -> Outcome:
    settings = get_settings()
    return failed(
        reason,
        error_text(error, settings.max_error_chars),
        traceback=traceback_text(error, _below_us(error.__traceback__), settings.max_traceback_chars),
        exception_names=exception_names(error),
        **more,
    )


def _below_us(begin: TracebackType | None) -> TracebackType | None:
    """The traceback without our own frames at its top."""
    while begin is not None and begin.tb_next is not None and begin.tb_frame.f_globals.get("__name__") in _OUR_FRAMES:
        begin = begin.tb_next
    return begin
