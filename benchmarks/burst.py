"""Burst: N are due at once; how long from the scheduler's first tick until the last message is in the broker?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from benchmarks import rabbitmq
from benchmarks.bench import Bench
from benchmarks.deployment import DJANGO_CELERY_BEAT, REDBEAT, Deployment, ready_at, soon
from benchmarks.figures import Figure, Series, ratio_at_least
from benchmarks.fill import add_django_celery_beat_entries, add_redbeat_entries, add_routines
from tests.acceptance.process import Process

SLOWEST_SECONDS = 600
BARS = {"django-celery-beat": 25.0, "celery-redbeat": 8.0, "apply_async loop": 2.5}
QUICK_PEERS = ("celery-redbeat", "apply_async loop")  # those that are worth a second measurement
Start = Callable[[Deployment, int], Process]
Rates = dict[str, dict[int, float]]


def measure(bench: Bench) -> Iterator[Figure | Series]:
    sizes = bench.size([1_000, 3_000, 10_000], [1_000])
    kinds = bench.size(list(OURS), ["ALLOW"])
    peers = {label: rates(bench, label, start, sizes_for(bench, label, sizes)) for label, start in PEERS.items()}
    ours = {label: rates(bench, label, OURS[label], sizes) for label in kinds}
    if not bench.quick:
        measure_again(bench, peers, ours)
    for label, found in (peers | {f"routines, {label}": found for label, found in ours.items()}).items():
        yield Series(plot="rate", label=label, points=sorted(found.items()))
    for label, found in ours.items():
        for peer, bar in BARS.items():
            yield Figure(
                name=f"burst of {sizes[-1]:,}, {label}",
                ours=found[sizes[-1]],
                unit="/s",
                peer=peers[peer][max(peers[peer])],
                against=peer,
                bar=ratio_at_least(bar),
            )
    if not bench.quick:
        yield from rabbitmq.measure(bench, sizes[-1])


def measure_again(bench: Bench, peers: Rates, ours: Rates) -> None:
    """The largest size once more, the other way round: a machine is not equally fast all the time.

    Of the peers the better of both counts, of ours the mean.
    """
    for label, found in reversed(ours.items()):
        count = max(found)
        found[count] = (found[count] + rate(bench, label, OURS[label], count)) / 2
    for label in QUICK_PEERS:
        count = max(peers[label])
        peers[label][count] = max(peers[label][count], rate(bench, label, PEERS[label], count))


def sizes_for(bench: Bench, label: str, sizes: list[int]) -> list[int]:
    """django-celery-beat needs minutes for many entries, and gets slower with each: few flatter it."""
    return bench.size([sizes[0], sizes[-1]], [100]) if label == "django-celery-beat" else sizes


def rates(bench: Bench, label: str, start: Start, sizes: list[int]) -> dict[int, float]:
    """Messages per second, for each number of due entries."""
    return {count: rate(bench, label, start, count) for count in sizes}


def rate(bench: Bench, label: str, start: Start, count: int) -> float:
    bench.progress.begin(f"burst of {count:,}, {label}")
    with bench.deployment() as at:
        first_tick = ready_at(start(at, count))
        last = at.queue.wait_length(lambda length: length >= count, SLOWEST_SECONDS, bench.say)
        return count / (last - first_tick)


def start_routines(at: Deployment, count: int, *, policy: str = "ALLOW", pooled: bool = False) -> Process:
    add_routines(at, count, first=soon(0), policy=policy, pooled=pooled)
    return at.beat()


def start_django_celery_beat(at: Deployment, count: int) -> Process:
    add_django_celery_beat_entries(at, count, first=soon(0))
    return at.beat(DJANGO_CELERY_BEAT)


def start_redbeat(at: Deployment, count: int) -> Process:
    add_redbeat_entries(at.redis, count, first=soon(0))
    return at.beat(REDBEAT)


def start_loop(at: Deployment, count: int) -> Process:
    return at.python("loop", ["-m", "benchmarks.apply_loop", str(count)])


PEERS: dict[str, Start] = {
    "django-celery-beat": start_django_celery_beat,
    "celery-redbeat": start_redbeat,
    "apply_async loop": start_loop,
}
OURS: dict[str, Start] = {
    "ALLOW": start_routines,
    "FORBID": partial(start_routines, policy="FORBID"),
    "pooled": partial(start_routines, pooled=True),
}
