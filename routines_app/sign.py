"""A sign of life: a file that says when a process was last seen alive. `verbs/health/sign.py` says who leaves one.

It has the milliseconds of the machine's steady clock in it, cut off and never rounded up: what lies in the future is
from before a reboot. Nobody sets that clock.

For probes, `python -m routines_app.sign FILE --max-age 60` exits with 0 or 1. It needs no settings and imports no
Django: a probe that starts all of a project every few seconds takes more from a machine than a beat does.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

MAX_AGE_SECONDS = 60.0
LEAST_SECONDS = 30.0  # a beat's look may wait for one statement and then sleep; a worker's sign comes more often

# Goes on while the machine is suspended, where the system has such a clock. Where it has none, the wall clock, which
# goes on too, tells of that.
steady_seconds: Callable[[], float] = (
    partial(time.clock_gettime, time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic
)


def write(path: Path) -> None:
    """Over what is there, and as long: who reads meanwhile finds one or the other. Not through somebody's link."""
    text = f"{int(steady_seconds() * 1000):020d}\n".encode("ascii")
    # Windows has neither of the two.
    flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o644)
    try:
        os.write(file, text)
        os.ftruncate(file, len(text))  # what a stranger has left there may be longer
    finally:
        os.close(file)


def age_of(path: Path) -> float | None:
    """How many seconds ago the sign was left; None: there is none since the machine was started."""
    try:
        age = steady_seconds() - int(path.read_text(encoding="ascii")) / 1000
    except (OSError, ValueError):
        return None
    return age if age >= 0 else None


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code of a probe; one line says why."""
    parser = argparse.ArgumentParser(
        prog="python -m routines_app.sign", description="Exit with 0 when a process has left its sign of life lately."
    )
    parser.add_argument("file", type=Path, help="HEARTBEAT_FILE, with .beat or .worker at its end")
    parser.add_argument(
        "--max-age",
        type=float,
        default=MAX_AGE_SECONDS,
        metavar="SECONDS",
        help=f"how old it may be (default {MAX_AGE_SECONDS:g}, at least {LEAST_SECONDS:g})",
    )
    given = parser.parse_args(arguments)
    age = age_of(given.file)
    alive = age is not None and age <= max(LEAST_SECONDS, given.max_age)
    left = f"no sign of life in {given.file}" if age is None else f"the last sign of life was left {age:.0f} s ago"
    sys.stdout.write(f"{'alive' if alive else 'not alive'}: {left}\n")
    return 0 if alive else 1


if __name__ == "__main__":
    sys.exit(main())
