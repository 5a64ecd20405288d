"""Killed children: FORBID routines over 4 workers, a child killed every second; is anything doubled or lost?"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from benchmarks.bench import Bench
from benchmarks.deployment import Deployment, ready_at, soon
from benchmarks.figures import Figure, ours_at_most
from benchmarks.fill import add_routines
from benchmarks.tasks import VARIED
from tests.acceptance.process import Process

INTERVAL_SECONDS = 2  # two cores keep up with that, so that most slots run instead of being skipped
# Each fire's plan must be the next fire's slot: a gap is a slot that nobody accounted for.
UNBALANCED = """
SELECT count(*) FROM (
    SELECT next_planned_for, lead(scheduled_for) OVER (PARTITION BY routine_id ORDER BY scheduled_for) AS following
    FROM routines_routinerun WHERE attempt = 1
) AS fires WHERE next_planned_for IS DISTINCT FROM following
"""
# A slot is lost when it was neither skipped nor did any attempt at it succeed.
LOST = """
SELECT count(*) FROM routines_routinerun AS fire
WHERE attempt = 1 AND status <> 'SKIPPED' AND NOT EXISTS (
    SELECT FROM routines_routinerun AS run
    WHERE coalesce(run.chain, run.id) = fire.id AND run.status = 'SUCCESS'
)
"""


def measure(bench: Bench) -> Iterator[Figure]:
    routines, rounds, workers = bench.size((200, 50, 4), (20, 3, 2))
    slots = routines * rounds
    bench.progress.begin(f"{slots:,} FORBID firings over {workers} workers, a child killed every second")
    with bench.deployment() as at:
        processes = [at.worker(concurrency=2, wait=False) for _ in range(workers)]
        at.beat()
        for process in processes:
            ready_at(process)
        first = soon(2)
        last = first + (rounds - 1) * INTERVAL_SECONDS
        add_routines(
            at,
            routines,
            first=first,
            step_ms=1,
            interval_seconds=INTERVAL_SECONDS,
            policy="FORBID",
            task=VARIED,
            number=True,
            end=last + 0.5,
        )
        at.sql("UPDATE routines_routine SET max_attempts = 50")  # a failed chain would slow its interval down
        at.wake_beats()
        killed = kill_children(bench, processes, last)
        wait_for_the_end(bench, at)
        fired = at.count("SELECT coalesce(sum(occurrences), 0) FROM routines_routinerun WHERE attempt = 1")
        bodies = read_bodies(at, killed)
        found = {
            "overlapping bodies": overlaps(bodies),
            "slots without a record": max(0, slots - fired) + at.count(UNBALANCED),
            "runs lost": at.count(LOST),
        }
    label = f"{slots:,} FORBID firings, {len(killed)} kills"
    for what, count in found.items():
        yield Figure(name=f"{label}: {what}", ours=count, unit="", bar=ours_at_most(0))
    yield Figure(name=f"{label}: bodies that ran", ours=sum(map(len, bodies.values())), unit="")


def kill_children(bench: Bench, workers: list[Process], until: float) -> dict[int, float]:
    """Kill one every second; when each died, by its process id."""
    killed: dict[int, float] = {}
    while time.time() < until:
        time.sleep(1)
        children = random.choice(workers).children()
        if children:
            victim = random.choice(children).pid
            os.kill(victim, signal.SIGKILL)
            killed[victim] = time.monotonic()
            bench.say(f"{len(killed)} children killed")
    return killed


def wait_for_the_end(bench: Bench, at: Deployment) -> None:
    active = "SELECT count(*) FROM routines_routinerun WHERE status IN ('PENDING', 'RUNNING')"
    waiting = "SELECT count(*) FROM routines_routinestate WHERE next_run_at IS NOT NULL"
    bench.wait(lambda: at.count(active) + at.count(waiting) == 0, 300, "some runs never ended", every=0.2)


def read_bodies(at: Deployment, killed: dict[int, float]) -> dict[int, list[tuple[float, float]]]:
    """Begin and end of each routine's bodies, as they wrote them themselves; a killed one ended with its process.

    One that neither wrote its end nor was killed never ended, as far as anybody knows.
    """
    bodies: dict[int, list[tuple[float, float]]] = defaultdict(list)
    open_body: dict[int, tuple[int, float]] = {}
    for line in map(json.loads, at.body_log.read_text().splitlines()):
        pid = line["pid"]
        if pid in open_body:
            routine, began = open_body.pop(pid)
            bodies[routine].append((began, line["at"]))
        if line["event"] == "start":
            open_body[pid] = (line["routine"], line["at"])
    for pid, (routine, began) in open_body.items():
        bodies[routine].append((began, killed.get(pid, float("inf"))))
    return bodies


def overlaps(bodies: dict[int, list[tuple[float, float]]]) -> int:
    """How many bodies began before the one before them had ended."""
    return sum(later[0] < earlier[1] for each in bodies.values() for earlier, later in pairwise(sorted(each)))
