"""Edit: one routine of many is given a slot in a moment; how soon is its message in the broker?"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

from benchmarks.bench import Bench
from benchmarks.broker_queue import POLL_SECONDS
from benchmarks.deployment import DJANGO_CELERY_BEAT, Deployment, soon
from benchmarks.figures import Figure, ours_at_most, percentile, ratio_at_most
from benchmarks.fill import DAY_SECONDS, add_django_celery_beat_entries, add_routines, moment
from tests.processes import wait_for

MORE = 100  # where the routines for another try begin
AHEAD_SECONDS = 0.1  # the edit asks for a slot this far ahead; a sleeping beat must hear of it before


def measure(bench: Bench) -> Iterator[Figure]:
    few, many = 1_000, bench.size(100_000, 5_000)
    large = ours(bench, many)
    peer = None if bench.quick else django_celery_beat(bench, many)
    yield Figure(
        name=f"edit among {many:,} takes effect (worst)",
        ours=max(large),
        unit="ms",
        peer=peer,
        against="" if peer is None else "django-celery-beat",
        bar=ours_at_most(200),
    )
    if not bench.quick:
        yield Figure(
            name=f"edit among {many:,} takes effect (median)",
            ours=statistics.median(large),
            unit="ms",
            peer=statistics.median(ours(bench, few)),
            against=f"ourselves, {few:,}",
            bar=ratio_at_most(1.2),
        )


def ours(bench: Bench, count: int) -> list[float]:
    """Milliseconds from the edit's begin until the message is there, the worst percent left to the machine."""
    bench.progress.begin(f"edits among {count:,} routines")
    with bench.deployment() as at, at.orm():
        add_routines(at, count, first=soon(DAY_SECONDS))
        at.beat()
        time.sleep(bench.size(8, 1))  # asleep, and for as long as it ever sleeps
        waits = [edit_routine(at, number) for number in range(bench.size(50, 5))]
    return [wait for wait in waits if wait <= percentile(waits, 99)]


def edit_routine(at: Deployment, number: int, tries: int = 5) -> float:
    from routines_app import service

    before = at.queue.length()
    began, slot = time.monotonic(), soon(AHEAD_SECONDS)
    service.update_routine(f"bench-{number}", start_at=moment(slot))
    if time.time() >= slot and tries:  # on a busy machine the edit itself took longer: its slot has passed
        return edit_routine(at, number + MORE, tries - 1)
    return milliseconds_until_sent(at, before, 30, began)


def django_celery_beat(bench: Bench, count: int) -> float:
    bench.progress.begin(f"an edit among {count:,} entries of django-celery-beat")
    with bench.deployment() as at, at.orm():
        from django_celery_beat.models import PeriodicTask  # type: ignore[import-untyped]

        add_django_celery_beat_entries(at, count, first=soon(DAY_SECONDS))
        at.beat(DJANGO_CELERY_BEAT)
        time.sleep(5 + count / 5_000)  # it loads everything first
        entry = PeriodicTask.objects.get(name="bench-0")
        entry.last_run_at = None
        entry.start_time = moment(soon(0))
        began = time.monotonic()
        entry.save()
        return milliseconds_until_sent(at, 0, 120, began)


def milliseconds_until_sent(at: Deployment, before: int, timeout: float, began: float) -> float:
    wait_for(lambda: at.queue.length() > before, timeout, "the edit had no effect", every=POLL_SECONDS)
    return (time.monotonic() - began) * 1000
