"""Two beats: does anything fire twice, and what does killing one of them delay?"""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from benchmarks.bench import Bench
from benchmarks.broker_queue import Arrival, Arrivals
from benchmarks.deployment import DJANGO_CELERY_BEAT, REDBEAT, ready_at, soon
from benchmarks.figures import Figure, ours_at_most
from benchmarks.fill import add_django_celery_beat_entries, add_redbeat_entries, add_routines

SLOTS = """
SELECT run.id, routine.name, extract(epoch FROM run.scheduled_for)::float8
FROM routines_routinerun AS run JOIN routines_routine AS routine ON routine.id = run.routine_id
"""
ROUTINES = 100  # each fires every second
PEER_ENTRIES = 10
REDBEAT_LOCK_SECONDS = 25  # the shortest that it is sensible to set; the default is 25 minutes


@dataclass(frozen=True, kw_only=True)
class Found:
    """What became of the slots of two beats of which one was killed, again and again."""

    slots: int
    kills: int
    twice: int
    lost: int
    sent_again: int
    worst_seconds: float


def measure(bench: Bench) -> Iterator[Figure]:
    found = ours(bench, *bench.size((60, 15), (3, 1)))
    twice, gap = (None, None) if bench.quick else (django_celery_beat(bench, 10), redbeat(bench))
    yield Figure(
        name="two beats: slots fired twice",
        ours=100 * found.twice / found.slots,
        unit="%",
        peer=twice,
        against="" if twice is None else "django-celery-beat",
        bar=ours_at_most(0),
    )
    killed = f"two beats, one killed {found.kills} times"
    yield Figure(name=f"{killed}: slots lost", ours=found.lost, unit="", bar=ours_at_most(0))
    yield Figure(name=f"{killed}: messages sent again", ours=found.sent_again, unit="")
    yield Figure(
        name=f"{killed}: worst delay",
        ours=found.worst_seconds,
        unit="s",
        peer=gap,
        against="" if gap is None else f"celery-redbeat, {REDBEAT_LOCK_SECONDS} s lock",
        bar=ours_at_most(2),
    )


def ours(bench: Bench, seconds: int, kills: int) -> Found:
    """Everything is read from the messages in the broker and from when they came."""
    bench.progress.begin(f"two beats, {ROUTINES} routines every second, one killed {kills} times")
    with bench.deployment() as at:
        beats = [at.beat(wait=False), at.beat(wait=False)]
        for beat in beats:
            ready_at(beat)
        first = soon(1)
        last = first + seconds - 1
        add_routines(at, ROUTINES, first=first, step_ms=7, interval_seconds=1, end=last + 0.999)
        at.wake_beats()
        with Arrivals(at.redis) as arrivals:
            for number in range(kills):
                # At no particular moment of its work: a kill between commit and publish is the worst.
                time.sleep(max(0.0, first + (number + random.random()) * seconds / kills - time.time()))
                beats.pop(0).kill9()
                if number < kills - 1:
                    beats.append(at.beat(wait=False))
            time.sleep(max(0.0, last + 3.5 - time.time()))
        slots = {str(run): (name, slot) for run, name, slot in at.sql(SLOTS)}
        came: dict[tuple[str, float], list[Arrival]] = defaultdict(list)
        for arrival in arrivals.read():
            came[slots.get(arrival.id, (arrival.id, 0.0))].append(arrival)
        return Found(
            slots=ROUTINES * seconds,
            kills=kills,
            twice=sum(len({arrival.id for arrival in each}) - 1 for each in came.values()),
            lost=ROUTINES * seconds - len(came),
            sent_again=sum(len(each) - len({arrival.id for arrival in each}) for each in came.values()),
            worst_seconds=max(min(arrival.at for arrival in each) - slot for (_, slot), each in came.items()),
        )


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
