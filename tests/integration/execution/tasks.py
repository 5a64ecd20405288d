"""Celery tasks of every shape, for the executor's tests."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any

from celery import Task, current_app, current_task, shared_task
from celery.exceptions import Ignore, Reject, SoftTimeLimitExceeded

from routines_app import current_run
from routines_app.core.words import Reason
from routines_app.protocol.end.finish import close_run
from routines_app.protocol.record.outcome import failed

seen: list[Any] = []
lingers, let_go = threading.Event(), threading.Event()


@shared_task(bind=True)
def bound(self: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
    request = self.request
    return {
        "id": request.id,
        "args": list(request.args),
        "kwargs": request.kwargs,
        "retries": request.retries,
        "hostname": request.hostname,
        "called_directly": request.called_directly,
    }


class Hooked(Task):  # type: ignore[type-arg]
    """Calls super, and writes down which handlers were called."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        seen.append("call")
        return super().__call__(*args, **kwargs)

    def before_start(self, task_id: str, args: Any, kwargs: Any) -> None:
        seen.append("before_start")

    def on_success(self, retval: Any, task_id: str, args: Any, kwargs: Any) -> None:
        seen.append(("on_success", retval))
        raise RuntimeError("a handler that fails")

    def on_failure(self, exc: Exception, task_id: str, args: Any, kwargs: Any, einfo: Any) -> None:
        seen.append(("on_failure", str(exc), einfo.traceback.splitlines()[-1]))

    def on_retry(self, exc: Exception, task_id: str, args: Any, kwargs: Any, einfo: Any) -> None:
        seen.append("on_retry")

    def after_return(self, status: str, retval: Any, task_id: str, args: Any, kwargs: Any, einfo: Any) -> None:
        seen.append(("after_return", status))


@shared_task(base=Hooked, bind=True)
def hooked(self: Any, fail: bool = False) -> str:
    if fail:
        raise ValueError("asked to")
    return str(self.request.id)


class Registered(Task):  # type: ignore[type-arg]
    """A task that is no decorated function."""

    name = f"{__name__}.registered"

    def run(self, who: str) -> str:
        return f"hello {who}"


current_app.register_task(Registered())


class Clumsy(Task):  # type: ignore[type-arg]
    """Its handlers fail."""

    def on_failure(self, exc: Exception, task_id: str, args: Any, kwargs: Any, einfo: Any) -> None:
        seen.append("on_failure")
        raise RuntimeError("a handler that fails")

    def after_return(self, status: str, retval: Any, task_id: str, args: Any, kwargs: Any, einfo: Any) -> None:
        seen.append("after_return")
        raise RuntimeError("a handler that fails")


@shared_task(base=Clumsy)
def clumsy(fail: bool = False) -> None:
    if fail:
        raise ValueError("asked to")


class Unprepared(Task):  # type: ignore[type-arg]
    """Does not come to its body, in this or that way."""

    def before_start(self, task_id: str, args: Any, kwargs: Any) -> None:
        how = args[0] if args else "fail"
        if how == "retry":
            raise self.retry(exc=LookupError("not prepared"), max_retries=0)
        if how == "fail":
            raise LookupError("not prepared")
        try:
            time.sleep(20)
        except SoftTimeLimitExceeded:
            if how == "hang":
                raise


@shared_task(base=Unprepared)
def unprepared(how: str = "fail") -> None:
    seen.append("not to be called")


@shared_task
def unformattable() -> None:
    line: Any = b"bytes where a line of text should be"
    raise SyntaxError("odd", ("file", 1, 1, line))


@shared_task(ignore_result=True)
def ignoring() -> str:
    return "nobody wants this"


@shared_task(bind=True)
def retrying(self: Any, countdown: float | None = None, args: list[Any] | None = None) -> None:
    try:
        raise KeyError("first")
    except KeyError as error:
        raise self.retry(exc=error, countdown=countdown, args=args) from error


