"""One deployment to measure: a database, a Redis database, and the processes that were started on them."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import redis
from django.db import connections
from django.test import override_settings

from benchmarks.app import READY, app
from benchmarks.broker_queue import BrokerQueue
from benchmarks.servers import Servers, process_environment
from tests.acceptance.process import Process

DJANGO_CELERY_BEAT = "django_celery_beat.schedulers:DatabaseScheduler"
REDBEAT = "redbeat.RedBeatScheduler"
ONE_CONNECTION = {"WORKER_CONNECTION_SECONDS": 3600}  # so that the database's side of a beat can be measured too


class Deployment:
    """Ends everything that it started."""

    def __init__(self, servers: Servers, kept: str = "", **settings: Any) -> None:
        """`kept` names a database that is not dropped at the end, and used again as it is."""
        self.name = f"d{uuid4().hex[:8]}"
        self.servers = servers
        self.settings = settings
        self.kept = kept
        self.database_url = servers.kept_database(kept) if kept else servers.new_database()
        self.redis_url = servers.new_redis_url()
        self._directory = tempfile.TemporaryDirectory(prefix="routines-bench-")
        self.processes: list[Process] = []

    def __enter__(self) -> Deployment:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes:
            if process.running:
                process.kill9()
        self.database.close()
        if not self.kept:
            self.servers.drop_database(self.database_name)
        self.redis.flushdb()
        self._directory.cleanup()

    @cached_property
    def database(self) -> psycopg.Connection[tuple[Any, ...]]:
        return psycopg.connect(self.database_url, autocommit=True)

    @property
    def database_name(self) -> str:
        return self.database_url.rpartition("/")[2]

    @cached_property
    def redis(self) -> redis.Redis:
        return redis.Redis.from_url(self.redis_url)

    @cached_property
    def queue(self) -> BrokerQueue:
        return BrokerQueue(self.redis)

    @property
    def body_log(self) -> Path:
        return Path(self._directory.name, "bodies.jsonl")

    # Processes

    def beat(
        self, scheduler: str = "routines", environment: dict[str, str] | None = None, *, wait: bool = True
    ) -> Process:
        """Start a beat; returns when it ticks, or at once when several are to start side by side."""
        return self._celery("beat", ["-S", scheduler], environment or {}, wait)

    def worker(self, concurrency: int = 2, *, wait: bool = True) -> Process:
        """Start a prefork worker; returns when it consumes."""
        name = f"w{len(self.processes)}@%h"
        options = ["-c", str(concurrency), "-n", name, "--without-gossip", "--without-mingle"]
        return self._celery("worker", options, {}, wait)

    def python(self, name: str, arguments: list[str], **environment: str) -> Process:
        """Start any Python process of this deployment."""
        name = f"{name}{len(self.processes)}"
        known = process_environment(self.database_url, self.redis_url, self.name)
        known |= {
            "BENCH_BODY_LOG": str(self.body_log),
            "BENCH_SETTINGS": json.dumps(self._process_settings()),
            "PGAPPNAME": name,  # so that the database's side of its work can be found
        }
        process = Process(name, [sys.executable, *arguments], known | environment, Path(self._directory.name))
        self.processes.append(process)
        return process

    def _celery(self, command: str, options: list[str], environment: dict[str, str], wait: bool) -> Process:
        # Warnings only, which is Celery's default: a log line per fire would slow the peers down.
        arguments = ["-m", "celery", "-A", "benchmarks.app", command, "-l", "WARNING", *options]
        process = self.python(command, arguments, **environment)
        if wait:
            ready_at(process)
        return process

    def _process_settings(self) -> dict[str, Any]:
        routines = {"REDIS_URL": self.redis_url, "KEY_PREFIX": f"{self.name}:"} | self.settings.get("ROUTINES", {})
        return self.settings | {"ROUTINES": routines}

    # Between measurements

    def wake_beats(self) -> None:
        """What the service does after a change; tables are filled behind its back."""
        self.redis.publish(f"{self.name}:wake", "1")

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        cursor = self.database.execute(statement.encode(), values or None)
        return cursor.fetchall() if cursor.description else []

    def count(self, statement: str, *values: Any) -> int:
        return int(self.sql(statement, *values)[0][0])

    def forget_runs(self) -> None:
        """Empty the ledger and the broker before the next measurement."""
        self.sql("TRUNCATE routines_routinerun, routines_routinestate, routines_routine, routines_pool CASCADE")
        self.queue.empty()

    def backend_pid(self, process: Process) -> int | None:
        """The PostgreSQL process that serves this process, when the server is on this machine."""
        if self.servers.postgres is None:
            return None
        found = self.sql("SELECT pid FROM pg_stat_activity WHERE application_name = %s", process.name)
        return int(found[0][0]) if found else None

    @contextmanager
    def orm(self) -> Iterator[None]:
        """Point this process's own Django at the deployment."""
        entry = connections.settings["default"] | {"NAME": self.database_name}
        before, connections.settings["default"] = connections.settings["default"], entry
        connections["default"].close()
        del connections["default"]
        app.conf.update(broker_url=self.redis_url)
        try:
            with override_settings(**self._process_settings()):
                yield
        finally:
            connections["default"].close()
            del connections["default"]
            connections.settings["default"] = before


def ready_at(process: Process) -> float:
    """When the process was ready, in epoch seconds; for a beat, when its first tick began."""
    process.wait_for_log(READY, 60)
    return float(process.log().partition(READY)[2].split()[0])


def soon(seconds: float) -> float:
    """A moment in epoch seconds, on a whole millisecond as slots are."""
    return round(time.time() + seconds, 3)
