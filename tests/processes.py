"""Ports and process trees, for the servers and for the acceptance tests' stack."""

from __future__ import annotations

import ctypes
import fcntl
import os
import random
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

# Below the kernel's ephemeral range: a client that retries against a dead server's port inside that
# range can be given the very same port as its source and end up connected to itself.
PORTS = range(20_000, 32_000)
PR_SET_PDEATHSIG = 1
_chosen: set[int] = set()


def free_port(*, beside: int = 0) -> int:
    """A TCP port on 127.0.0.1 that nothing listens on and no outgoing connection will take; and the one `beside` it."""
    for port in random.sample(range(PORTS.start, PORTS.stop - beside), k=200):
        if all(is_ours(each) and is_free(each) for each in {port, port + beside}):
            return port
    raise RuntimeError("no free port found")


def is_ours(port: int) -> bool:
    """Whether no other test process has chosen it: between choosing a port and listening there lies the making of a
    database. What this process has chosen stays its own until it ends, and a server may come back to it."""
    if port in _chosen:
        return False
    place = Path(tempfile.gettempdir(), "routines-ports")
    place.mkdir(exist_ok=True)
    try:
        lock = os.open(place / str(port), os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:  # another user made it
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # somebody has it
        os.close(lock)
        return False
    _chosen.add(port)  # the lock stays open, and goes with this process
    return True


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def answers(port: int, host: str = "127.0.0.1") -> bool:
    """Whether something accepts connections there."""
    try:
        with socket.create_connection((host, port), timeout=1):
            return True
    except OSError:
        return False


@contextmanager
def knocks(port: int) -> Iterator[list[float]]:
    """Nobody is at home: connections to the port are closed at once. Gives the moments at which somebody has tried."""
    moments: list[float] = []
    with socket.create_server(("127.0.0.1", port)) as door:

        def turn_away() -> None:
            with suppress(OSError):  # the door is taken away
                while True:
                    door.accept()[0].close()
                    moments.append(time.monotonic())

        turning = threading.Thread(target=turn_away)
        turning.start()
        try:
            yield moments
        finally:
            door.shutdown(socket.SHUT_RDWR)
            turning.join()


MOST_STRETCHED = 4.0


def stretched(seconds: float) -> float:
    """A bound on a time, for the machine as it is: it is meant for one that has a core for whoever wants one.

    On a quiet machine this is the bound itself; where six want two cores, everything takes three times as long. Nothing
    is stretched more than MOST_STRETCHED times, or a process that spins would excuse itself.
    """
    return seconds * min(MOST_STRETCHED, max(1.0, wanting_a_core() / (os.cpu_count() or 1)))


def wanting_a_core() -> float:
    """How many do beside us: over the last minute, or in this half second if these are more."""
    over_a_minute = os.getloadavg()[0]
    looks = []
    with suppress(OSError):  # not Linux
        for _ in range(10):
            looks.append(int(Path("/proc/loadavg").read_text().split()[3].partition("/")[0]) - 1)
            time.sleep(0.05)
    return max(over_a_minute, sum(looks) / 10)


def wait_for(condition: Callable[[], object], timeout: float, message: str, every: float = 0.02) -> None:
    """Poll until the condition holds; raise TimeoutError with the message when it does not in time."""
    began = time.monotonic()
    while not condition():
        waited = time.monotonic() - began
        if waited > timeout and waited > stretched(timeout):
            raise TimeoutError(f"{message} (waited {waited:.3g} s)")
        time.sleep(every)


def die_with_parent() -> None:
    """A `preexec_fn`: the kernel kills the child when a killed test run can no longer clean up."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def tree(pid: int) -> list[psutil.Process]:
    """The process and all its descendants, parent first; empty when it is gone."""
    try:
        parent = psutil.Process(pid)
        return [parent, *parent.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def signal_tree(pid: int, number: signal.Signals) -> None:
    """Send one signal to a process and to everything below it."""
    for process in tree(pid):
        try:
            process.send_signal(number)
        except psutil.NoSuchProcess:
            continue


def kill_tree(pid: int) -> None:
    """SIGKILL a process and everything below it, and wait until all of it is gone or a zombie."""
    members = tree(pid)
    for process in members:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    wait_for(lambda: not any(alive(process) for process in members), 10, f"process {pid} survived SIGKILL")


def alive(process: psutil.Process) -> bool:
    """Whether a process still executes: a zombie that nobody has reaped yet does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