@shared_task(bind=True)
def retrying_oddly(self: Any, kind: str) -> None:
    """Asks for a retry that the ledger cannot hold."""
    from datetime import UTC, datetime

    options: dict[str, Any] = {
        "datetime": {"kwargs": {"at": datetime.now(UTC)}},
        "nul": {"args": ["a\x00b"]},
        "nan": {"args": [float("nan")]},
        "never": {"countdown": float("inf")},
        "too far": {"countdown": 1e15},
    }
    raise self.retry(**options[kind])


@shared_task(autoretry_for=(ZeroDivisionError,), retry_kwargs={"countdown": 42})
def auto_retrying() -> float:
    return 1 / 0


@shared_task(autoretry_for=(KeyError,), retry_backoff=2, retry_jitter=False, max_retries=9)
def backing_off() -> None:
    raise KeyError("again")


@shared_task(autoretry_for=(KeyError,), retry_kwargs={"countdown": 0})
def mixed() -> None:
    """Asks to be tried again, and then fails in a way that it does not know."""
    raise KeyError("known") if current_task.request.retries == 0 else ValueError("unknown")


@shared_task(bind=True)
def retrying_with(self: Any, options: dict[str, Any] | list[Any] | None = None) -> None:
    raise self.retry(**(options if isinstance(options, dict) else {}))


@shared_task(bind=True)
def retrying_quietly(self: Any, fails: bool = False) -> str:
    self.retry(countdown=0, throw=False)
    if fails:
        raise ValueError("all the same")
    return "returned"


@shared_task
def interrupted() -> None:
    """As a worker that shuts down does it."""
    from routines_app.execution.watchdog import watchdog

    watchdog().interrupt_all()
    time.sleep(20)


@shared_task
def ignored() -> None:
    raise Ignore


@shared_task
def rejected(why: str = "") -> None:
    raise Reject("not mine", requeue=True)


@shared_task
def exiting(code: int = 3) -> None:
    raise SystemExit(code)


@shared_task
def out_of_memory() -> None:
    raise MemoryError


@shared_task
def spinning(seconds: float, clean_up: str = "") -> str:
    """Works in bytecode, so that an interrupt lands in every kind of pool."""
    import time

    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            time.sleep(0.01)
    except SoftTimeLimitExceeded:
        seen.append("cleaned up")
        if clean_up == "raise":
            raise ValueError("in the middle of it") from None
        if not clean_up:
            raise
    return "to the end"


@shared_task
def lingering() -> str:
    """The first attempt lasts until it is let go; the others end at once."""
    run = current_run()
    if run is not None and run.attempt == 1:
        lingers.set()
        let_go.wait(60)
    return "returned"


@shared_task
def ended_meanwhile() -> None:
    """Somebody else ends its run, and then it fails."""
    run = current_run()
    assert run is not None
    close_run(run.run_id, failed(Reason.ORPHANED, "silent"))
    raise ValueError("too late")


@shared_task
def leaving_a_transaction() -> None:
    from django.db import transaction

    transaction.set_autocommit(False)


@shared_task
def progressing(kind: str) -> str:
    """Says how far it is in something that is not JSON."""
    from decimal import Decimal

    from routines_app import current_run

    run = current_run()
    assert run is not None
    done: Any = {"decimal": Decimal("1.5"), "nan": float("nan"), "text": "half", "object": object(), "huge": 10**5000}
    run.progress(done[kind], 10)
    return "done"


@shared_task
def talkative(lines: int) -> None:
    from routines_app import current_run

    run = current_run()
    assert run is not None
    for number in range(lines):
        run.log("line", number)
    run.progress(lines, lines, "all\x00said")
    seen.append((run.run_id, run.routine, run.attempt, run.fence, run.cancelled, run.slot, run.deadline))


@shared_task(base=Hooked, bind=True)
def forking(self: Any, how: str) -> int:
    """Forks a process that leaves the body like this; returns its exit code."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if how == "exit":
        sys.exit(0)
    if how == "retry":
        raise self.retry(countdown=1)
    if how == "ignore":
        raise Ignore
    if how == "raise":
        raise ValueError("in a forked process")
    return 0
