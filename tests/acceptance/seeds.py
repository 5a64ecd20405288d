"""A callable that seeds badly, each time in another way, and well in the end. Workers call it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

GOOD = ["seeded 1", "seeded 2"]


def worse_and_worse() -> Iterator[Any]:
    """It hangs, raises in the middle and gives nonsense; the fourth call is good, and so are all after it."""
    calls = _call()
    yield "seeded 1"
    if calls == 1:
        while True:
            time.sleep(60)
    if calls == 2:
        raise OSError("the source went away")
    if calls == 3:
        yield {"nam": "a typing error"}
    yield "seeded 2"


def _call() -> int:
    """Which call this is, of all processes: one seeding runs at a time."""
    path = Path(os.environ["ROUTINES_BODY_LOG"]).with_name("seedings")
    with path.open("a") as calls:
        calls.write(".")
    return len(path.read_text())
