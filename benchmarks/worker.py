"""Worker: runs per second with history, beside bare Celery; statements, round trips and memory per run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.backlog import drain_rate, pile_messages, pile_runs, wait_for_success
from benchmarks.bench import Bench
from benchmarks.deployment import Deployment
from benchmarks.figures import Figure, ours_at_most, ratio_at_least, ratio_at_most
from benchmarks.round_trips import round_trips, statements
from benchmarks.usage import resident_mib

DATABASE_RESULTS = {"CELERY_RESULT_BACKEND": "django-db"}
MIRRORS = (("with the results mirror", True), ("without the mirror", False))
FIRE_AGAIN = """
UPDATE routines_routinestate SET last_slot = slot - interval '1 day', next_slot = slot, next_run_at = slot
FROM (SELECT date_trunc('milliseconds', clock_timestamp()) AS slot) AS now
"""


def measure(bench: Bench) -> Iterator[Figure]:
    yield from rates(bench)
    if not bench.quick:
        yield from costs(bench)
        yield memory(bench)


def rates(bench: Bench) -> Iterator[Figure]:
    count = bench.size(5_000, 200)
    peers = {"bare Celery, no results": (bare_rate(bench, "bare Celery, no results", count), 0.5)}
    if not bench.quick:
        stored = bare_rate(bench, "bare Celery, results in the database", count, CELERY_TASK_IGNORE_RESULT=False)
        peers["bare Celery, django-celery-results"] = (stored, 1.5)
    for label, mirror in bench.size(MIRRORS, MIRRORS[:1]):
        ours = routine_rate(bench, label, count, mirror)
        for peer, (rate, bar) in peers.items():
            name = f"runs per second, {label}"
            yield Figure(name=name, ours=ours, unit="/s", peer=rate, against=peer, bar=ratio_at_least(bar))


def bare_rate(bench: Bench, label: str, count: int, **settings: Any) -> float:
    bench.progress.begin(f"{count:,} tasks, {label}")
    results = DATABASE_RESULTS if settings else {}
    with bench.deployment(**settings, **results) as at:
        pile_messages(bench, at, count)
        at.worker()
        return drain_rate(bench, at, count)


def routine_rate(bench: Bench, label: str, count: int, mirror: bool) -> float:
    bench.progress.begin(f"{count:,} runs, {label}")
    with mirrored(bench, mirror) as at:
        pile_runs(bench, at, count)
        at.worker()
        rate = drain_rate(bench, at, count)
        wait_for_success(bench, at, count)
        return rate


def mirrored(bench: Bench, mirror: bool) -> Deployment:
    settings = DATABASE_RESULTS | {"CELERY_TASK_IGNORE_RESULT": False}  # or a task would have nothing to mirror
    return bench.deployment(ROUTINES={"MIRROR_RESULTS": mirror}, **settings)


def costs(bench: Bench) -> Iterator[Figure]:
    """What a run costs at the two servers, apart from what the worker does once."""
    count = 1_000
    for label, mirror in MIRRORS:
        found = statements(bench, mirrored(bench, mirror), count)
        if found is not None:
            bar = ours_at_most(3)
            yield Figure(name=f"statements per ALLOW run, {label}", ours=found, unit="", bar=bar)
    allow, forbid = (round_trips(bench, mirrored(bench, False), count, policy) for policy in ("ALLOW", "FORBID"))
    name = "Redis round trips more for an exclusive run"
    yield Figure(name=name, ours=round(forbid - allow, 1), unit="", bar=ours_at_most(2))


def memory(bench: Bench) -> Figure:
    """One child runs everything; its memory early and late."""
    few, many = 1_000, 100_000
    bench.progress.begin(f"memory of a worker's process after {few:,} and {many:,} runs")
    with mirrored(bench, mirror=True) as at:
        pile_runs(bench, at, few)
        worker = at.worker(concurrency=1)
        child = worker.children()[0].pid
        wait_for_success(bench, at, few)
        early = resident_mib(child)
        at.beat()
        wave = 5_000
        done = few
        while done < many:
            bench.say(f"{done:,} runs")
            for _ in range(max(1, wave // few)):
                at.sql(FIRE_AGAIN)
                done += few
                fired = done
                at.wake_beats()
                bench.wait(lambda: at.count("SELECT count(*) FROM routines_routinerun") >= fired, 30, "not fired")  # noqa: B023
            wait_for_success(bench, at, done)
        late = resident_mib(child)
    return Figure(
        name=f"worker memory after {many:,} runs",
        ours=late,
        unit="MiB",
        peer=early,
        against=f"itself after {few:,}",
        bar=ratio_at_most(1.05),
    )
