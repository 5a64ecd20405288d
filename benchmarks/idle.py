"""Idle: nothing is due; what does a beat cost, whatever the number of routines?

Both beats idle side by side for the same minute, so whatever else the machine does disturbs both alike.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmarks.bench import Bench
from benchmarks.deployment import DJANGO_CELERY_BEAT, ONE_CONNECTION, Deployment, ready_at, soon
from benchmarks.figures import Figure, ratio_at_most
from benchmarks.fill import DAY_SECONDS, add_django_celery_beat_entries, add_routines
from benchmarks.usage import cpu_seconds, memory_mib
from tests.acceptance.process import Process

SETTLE_SECONDS = 6.0  # the chores of a start, and the idle sleeps that grow to their longest


def measure(bench: Bench) -> Iterator[Figure]:
    few, many = 1_000, bench.size(1_000_000, 20_000)
    bench.progress.begin(f"two idle beats, {few:,} and {many:,} routines")
    with bench.deployment(ROUTINES=ONE_CONNECTION) as small, bench.deployment(ROUTINES=ONE_CONNECTION) as large:
        add_routines(small, few, first=soon(DAY_SECONDS))
        add_routines(large, many, first=soon(DAY_SECONDS))
        ours = side_by_side(bench, small, small.beat(wait=False), large, large.beat(wait=False), backends=True)
    yield from figures("idle beat", few, many, ours, required=not bench.quick)  # one chore outweighs a short idling
    if not bench.quick:
        yield from django_celery_beat(bench, few, 100_000)


def django_celery_beat(bench: Bench, few: int, many: int) -> Iterator[Figure]:
    bench.progress.begin(f"two idle beats of django-celery-beat, {few:,} and {many:,} entries")
    with bench.deployment() as small, bench.deployment() as large:
        add_django_celery_beat_entries(small, few, first=soon(DAY_SECONDS))
        add_django_celery_beat_entries(large, many, first=soon(DAY_SECONDS))
        processes = small.beat(DJANGO_CELERY_BEAT, wait=False), large.beat(DJANGO_CELERY_BEAT, wait=False)
        time.sleep(many / 5_000)  # it loads everything first
        found = side_by_side(bench, small, processes[0], large, processes[1], backends=False)
    yield from figures("idle django-celery-beat", few, many, found, required=False)


def side_by_side(
    bench: Bench, small: Deployment, beat: Process, large: Deployment, other: Process, *, backends: bool
) -> tuple[tuple[float, float], tuple[float, float]]:
    """CPU seconds per minute and MiB, of the small and of the large one.

    With `backends` the database's side is included; a beat that changes its connection leaves nobody to ask.
    """
    ready_at(beat)
    ready_at(other)
    time.sleep(bench.size(SETTLE_SECONDS, 1.0))
    pids: list[tuple[int | None, ...]] = [(beat.pid,), (other.pid,)]
    if backends:
        pids = [(beat.pid, small.backend_pid(beat)), (other.pid, large.backend_pid(other))]
    seconds = bench.size(60.0, 3.0)
    before = [cpu_seconds(*each) for each in pids]
    began = time.monotonic()
    while (left := began + seconds - time.monotonic()) > 0:
        bench.say(f"{left:.0f} s left")
        time.sleep(min(left, 1.0))
    used = [(cpu_seconds(*each) - start) * 60 / seconds for each, start in zip(pids, before, strict=True)]
    return (used[0], memory_mib(beat.pid)), (used[1], memory_mib(other.pid))


def figures(
    label: str, few: int, many: int, found: tuple[tuple[float, float], tuple[float, float]], *, required: bool
) -> Iterator[Figure]:
    small, large = found
    for at, (what, unit) in enumerate((("CPU per minute", "s"), ("memory", "MiB"))):
        yield Figure(
            name=f"{label}, {many:,}: {what}",
            ours=large[at],
            unit=unit,
            peer=small[at],
            against=f"itself, {few:,}",
            bar=ratio_at_most(1.1) if required else None,
        )
