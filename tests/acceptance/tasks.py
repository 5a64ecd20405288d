"""Task bodies that write down, in a file of their own, that they ran: facts that no ledger had a hand in.

Each line of the file named by ROUTINES_BODY_LOG is one JSON object: `event` (start, end or note), `body` (one id for
each execution), what the run is, the process id, and the time by two clocks, of which the monotonic one is the same
for all processes of a machine.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn
from uuid import uuid4

from celery import Task, shared_task
from celery.exceptions import SoftTimeLimitExceeded

DEAF_TO = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)


def write_line(**facts: Any) -> None:
    """Append one line by one write: whole or not at all, whichever processes write beside us."""
    path = os.environ.get("ROUTINES_BODY_LOG")
    if not path:
        return
    line = json.dumps(facts | {"pid": os.getpid(), "monotonic": time.monotonic(), "wall": time.time()})
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, line.encode() + b"\n")
    finally:
        os.close(descriptor)


def run_facts() -> dict[str, Any]:
    """What the task can know about its own run; empty when it was not started by a routine."""
    from routines_app.protocol.run.current import current_run

    run = current_run()
    if run is None:
        return {"run": None}
    return {
        "run": str(run.id),
        "routine": run.routine,
        "slot": run.slot.isoformat(),
        "attempt": run.attempt,
        "fence": run.fence,
    }


@contextmanager
def body(**facts: Any) -> Iterator[dict[str, Any]]:
    """Write the start, then — unless the process is gone by then — the end and how it came."""
    known = run_facts() | facts | {"body": uuid4().hex}
    write_line(event="start", **known)
    how = "interrupted"
    try:
        yield known
        how = "returned"
    except BaseException as error:
        how = type(error).__name__
        raise
    finally:
        write_line(event="end", how=how, **known)


@shared_task
def note(*args: Any, **kwargs: Any) -> dict[str, Any]:
    """Runs for no time at all and returns what it was given."""
    with body(args=list(args), kwargs=kwargs):
        return {"args": list(args), "kwargs": kwargs}


@shared_task
def misrouted() -> None:
    """Runs for no time at all, if the router lets it."""
    with body():
        return


@shared_task
def sleepy(seconds: float = 1.0, until: str = "") -> float:
    """Sleeps in short pieces, so that an interrupt lands between them; not longer than `until` there is that file."""
    with body(seconds=seconds):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not is_there(until):
            time.sleep(min(left, 0.05))
    return seconds


def is_there(file: str) -> bool:
    return bool(file) and Path(file).exists()


@shared_task
def fail(message: str = "as asked") -> NoReturn:
    with body():
        raise ValueError(message)


@shared_task
def flaky(failures: int = 1) -> int:
    """Fails in the first attempts of a chain and then succeeds."""
    with body() as known:
        attempt = int(known.get("attempt") or 1)
        if attempt <= failures:
            raise RuntimeError(f"attempt {attempt} of {failures} that fail")
        return attempt


@shared_task
def segfault() -> None:
    with body():
        ctypes.string_at(0)


@shared_task
def exit_hard(code: int = 1) -> None:
    with body():
        os._exit(code)


@shared_task
def swallow(seconds: float = 60.0, until: str = "") -> str:
    """Catches whatever asks it to stop, writes that down, and goes on, `until` there is that file."""
    end = time.monotonic() + seconds
    with body(seconds=seconds) as known:
        while time.monotonic() < end and not is_there(until):
            try:
                time.sleep(0.05)
            except BaseException as error:  # noqa: BLE001 - swallowing everything is what this task is for
                write_line(event="note", swallowed=type(error).__name__, **known)
    return "to the end"


@shared_task
def hold_gil(seconds: float = 5.0) -> None:
    """Sits in C code that keeps the interpreter lock: no thread of the process gets a turn, and no signal ends it."""
    with body(seconds=seconds):
        signal.pthread_sigmask(signal.SIG_BLOCK, DEAF_TO)
        ctypes.PyDLL(None).usleep(int(seconds * 1_000_000))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, DEAF_TO)


@shared_task
def fork(how: str, children: int = 2) -> list[int]:
    """Forks processes that leave the task by returning, raising or exiting; returns their exit codes."""
    forked = []
    for _ in range(children):
        child = os.fork()
        if child == 0:
            write_line(event="note", forked=how)
            if how == "exit":
                sys.exit(3)
            if how == "raise":
                raise ValueError("in a forked process")
            return []
        forked.append(child)
    with body(forked=forked):
        return [exit_code(child) for child in forked]


def exit_code(child: int, seconds: float = 10.0) -> int:
    """Of a process that has ended, or ends in time; -1 when it lives on."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        gone, status = os.waitpid(child, os.WNOHANG)
        if gone:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    return -1


