"""Steady: 100 are due each second; how late is each message, and what does a fire cost, among few and many?"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.bench import Bench
from benchmarks.broker_queue import Arrivals
from benchmarks.deployment import DJANGO_CELERY_BEAT, ONE_CONNECTION, REDBEAT, Deployment, soon
from benchmarks.figures import Figure, Series, ours_at_most, percentile, ratio_at_most
from benchmarks.fill import add_django_celery_beat_entries, add_redbeat_entries, add_routines, number_of
from benchmarks.usage import cpu_seconds

PER_SECOND = 100
STEP_MS = 1000 / PER_SECOND
LEAD_SECONDS = 3.0  # a beat that has just started settles first
FILLED_PER_SECOND = 15_000  # how fast the tables are filled, at the least
SHORT_SLEEP = {"BENCH_LOOP_SECONDS": "0.1"}  # redbeat would sleep for minutes when it wakes a moment too early


@dataclass(frozen=True)
class Run:
    """One scheduler's steady minute."""

    lateness: list[tuple[float, float]]
    """Seconds since the first slot, and milliseconds from a slot until its message was in the broker."""
    cpu_ms_per_fire: float

    @property
    def late_99(self) -> float:
        return percentile([late for _, late in self.lateness], 99)


def measure(bench: Bench) -> Iterator[Figure | Series]:
    small, large = bench.size((10_000, 1_000_000), (1_000, 10_000))
    runs = {f"routines, {count:,}": ours(bench, count) for count in bench.size((small, large), (large,))}
    others = {} if bench.quick else peers(bench, small)
    for label, run in (runs | others).items():
        yield Series(plot="lateness", label=label, points=run.lateness)
    for label, run in runs.items():
        for peer in others or [""]:
            yield Figure(
                name=f"100/s, {label}: 99 % within",
                ours=run.late_99,
                unit="ms",
                peer=others[peer].late_99 if others else None,
                against=peer,
                bar=ours_at_most(100),
            )
    if not bench.quick:
        few, many = runs.values()
        yield Figure(
            name=f"100/s, routines, {large:,}: CPU per fire",
            ours=many.cpu_ms_per_fire,
            unit="ms",
            peer=few.cpu_ms_per_fire,
            against=f"ourselves, {small:,}",
            bar=ratio_at_most(1.2),
        )


def ours(bench: Bench, count: int) -> Run:
    bench.progress.begin(f"100 due per second among {count:,} routines")
    with bench.deployment(ROUTINES=ONE_CONNECTION) as at:
        process = at.beat()
        first = soon(LEAD_SECONDS + count / FILLED_PER_SECOND)
        add_routines(at, count, first=first, step_ms=STEP_MS, interval_seconds=max(1, count // PER_SECOND))
        at.wake_beats()
        if time.time() > first - 1:
            raise RuntimeError(f"the first slot came before all {count:,} routines were there")
        return watch(bench, at, count, first, (process.pid, at.backend_pid(process)))


def peers(bench: Bench, count: int) -> dict[str, Run]:
    runs: dict[str, Run] = {}
    for label, scheduler in (("django-celery-beat", DJANGO_CELERY_BEAT), ("celery-redbeat", REDBEAT)):
        bench.progress.begin(f"100 due per second among {count:,} entries of {label}")
        with bench.deployment() as at:
            first = soon(6 + count / 2_000)  # it must know its slots before it starts
            interval = max(1, count // PER_SECOND)
            if scheduler == REDBEAT:
                add_redbeat_entries(at.redis, count, first=first, step_ms=STEP_MS, interval_seconds=interval)
                process = at.beat(scheduler, SHORT_SLEEP)
            else:
                add_django_celery_beat_entries(at, count, first=first, step_ms=STEP_MS, interval_seconds=interval)
                process = at.beat(scheduler)
            runs[f"{label}, {count:,}"] = watch(bench, at, count, first, (process.pid,))
    return runs


def watch(bench: Bench, at: Deployment, count: int, first: float, pids: tuple[int | None, ...]) -> Run:
    """Watch the broker from the first slot on; each routine counts with its first slot only."""
    seconds = min(bench.size(60, 3), count // PER_SECOND)
    fires = seconds * PER_SECOND
    time.sleep(max(0.0, first - time.time() - 0.5))
    with Arrivals(at.redis) as arrivals:
        time.sleep(max(0.0, first - time.time()))
        before = cpu_seconds(*pids)
        while time.time() < first + seconds:
            time.sleep(0.25)
            bench.say(f"{arrivals.count:,} of {fires:,} messages")
        used = cpu_seconds(*pids) - before
        time.sleep(0.5)
    seen: dict[int, float] = {}
    for arrival in arrivals.read():
        seen.setdefault(number_of(arrival.name), arrival.at)
    end = time.time()
    # What has not come by the end is at least as late as the end.
    slots = [(number, first + number * STEP_MS / 1000) for number in range(fires)]
    lateness = [(slot - first, (seen.get(number, end) - slot) * 1000) for number, slot in slots]
    return Run(lateness, used * 1000 / max(1, min(fires, len(seen))))
