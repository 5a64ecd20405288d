"""One call of a user's task, the way Celery's own tracer would make it.

The task sees a request of its own (id, arguments, retries, hostname …), a custom `__call__` is respected, its
`before_start`, `on_success`, `on_failure`, `on_retry` and `after_return` are called, and Celery's `task_prerun`,
`task_success`, `task_failure`, `task_retry` and `task_postrun` are sent for it, as error trackers expect.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from typing import Any

from billiard.einfo import ExceptionInfo
from celery import _state as celery_state
from celery import signals, states
from celery.app.task import Context, Task
from celery.app.trace import task_has_custom
from celery.exceptions import Ignore, Reject, Retry, SoftTimeLimitExceeded
from celery.utils.dispatch import Signal
from kombu.utils.uuid import uuid

from routines_app.execution import retries
from routines_app.execution.forked import leave_if_forked
from routines_app.execution.live import LiveRun
from routines_app.execution.stops import Stop
from routines_app.protocol.run.current import CurrentRun, set_current

logger = logging.getLogger(__name__)

_tasks: Any = getattr(celery_state, "_task_stack")  # noqa: B009 - what `celery.current_task` reads


@dataclass(kw_only=True)
class Call:
    """What is called, and for which run."""

    task: Task[..., Any]
    live: LiveRun
    request: dict[str, Any] = field(default_factory=dict)
    returned: bool = False
    """The task has returned, before anybody asked it to stop: whatever its handlers do now, it has succeeded."""
    value: Any = None

    @property
    def id(self) -> str:
        return str(self.live.facts.id)

    def header(self, *args: Any, **kwargs: Any) -> None:
        """Has the task's signature and does nothing: raises `TypeError` for arguments that do not fit."""
        self.task.__header__(*args, **kwargs)  # type: ignore[attr-defined]

    @property
    def args(self) -> tuple[Any, ...]:
        return tuple(self.live.facts.args)

    @property
    def kwargs(self) -> dict[str, Any]:
        return self.live.facts.kwargs


def call_task(call: Call) -> Any:
    """Call it; whatever it raises is raised."""
    task = call.task
    retries.take_over(task)
    set_current(CurrentRun(call.live))
    _tasks.push(task)
    task.request_stack.push(_context(call))
    try:
        return _with_signals(call)
    finally:
        task.request_stack.pop()
        _tasks.pop()
        set_current(None)


def _context(call: Call) -> Context:
    facts = call.live.facts
    return Context(
        call.request,
        id=call.id,
        task=facts.task,
        args=call.args,
        kwargs=call.kwargs,
        retries=facts.attempt - 1,
        root_id=str(facts.chain or facts.id),
        correlation_id=call.id,
        periodic_task_name=facts.routine_name,
        called_directly=False,
        is_eager=False,
        ignore_result=call.task.ignore_result,
        origin=call.request.get("hostname") or uuid(),
    )


def _with_signals(call: Call) -> Any:
    called = {"task_id": call.id, "task": call.task, "args": call.args, "kwargs": call.kwargs}
    state: str = states.IGNORED
    value: Any = None
    _send(call, signals.task_prerun, **called)
    try:
        if call.live.stop is not None:  # an interrupt that came during the signal was logged by it, and is gone
            raise SoftTimeLimitExceeded
        value = _with_handlers(call)
        state = states.SUCCESS
    except Retry as error:
        state, value = states.RETRY, error
        raise
    except Reject:
        state = states.REJECTED
        raise
    except Ignore:
        raise
    except BaseException as error:
        state, value = states.FAILURE, error
        raise
    finally:
        _send(call, signals.task_postrun, **called, retval=value, state=state)
    return value


def _with_handlers(call: Call) -> Any:
    began = time.monotonic()
    try:
        value = call.value = _run(call)
        with call.live.lock:
            call.returned = call.live.stop is None
    except (Ignore, Reject):
        raise
    except Retry as error:
        _handle_error(call, "on_retry", states.RETRY, error)
        raise
    except Exception as error:
        _handle_error(call, "on_failure", states.FAILURE, error)
        raise
    _handle(call, "on_success", value, call.id, call.args, call.kwargs)
    _send(call, signals.task_success, result=value, runtime=time.monotonic() - began)
    _handle(call, "after_return", states.SUCCESS, value, call.id, call.args, call.kwargs, None)
    return value


def _run(call: Call) -> Any:
    """The task's own code. A process that it has forked does not come out: handlers and signals are not for it."""
    task = call.task
    try:
        if task_has_custom(task, "before_start"):
            task.before_start(call.id, call.args, call.kwargs)
        run = task if task_has_custom(task, "__call__") else task.run
        value = run(*call.args, **call.kwargs)
    except BaseException as error:
        leave_if_forked(call.live, error)
        raise
    leave_if_forked(call.live)
    return value


def _handle_error(call: Call, handler: str, state: str, error: Exception) -> None:
    info = _exception_info()
    _handle(call, handler, error, call.id, call.args, call.kwargs, info)
    if isinstance(error, Retry):
        _send(call, signals.task_retry, request=call.task.request, reason=error, einfo=info)
    elif call.live.stop in (None, Stop.TIMEOUT):  # a cancellation is no failure
        told = {"exception": error, "traceback": error.__traceback__, "einfo": info}
        _send(call, signals.task_failure, task_id=call.id, args=call.args, kwargs=call.kwargs, **told)
    _handle(call, "after_return", state, error, call.id, call.args, call.kwargs, info)


def _exception_info() -> ExceptionInfo | None:
    """Of the exception that is being handled; some cannot even be formatted, and must not hide behind that."""
    try:
        return ExceptionInfo()
    except Exception as error:  # noqa: BLE001 - whatever its parts raise
        logger.warning("the exception of a task cannot be formatted: %s", type(error).__name__)
        return None


def _handle(call: Call, name: str, *arguments: Any) -> None:
    """A task's own handler; one that fails changes nothing about how the task ended."""
    if not task_has_custom(call.task, name):
        return
    try:
        getattr(call.task, name)(*arguments)
    except SoftTimeLimitExceeded:
        raise
    except Exception:
        logger.exception("%s of task %s failed", name, call.task.name)


def _send(call: Call, signal: Signal, **facts: Any) -> None:
    """Send one of Celery's signals; receivers that fail are logged by it.

    Celery's Django fix-up listens too, and would close the database connection that the run still needs, unless the
    task is eager: so it seems to be for as long as this takes.
    """
    if not signal.receivers:
        return
    request = call.task.request
    request.is_eager = True
    try:
        signal.send(sender=call.task, **facts)
    except SoftTimeLimitExceeded:
        raise
    except Exception as error:  # noqa: BLE001 - logging what a receiver raised has failed too
        logger.error("%s of task %s failed: %s", signal, call.task.name, type(error).__name__)
    finally:
        request.is_eager = False
