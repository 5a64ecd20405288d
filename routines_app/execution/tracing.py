"""The user's task, traced by Celery: signals, handlers, logging and instrumentations are its own, under its own name.

Celery's `build_tracer` makes the tracer, as the worker does for its own use; instrumentations that have replaced it (as
Sentry's does) take part. What it calls is intercepted, once for each task: inside of a routine's run the call goes
through that run's `Body`, elsewhere straight on. A worker does that before it builds any tracer: what an
instrumentation puts around a task is around the body then, and sees what the ledger says. Handlers that raise would be
called twice by Celery, or replace what the body came to: inside of a run they are logged.
"""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from celery import signals, states
from celery.app import trace
from celery.app.task import Task
from celery.utils.nodenames import gethostname

from routines_app.coordination.envelope import EXECUTE_TASK, NO_CALLBACKS
from routines_app.execution import check_ins, retries
from routines_app.execution.body import Body
from routines_app.protocol.record.facts import RunFacts
from routines_app.protocol.run.current import CurrentRun, current_run, set_current

logger = logging.getLogger(__name__)

Tracer = Callable[..., Any]

HANDLERS = ("on_success", "on_failure", "on_retry", "after_return")
TRACERS = "_routines_tracers"
MARK = "_routines_intercepted"

_lock = threading.RLock()
_traced: ContextVar[Body | None] = ContextVar("routines_traced_body", default=None)
_awaited: ContextVar[Body | None] = ContextVar("routines_awaited_body", default=None)


class Unstored(trace.TraceInfo):
    """How a task ended, for Celery to report and not to store, whatever the project's settings say of errors.

    The ledger has it, and its copy for django-celery-results, without secrets.
    """

    __slots__ = ()

    def handle_error_state(self, task: Any, req: Any, eager: bool = False, call_errbacks: bool = True) -> Any:  # noqa: ARG002
        handle = self.handle_retry if self.state == states.RETRY else self.handle_failure
        return handle(task, req, store_errors=False, call_errbacks=call_errbacks)


def trace_body(body: Body, message: dict[str, Any], *, eager: bool) -> Any:
    """Let Celery trace the body; what its tracer returns. Raises what ends this process, or what Celery stumbles on.

    `message` is the request that rang the run in; the task sees of it what is not the carrier's own.
    """
    facts = body.live.facts
    tracer = _tracer_of(body.task, eager)
    before, traced, awaited = current_run(), _traced.set(body), _awaited.set(body)
    set_current(CurrentRun(body.live))
    try:
        return tracer(str(facts.id), tuple(facts.args), facts.kwargs, _request(facts, message, eager))
    finally:
        set_current(before)
        _awaited.reset(awaited)
        _traced.reset(traced)


def _request(facts: RunFacts, message: dict[str, Any], eager: bool) -> dict[str, Any]:
    run_id = str(facts.id)
    check_in = {} if eager else check_ins.begin(facts)
    inner = message.get("headers")
    return {
        **message,  # headers of the project's and of instrumentations among them
        # Celery makes `request.headers` of all of these, unless one is called so itself: then of that one alone.
        **check_in,
        "headers": {**inner, **check_in} if isinstance(inner, dict) else inner,
        **NO_CALLBACKS,
        "id": run_id,
        "task": facts.task,
        "shadow": None,
        "args": tuple(facts.args),
        "kwargs": facts.kwargs,
        "retries": facts.own_retries,
        "root_id": str(facts.chain or facts.id),
        "parent_id": None,
        "group": None,
        "correlation_id": run_id,
        "periodic_task_name": facts.routine_name,
        "is_eager": eager,
        "ignore_result": True,  # it is in the ledger
        # The ledger has judged that this run is to be executed, however often its message came.
        "delivery_info": {**(message.get("delivery_info") or {}), "redelivered": False},
    }


def _tracer_of(task: Task[..., Any], eager: bool) -> Tracer:
    """Not the task's `__trace__`: that may have been built before the task was intercepted, and is not ours alone."""
    tracers: dict[bool, Tracer] = vars(task).setdefault(TRACERS, {})
    if eager not in tracers:
        with _lock:
            _intercept(task)
            app: Any = task.app
            build = functools.partial(trace.build_tracer, Info=Unstored, eager=eager, app=app)
            tracers[eager] = build(task.name, task, app.loader, gethostname())
    return tracers[eager]


@signals.worker_init.connect(weak=False)
def intercept_all(sender: Any = None, **_: Any) -> None:
    """All tasks that are known by now; one that is registered later has its turn at its first run."""
    for name, task in sender.app.tasks.items():
        if name != EXECUTE_TASK and not name.startswith("celery."):
            _intercept(task)


def _intercept(task: Task[..., Any]) -> None:
    """Where Celery's tracer will look: a custom `__call__` (in a worker every task has one, Celery's own), or `run`."""
    retries.take_over(task, _own_retry)
    for name in HANDLERS:
        if trace.task_has_custom(task, name) and not hasattr(getattr(task, name), MARK):
            vars(task)[name] = _guarded(task, name, getattr(task, name))
    if trace.task_has_custom(task, "before_start") and not hasattr(task.before_start, MARK):
        vars(task)["before_start"] = _watched_start(task, task.before_start)
    owner: Any = type(task)
    if not trace.task_has_custom(task, "__call__"):
        if not hasattr(task.run, MARK):
            vars(task)["run"] = _watched_run(task, task.run)
    elif not hasattr(vars(owner).get("__call__"), MARK):
        owner.__call__ = _watched_call(owner.__call__)


def _watched_call(call: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(call)
    def watched(self: Task[..., Any], *args: Any, **kwargs: Any) -> Any:
        return _through_body(self, lambda: call(self, *args, **kwargs))

    setattr(watched, MARK, True)
    return watched


def _watched_run(task: Task[..., Any], run: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(run)
    def watched(*args: Any, **kwargs: Any) -> Any:
        return _through_body(task, lambda: run(*args, **kwargs))

    setattr(watched, MARK, True)
    return watched


def _watched_start(task: Task[..., Any], start: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(start)
    def watched(*args: Any, **kwargs: Any) -> Any:
        body = _awaited.get()
        if body is None or body.task is not task:
            return start(*args, **kwargs)
        awaited = _awaited.set(None)  # a `before_start` that calls its task has not begun its body
        try:
            return body.prepare(lambda: start(*args, **kwargs))
        finally:
            _awaited.reset(awaited)

    setattr(watched, MARK, True)
    return watched


def _through_body(task: Task[..., Any], call: Callable[[], Any]) -> Any:
    """The tracer's call is the first one after it was called; a task that calls itself is in its body already."""
    body = _awaited.get()
    if body is None or body.task is not task:
        return call()
    _awaited.set(None)
    return body.run(call)


def _body_of(task: Task[..., Any]) -> Body | None:
    """The body that is traced here, if this is its task and its request."""
    body = _traced.get()
    return body if body is not None and body.task is task and task.request.id == str(body.live.id) else None


def _own_retry(task: Task[..., Any]) -> retries.OwnRetry | None:
    body = _body_of(task)
    return None if body is None else body.own


def _guarded(task: Task[..., Any], name: str, handler: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(handler)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        if _body_of(task) is None:
            return handler(*args, **kwargs)
        try:
            return handler(*args, **kwargs)
        except Exception:
            logger.exception("%s of task %s failed", name, task.name)
            return None

    setattr(guarded, MARK, True)
    return guarded
