"""What runs cost at the servers: statements that PostgreSQL logs, commands that Redis sees."""

from __future__ import annotations

import re
import threading

import redis

from benchmarks.backlog import pile_runs, wait_for_success
from benchmarks.bench import Bench
from benchmarks.deployment import Deployment

STATEMENT = re.compile(rb"LOG:  (?:statement|execute [^:]*):(?:\s*--[^\n]*\n)*\s*(\w+)")
NOT_COUNTED = {b"BEGIN", b"COMMIT", b"SET"}  # the frame of a transaction, and a connection's start


def statements(bench: Bench, deployment: Deployment, count: int) -> float | None:
    """Per run, everything the worker's processes sent; None when the server's log is not ours to read."""
    bench.progress.begin(f"statements of {count:,} runs")
    with deployment as at:
        log = bench.servers.statement_log()
        if log is None:
            return None
        pile_runs(bench, at, count)
        at.sql(f"ALTER DATABASE {at.database_name} SET log_statement = 'all'")  # for connections from now on
        before = log.stat().st_size
        at.worker()
        wait_for_success(bench, at, count)
        words = STATEMENT.findall(log.read_bytes()[before:])
        return round(sum(word.upper() not in NOT_COUNTED for word in words) / count, 2)


def round_trips(bench: Bench, deployment: Deployment, count: int, policy: str) -> float:
    """Commands per run that reached Redis from outside; what a script calls inside is part of its one trip."""
    bench.progress.begin(f"Redis commands of {count:,} {policy} runs")
    with deployment as at:
        pile_runs(bench, at, count, policy)
        with Monitor(at.redis_url) as monitor:
            at.worker()
            wait_for_success(bench, at, count)
        return monitor.commands / count


class Monitor:
    """Counts what Redis is asked in one of its databases."""

    def __init__(self, url: str) -> None:
        self.commands = 0
        self._client = redis.Redis.from_url(url, socket_timeout=None)  # while a worker starts nothing is asked
        self._database = int(url.rpartition("/")[2])
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._count, daemon=True)

    def __enter__(self) -> Monitor:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if not self._thread.is_alive():
            raise RuntimeError("the count of Redis commands broke off")
        self._stop.set()
        self._client.ping()  # one more command, so that the thread looks at the flag
        self._thread.join(5)

    def _count(self) -> None:
        with self._client.monitor() as monitor:  # type: ignore[no-untyped-call]
            for command in monitor.listen():
                if self._stop.is_set():
                    return
                if command["db"] == self._database and command["client_type"] != "lua":
                    self.commands += 1
