"""A run that failed with its process, or was rejected, is reported by the worker's main process as Celery's own is.

Under the user's task: signal, handlers where Celery calls them, a line in the log, and the event.
"""

from __future__ import annotations

import logging
from typing import Any

from billiard.einfo import ExceptionInfo
from billiard.exceptions import TimeLimitExceeded, WorkerLostError
from celery import current_app, signals, states
from celery.app.task import Context, Task
from celery.exceptions import Reject
from django.db import connections
from kombu.asynchronous import get_event_loop
from kombu.utils.encoding import safe_repr

from routines_app.core.words import Reason, RunStatus
from routines_app.models import RoutineRun
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.record.facts import RunFacts

logger = logging.getLogger(__name__)


# What is asked of the row of a run that was lost.
TOLD = ("status", "reason", "error", "traceback", "result", "own_retries", "started_at", "completed_at")


def report(request: Any, facts: RunFacts, row: RoutineRun, error: BaseException) -> None:
    """Tell that this run has failed, once. Nobody waits for this, and nothing that goes wrong here concerns the run."""
    _report(request, facts, _reported(row, error), handlers=row.reason == Reason.TIMEOUT)


def report_rejection(request: Any, facts: RunFacts, error: Reject) -> None:
    """As Celery tells it: the tracer has logged it, and no handler is called."""
    _report(request, facts, error, log=False)


def was_ended_outside(row: RoutineRun) -> bool:
    """By the watchdog beside its body, or by the pacemaker: they leave it to whoever sees the process die to tell.

    A body that ended by itself has left its traceback, and its own process was about to tell.
    """
    return bool(row.reason == Reason.TIMEOUT) and not row.traceback


def tell_end(request: Any, row: RoutineRun) -> None:
    """The event of a run that its own process had ended before it was lost; monitors would show it as started."""
    if row.status == RunStatus.SUCCESS and row.reason != Reason.IGNORED:
        seconds = (row.completed_at - row.started_at).total_seconds() if row.completed_at and row.started_at else None
        _send_event(request, "task-succeeded", result=safe_repr(row.result), runtime=seconds)
    elif row.status == RunStatus.FAILED:
        own = RoutineRun.objects.using(ledger_alias()).filter(retry_of=row.pk, own_retries=row.own_retries + 1)
        kind = "task-retried" if own.exists() else "task-failed"
        _send_event(request, kind, exception=row.error, traceback=row.traceback)


def _report(request: Any, facts: RunFacts, error: Exception, *, handlers: bool = False, log: bool = True) -> None:
    try:
        raise error
    except Exception as reported:
        info = ExceptionInfo()
        if log:
            logger.exception("Task %s[%s] raised unexpected: %r", facts.task, facts.id, reported)
        info.exception = reported
        _send_event(request, "task-failed", exception=safe_repr(reported), traceback=info.traceback)
        try:
            _tell(current_app.tasks.get(facts.task), facts, reported, info, handlers)
        except Exception:
            logger.exception("the failure of run %s could not be told", facts.id)
    finally:
        connections.close_all()


def _reported(row: RoutineRun, error: BaseException) -> Exception:
    if row.reason == Reason.TIMEOUT:
        return error if isinstance(error, TimeLimitExceeded) else TimeLimitExceeded(row.error)
    return error if isinstance(error, WorkerLostError) else WorkerLostError(row.error or repr(error))


def _send_event(request: Any, kind: str, **said: Any) -> None:
    """Where there is an event loop it is its thread that sends; elsewhere every thread does."""

    def send() -> None:
        request.send_event(kind, **said)

    loop = get_event_loop()
    if loop is None:
        send()
    else:
        loop.call_soon(send)


def _tell(task: Task[..., Any] | None, facts: RunFacts, error: Exception, info: ExceptionInfo, handlers: bool) -> None:
    if task is None:
        return
    run_id, args, kwargs = str(facts.id), tuple(facts.args), facts.kwargs
    task.request_stack.push(Context(id=run_id, task=facts.task, args=args, kwargs=kwargs, retries=facts.own_retries))
    try:
        told = {"exception": error, "traceback": error.__traceback__, "einfo": info}
        signals.task_failure.send(sender=task, task_id=run_id, args=args, kwargs=kwargs, **told)
        if handlers:  # as Celery does at its hard limit, and not for a process that was lost
            task.on_failure(error, run_id, args, kwargs, info)
            task.after_return(states.FAILURE, error, run_id, args, kwargs, info)
    finally:
        task.request_stack.pop()
