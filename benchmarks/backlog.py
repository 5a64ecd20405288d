"""A backlog: messages in the broker before any worker is there, so that only the workers' speed is measured."""

from __future__ import annotations

from benchmarks.bench import Bench
from benchmarks.deployment import Deployment, soon
from benchmarks.fill import add_routines

FILL_SECONDS = 120
DRAIN_SECONDS = 1800
SHARE_LEFT_OUT = 0.05  # at both ends: the workers' first and last moments


def pile_runs(bench: Bench, at: Deployment, count: int, policy: str = "ALLOW") -> None:
    """One run of each of `count` routines, sent by a beat that is gone afterwards."""
    add_routines(at, count, first=soon(0), policy=policy)
    beat = at.beat()
    at.queue.wait_length(lambda length: length >= count, FILL_SECONDS, bench.say)
    stamped = "SELECT count(*) FROM routines_routinerun WHERE dispatched_at IS NOT NULL"
    bench.wait(lambda: at.count(stamped) >= count, 10, "the beat did not stamp what it sent")
    beat.kill9()


def pile_messages(bench: Bench, at: Deployment, count: int) -> None:
    """`count` plain messages."""
    at.python("loop", ["-m", "benchmarks.apply_loop", str(count)])
    at.queue.wait_length(lambda length: length >= count, FILL_SECONDS, bench.say)


def drain_rate(bench: Bench, at: Deployment, count: int) -> float:
    """Messages taken per second while the queue falls from 95 % to 5 %."""
    few = int(count * SHARE_LEFT_OUT)
    began = at.queue.wait_length(lambda length: length <= count - few, DRAIN_SECONDS, bench.say)
    ended = at.queue.wait_length(lambda length: length <= few, DRAIN_SECONDS, bench.say)
    return (count - 2 * few) / (ended - began)


def wait_for_success(bench: Bench, at: Deployment, count: int) -> None:
    """The ledger says so, for each of them."""
    done = "SELECT count(*) FROM routines_routinerun WHERE status = 'SUCCESS'"
    bench.wait(lambda: at.count(done) >= count, DRAIN_SECONDS, "not all runs succeeded")
