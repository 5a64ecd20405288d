"""What the servers of a test run have in common, whichever they are."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.processes import die_with_parent, free_port, kill_tree, signal_tree, wait_for

START_SECONDS = 20  # two busy cores: a start that takes half a second alone has taken five
UNPRIVILEGED_USER = "nobody"  # databases refuse to run as root


class EmbeddedServer:
    """What the two servers have in common: a private directory, a port, and one process tree."""

    name = "server"

    def __init__(self, port: int | None = None) -> None:
        self.port = port or free_port()
        self.directory = Path(tempfile.mkdtemp(prefix=f"routines-{self.name}-"))
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start (again), on the same port and the same data; returns when it answers."""
        self.prepare()
        self.process = self.spawn()
        wait_for(self.ready_or_dead, START_SECONDS, f"{self.name} did not start: {self.log()}")
        if self.process.poll() is not None:
            raise RuntimeError(f"{self.name} ended while starting: {self.log()}")

    def prepare(self) -> None:
        """Whatever has to be there before the first start."""

    def spawn(self, *command: str, **options: Any) -> subprocess.Popen[bytes]:
        with (self.directory / "log").open("ab") as log:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C in the terminal is for pytest, which then stops us in order
                preexec_fn=die_with_parent,
                **options,
            )

    def ready_or_dead(self) -> bool:
        assert self.process is not None
        return self.process.poll() is not None or self.ready()

    def ready(self) -> bool:
        raise NotImplementedError

    def kill(self) -> None:
        """SIGKILL the server with all its children: what was only in memory is lost."""
        if self.process is not None:
            kill_tree(self.process.pid)
            self.process.wait()
            self.process = None

    def freeze(self) -> None:
        """SIGSTOP: connections stay open and nothing answers."""
        assert self.process is not None
        signal_tree(self.process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        assert self.process is not None
        signal_tree(self.process.pid, signal.SIGCONT)

    def dispose(self) -> None:
        """End the server and remove its data."""
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def log(self) -> str:
        path = self.directory / "log"
        return path.read_text(errors="replace")[-2000:] if path.exists() else "(no log)"
