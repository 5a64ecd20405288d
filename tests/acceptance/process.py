"""One real process of a stack — a beat, a worker, a web server — that a test may kill, freeze and read."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import psutil

from tests.acceptance.nursery import PATHS, Child, nursery
from tests.processes import alive, die_with_parent, kill_tree, signal_tree, stretched, tree, wait_for


def is_ordinary(command: list[str], environment: dict[str, str]) -> bool:
    """Whether it may have its libraries from before its start: not if they are to be read differently."""
    is_celery = command[1:3] == ["-m", "celery"] and "gevent" not in command
    return is_celery and environment.get("PYTHONPATH") == PATHS and "LD_PRELOAD" not in environment


class Process:
    """Started on creation; everything it prints goes to one log file."""

    def __init__(self, name: str, command: list[str], environment: dict[str, str], directory: Path) -> None:
        self.name = name
        self.path = directory / f"{name}.log"
        self.popen: subprocess.Popen[bytes] | Child
        if is_ordinary(command, environment):
            self.popen = nursery().bear(command, os.environ | environment, directory, self.path)
        else:
            self.popen = self.start(command, environment, directory)

    def start(self, command: list[str], environment: dict[str, str], directory: Path) -> subprocess.Popen[bytes]:
        with self.path.open("ab") as log:
            return subprocess.Popen(
                command,
                cwd=directory,
                env=os.environ | environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=die_with_parent,
            )

    @property
    def pid(self) -> int:
        return self.popen.pid

    @property
    def running(self) -> bool:
        return self.popen.poll() is None

    def kill9(self) -> None:
        """SIGKILL it with its children, as a machine that loses power does."""
        kill_tree(self.pid)
        self.popen.wait()

    def terminate(self) -> None:
        """SIGTERM to the process itself, as a deployment sends it; does not wait."""
        self.popen.terminate()

    def freeze(self) -> None:
        """SIGSTOP the process and its children."""
        signal_tree(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        signal_tree(self.pid, signal.SIGCONT)

    def children(self) -> list[psutil.Process]:
        """The living processes below it: a prefork worker's pool."""
        return [process for process in tree(self.pid)[1:] if alive(process)]

    def wait(self, timeout: float) -> int:
        """Wait for its end and return the exit code (negative: the signal that ended it)."""
        try:
            return self.popen.wait(timeout)
        except subprocess.TimeoutExpired:
            return self.popen.wait(stretched(timeout) - timeout)  # to ask how busy the machine is takes half a second

    def log(self) -> str:
        return self.path.read_text(errors="replace")

    def wait_for_log(self, text: str, timeout: float = 30) -> None:
        """Wait until it has printed the text; its end counts as a failure."""
        wait_for(lambda: text in self.log() or not self.running, timeout, f"{self.name} never said {text!r}")
        if text not in self.log():
            raise RuntimeError(f"{self.name} ended ({self.popen.returncode}) before it said {text!r}:\n{self.log()}")
