"""Task bodies: one that does nothing, and one that writes down when it ran."""

from __future__ import annotations

import json
import os
import random
import time

from celery import shared_task

EMPTY = "benchmarks.tasks.empty"
VARIED = "benchmarks.tasks.varied"


@shared_task(name=EMPTY)
def empty() -> None:
    """What is measured is everything around it."""


@shared_task(name=VARIED)
def varied(routine: int, longest_ms: int = 60) -> None:
    """Takes a random time; its start and end are facts that no ledger had a hand in."""
    write("start", routine)
    time.sleep(random.uniform(0, longest_ms / 1000))
    write("end", routine)


def write(event: str, routine: int) -> None:
    """Append one line by one write: whole or not at all, whichever processes write beside us."""
    line = json.dumps({"event": event, "routine": routine, "pid": os.getpid(), "at": time.monotonic()})
    descriptor = os.open(os.environ["BENCH_BODY_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, line.encode() + b"\n")
    finally:
        os.close(descriptor)
