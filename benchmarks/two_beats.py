"""Two beats: does anything fire twice, and what does killing one of them delay?"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from benchmarks.bench import Bench
from benchmarks.broker_queue import Arrival, Arrivals
from benchmarks.deployment import DJANGO_CELERY_BEAT, REDBEAT, ready_at, soon
from benchmarks.figures import Figure, ours_at_most
from benchmarks.fill import add_django_celery_beat_entries, add_redbeat_entries, add_routines

ROUTINES = 100  # each fires every second
PEER_ENTRIES = 10
REDBEAT_LOCK_SECONDS = 25  # the shortest that it is sensible to set; the default is 25 minutes


def measure(bench: Bench) -> Iterator[Figure]:
    seconds = bench.size(30, 4)
    duplicates, missing, delay = ours(bench, seconds)
    twice, gap = (None, None) if bench.quick else (django_celery_beat(bench, 10), redbeat(bench))
    yield Figure(
        name="two beats: slots fired twice",
        ours=100 * duplicates / (ROUTINES * seconds),
        unit="%",
        peer=twice,
        against="" if twice is None else "django-celery-beat",
        bar=ours_at_most(0),
    )
    yield Figure(name="two beats, one killed: slots lost", ours=missing, unit="", bar=ours_at_most(0))
    yield Figure(
        name="two beats, one killed: worst delay",
        ours=delay,
        unit="s",
        peer=gap,
        against="" if gap is None else f"celery-redbeat, {REDBEAT_LOCK_SECONDS} s lock",
        bar=ours_at_most(2),
    )


def ours(bench: Bench, seconds: int) -> tuple[int, int, float]:
    """How many slots fired twice, how many never, and the worst seconds from a slot to its message's stamp."""
    bench.progress.begin(f"two beats, {ROUTINES} routines every second, one killed")
    with bench.deployment() as at:
        beats = [at.beat(wait=False), at.beat(wait=False)]
        for beat in beats:
            ready_at(beat)
        first = soon(1)
        last = first + seconds - 1
        add_routines(at, ROUTINES, first=first, step_ms=7, interval_seconds=1, end=last + 0.999)
        at.wake_beats()
        with Arrivals(at.redis) as arrivals:
            time.sleep(seconds / 2)
            beats[0].kill9()
            time.sleep(max(0.0, last + 2.5 - time.time()))
        sent = Counter(arrival.id for arrival in arrivals.read())
        twice = sum(count - 1 for count in sent.values())
        twice += at.count("SELECT count(*) - count(DISTINCT (routine_id, scheduled_for)) FROM routines_routinerun")
        expected = ROUTINES * seconds
        fired = at.count("SELECT count(*) FROM routines_routinerun WHERE dispatched_at IS NOT NULL")
        late = "SELECT max(extract(epoch FROM dispatched_at - scheduled_for)) FROM routines_routinerun"
        return twice, max(0, expected - fired), float(at.sql(late)[0][0])


def django_celery_beat(bench: Bench, seconds: int) -> float:
    """The percentage of slots with more than one message; few entries, so that it keeps up."""
    bench.progress.begin("two beats of django-celery-beat")
    with bench.deployment() as at:
        add_django_celery_beat_entries(at, PEER_ENTRIES, first=soon(6), interval_seconds=1)
        at.beat(DJANGO_CELERY_BEAT)
        at.beat(DJANGO_CELERY_BEAT)
        time.sleep(5)
        before = at.queue.length()
        time.sleep(seconds)
        slots = PEER_ENTRIES * seconds
        return 100 * max(0, at.queue.length() - before - slots) / slots


def redbeat(bench: Bench) -> float:
    """The longest silence after the beat that holds the lock is killed."""
    bench.progress.begin("two beats of celery-redbeat, the one with the lock killed")
    with bench.deployment() as at:
        add_redbeat_entries(at.redis, 1, first=soon(0), interval_seconds=1)
        lock = {"BENCH_REDBEAT_LOCK_SECONDS": str(REDBEAT_LOCK_SECONDS), "BENCH_LOOP_SECONDS": "1"}
        holder = at.beat(REDBEAT, lock)
        waiting = at.beat(REDBEAT, lock, wait=False)  # it is ready when it gets the lock
        with Arrivals(at.redis) as arrivals:
            time.sleep(8)
            holder.kill9()
            time.sleep(REDBEAT_LOCK_SECONDS * 2)
        assert waiting.running
        return longest_silence(arrivals.read())


def longest_silence(arrivals: list[Arrival]) -> float:
    times = [arrival.at for arrival in arrivals] + [time.time()]
    return max((later - earlier for earlier, later in pairwise(times)), default=0.0)