@shared_task
def eat_memory(megabytes: int = 512) -> int:
    """Allocates and touches that much; with a limit on the process this is a MemoryError or a kill."""
    with body():
        return len([bytes(1024 * 1024) + b"x" for _ in range(megabytes)])


@shared_task
def big_result(size: int = 10 * 1024 * 1024) -> str:
    with body():
        return "x" * size


@shared_task
def odd_result(kind: str) -> Any:
    """Results that a database text or JSON cannot hold as they are."""
    kinds: dict[str, Any] = {
        "nul": "a\x00b",
        "emoji": "\N{PARTY POPPER}",
        "surrogate": "a\ud800b",
        "nan": float("nan"),
        "set": {1, 2},
        "object": object(),
    }
    with body():
        return kinds[kind]


class UnprintableError(Exception):
    """Cannot be shown: both of its texts raise."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class UnpicklableError(Exception):
    """Cannot leave its process: it holds an open file and wants two arguments when it is built again."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(reason)
        self.stream = Path(path).open("rb")  # noqa: SIM115 - kept open on purpose


@shared_task
def fail_unprintable() -> NoReturn:
    with body():
        raise UnprintableError


@shared_task
def fail_unpicklable() -> NoReturn:
    with body():
        raise UnpicklableError(os.devnull, "holds a file")


@shared_task
def progressing(steps: int = 5, seconds: float = 1.0) -> int:
    """Reports progress and log lines while it works."""
    from routines_app.protocol.run.current import current_run

    run = current_run()
    with body():
        for step in range(1, steps + 1):
            time.sleep(seconds / steps)
            if run is not None:
                run.progress(step, steps, f"step {step}")
                run.log(f"did step {step} of {steps}")
    return steps


class Reported(Task):  # type: ignore[type-arg]
    """Writes down which of its handlers are called."""

    def on_success(self, *_: Any) -> None:
        write_line(event="handler", handler="on_success", run=self.request.id)

    def on_failure(self, exc: Exception, task_id: str, *_: Any) -> None:
        write_line(event="handler", handler="on_failure", run=task_id, error=type(exc).__name__)

    def on_retry(self, exc: Exception, task_id: str, *_: Any) -> None:
        write_line(event="handler", handler="on_retry", run=task_id)


@shared_task(base=Reported, bind=True)
def reported(self: Any, how: str, seconds: float = 60.0) -> str:
    """Ends as it is asked to; `wait` until it is stopped, `tidy` then returns, `stubborn` does not stop."""
    with body():
        if how == "raise":
            raise ValueError("raised as asked")
        if how == "retry":
            raise self.retry(exc=KeyError("retried as asked"), countdown=600)
        end = time.monotonic() + (seconds if how in ("wait", "tidy", "stubborn") else 0)
        while time.monotonic() < end:
            try:
                time.sleep(0.05)
            except SoftTimeLimitExceeded:
                if how == "tidy":
                    break
                if how == "wait":
                    raise
    return how


@shared_task(time_limit=2)
def limited(seconds: float) -> None:
    """Has a limit of its own."""
    with body():
        time.sleep(seconds)


@shared_task(soft_time_limit=1, time_limit=4)
def lenient(seconds: float) -> None:
    """May clean up for three seconds, and needs longer."""
    with body():
        try:
            time.sleep(seconds)
        except SoftTimeLimitExceeded:
            time.sleep(seconds)
