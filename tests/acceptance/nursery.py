"""Where celery processes and management commands come from quickly: one process has read their libraries, and forks.

Two thirds of what it takes to start a beat or a worker is reading Django, Celery and their libraries, and hundreds are
started by the acceptance tests. What is forked is a process like any other, with the arguments, environment, directory
and log that it would have had: from there on it reads its settings, our package and its tasks by itself. Nothing of
ours, no settings and no thread is there before the fork.

The nursery is the parent, so it also tells how its children ended. It dies with whoever started it, and they with it.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import django.conf

from tests.processes import die_with_parent

ROOT = Path(__file__).parents[2]
UNUSED = Path(__file__).parent / "unused"  # in place of what the `celery` command imports and our processes never use
PATHS = f"{UNUSED}:{ROOT}"
SHARED = {  # packages that neither read settings nor begin anything when they are imported
    *("amqp", "billiard", "celery", "click", "croniter", "dateutil", "django", "django_celery_results", "kombu"),
    *("psutil", "psycopg", "psycopg_binary", "pymysql", "redis", "vine"),
}
ANSWER_SECONDS = 60.0  # it has a thousand modules to read first, perhaps on a busy machine
POLL_SECONDS = 0.01


def without_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """What is read before the fork finds none, and those that want some are read after it."""
    return {name: value for name, value in environment.items() if name != "DJANGO_SETTINGS_MODULE"}


class Nursery:
    """Our side of it: asks for processes, and hears of their ends."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self.popen = subprocess.Popen(
            [sys.executable, "-m", "tests.acceptance.nursery", str(theirs.fileno())],
            env=without_settings(os.environ) | {"PYTHONPATH": PATHS, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,  # Ctrl-C in the terminal is for pytest, which then stops what it has started
            preexec_fn=die_with_parent,
        )
        theirs.close()
        self.socket, self.heard = ours, b""
        self.codes: dict[int, int] = {}
        self.born: list[int] = []
        self.tell([name for name in list(sys.modules) if name.partition(".")[0] in SHARED])

    def bear(
        self, command: list[str], environment: dict[str, str], directory: Path, log: Path, errors: Path | None = None
    ) -> Child:
        """Start `python -m module …`; what it says of errors goes into the log too, or has a file of its own."""
        for file in (log, errors or log):
            file.touch()  # it can be read at once
        told = {"command": command, "environment": environment, "directory": str(directory)}
        self.tell(told | {"log": str(log), "errors": str(errors or log)})
        while not self.born:
            self.hear(ANSWER_SECONDS)
        return Child(self, self.born.pop())

    def tell(self, what: object) -> None:
        self.socket.sendall(json.dumps(what).encode() + b"\n")

    def hear(self, seconds: float) -> None:
        """Take what has been said, waiting at most so long for the first word."""
        while select.select([self.socket], [], [], seconds)[0]:
            received = self.socket.recv(65_536)
            if not received:
                raise RuntimeError(f"the nursery has ended: {self.popen.wait()}")
            *lines, self.heard = (self.heard + received).split(b"\n")
            for said in map(json.loads, lines):
                if "born" in said:
                    self.codes.pop(said["born"], None)  # of one that had the number before
                    self.born.append(said["born"])
                else:
                    self.codes[said["ended"]] = said["code"]
            if lines:
                return
        if seconds >= ANSWER_SECONDS:
            raise TimeoutError(f"the nursery has not answered for {seconds:.0f} s")


class Child:
    """A process of the nursery, as `subprocess.Popen` would show it."""

    def __init__(self, nursery: Nursery, pid: int) -> None:
        self.nursery, self.pid = nursery, pid

    @property
    def returncode(self) -> int | None:
        return self.nursery.codes.get(self.pid)

    def poll(self) -> int | None:
        if self.returncode is None:
            self.nursery.hear(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        until = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if until is not None and timeout is not None and time.monotonic() > until:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            time.sleep(POLL_SECONDS)
        return code

    def terminate(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGTERM)


@cache
def nursery() -> Nursery:
    """The one of this process: begun when the first process is wanted."""
    return Nursery()


def keep(wire: socket.socket) -> dict[str, Any]:
    """The other side: fork as asked for, and tell of ends. Returns in a child, with what it was asked to be."""
    awake, waker = socket.socketpair()
    waker.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker.fileno())
    requests = wire.makefile("rb", buffering=0)  # what it had read ahead, nobody would be woken for
    read_libraries(json.loads(requests.readline()))
    assert not django.conf.settings.configured, "a process would have the settings of another one"
    gc.freeze()  # no child has to copy all of it to look for garbage there
    while True:
        ready = select.select([wire, awake], [], [])[0]
        if awake in ready:
            awake.recv(4096)
            tell_ends(wire)
        if wire not in ready:
            continue
        if not (line := requests.readline()):
            sys.exit(0)
        if (pid := os.fork()) == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for end in (awake, waker, requests, wire):
                end.close()
            asked: dict[str, Any] = json.loads(line)
            return asked
        wire.sendall(json.dumps({"born": pid}).encode() + b"\n")


def read_libraries(names: list[str]) -> None:
    for name in names:
        try:
            importlib.import_module(name)
        except Exception:  # noqa: BLE001 - it wants settings, which each process has of its own
            continue


def tell_ends(wire: socket.socket) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        wire.sendall(json.dumps({"ended": pid, "code": os.waitstatus_to_exitcode(status)}).encode() + b"\n")


def become(asked: dict[str, Any]) -> None:
    """All that a new process would have been given by whoever started it."""
    os.setsid()
    die_with_parent()
    os.chdir(asked["directory"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    with open(os.devnull, "rb") as nothing, open(asked["log"], "ab") as log, open(asked["errors"], "ab") as errors:
        for source, target in ((nothing, 0), (log, 1), (errors, 2)):
            os.dup2(source.fileno(), target)
    python, option, module, *arguments = asked["command"]
    assert option == "-m"
    sys.path[0] = asked["directory"]
    sys.argv = [python, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    become(keep(socket.socket(fileno=int(sys.argv[1]))))
