"""A whole deployment for one test: its own Redis and database, and as many beats and workers as it starts.

The test's own process works on the stack's database and broker too: a test creates routines with the service
façade, starts processes, breaks things, and reads the ledger with the ORM.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar
from uuid import uuid4

import pytest
from django.db import InterfaceError, OperationalError, connection
from django.test import override_settings
from kombu import pools

from routines_app.coordination.broker import broker
from routines_app.coordination.redis_client import key
from tests.acceptance.app import app
from tests.acceptance.databases import (
    ROOT,
    create_mariadb,
    create_postgres,
    create_sqlite,
    drop_postgres,
    execute_mariadb,
    manage,
    orm_pointed_at,
)
from tests.acceptance.nursery import PATHS
from tests.acceptance.process import Process
from tests.processes import answers, free_port, stretched, wait_for
from tests.servers import RABBITMQ_PORT, EmbeddedPostgres, EmbeddedRedis
from tests.settings import broker_options

T = TypeVar("T")
POLL_SECONDS = 0.05
TAIL_LINES = 40


@dataclass(frozen=True, kw_only=True)
class Body:
    """One execution of a task body, as the body itself wrote it down."""

    run: str | None
    routine: str | None
    slot: str | None
    attempt: int | None
    fence: int | None
    pid: int
    started: float
    """Monotonic seconds, comparable between the processes of this machine."""
    started_at: float
    """Seconds since the epoch."""
    ended: float | None
    """None when the body was killed, or still runs."""
    how: str | None
    """`returned`, or the class of the exception that ended it."""


class Stack:
    """Everything a test starts in it ends with it."""

    def __init__(
        self,
        directory: Path,
        *,
        database: Literal["postgresql", "sqlite", "mariadb"] = "postgresql",
        own_postgres: bool = False,
        broker: Literal["redis", "rabbitmq"] = "redis",
        settings: dict[str, Any] | None = None,
    ) -> None:
        """`settings` override Django settings in the test and in its processes; ROUTINES is merged."""
        self.directory = directory
        self.name = f"stack_{uuid4().hex[:12]}"
        self.processes: list[Process] = []
        self.postgres: EmbeddedPostgres | None = None
        self.body_log = directory / "bodies.jsonl"
        self.at_exit = ExitStack()
        with ExitStack() as on_error:
            on_error.callback(self.dispose)
            self.redis = self.start_redis()
            self.database_url = self.create_database(database, own_postgres)
            self.broker_url = self.create_vhost() if broker == "rabbitmq" else self.redis.url()
            self.settings = self.merged(settings or {})
            self.at_exit.enter_context(orm_pointed_at(self.database_url))
            self.at_exit.enter_context(override_settings(**self.settings))
            self.at_exit.enter_context(celery_pointed_at(self.broker_url))
            on_error.pop_all()

    # Building

    def start_redis(self) -> EmbeddedRedis:
        server = EmbeddedRedis()
        self.at_exit.callback(server.dispose)
        server.start()
        return server

    def create_database(self, kind: str, own_postgres: bool) -> str:
        if own_postgres:
            self.postgres = EmbeddedPostgres()
            self.at_exit.callback(self.postgres.dispose)
            self.postgres.start()
            return create_postgres(self.name, self.postgres.port)
        if kind == "sqlite":
            return create_sqlite(self.directory / "stack.sqlite3")
        if kind == "mariadb":
            self.at_exit.callback(execute_mariadb, f"DROP DATABASE IF EXISTS {self.name}")
            return create_mariadb(self.name)
        self.at_exit.callback(drop_postgres, self.name)
        return create_postgres(self.name)

    def create_vhost(self) -> str:
        """A RabbitMQ virtual host of its own; only the broker's administrator may make one."""
        if not answers(RABBITMQ_PORT):
            pytest.skip(f"nothing answers on 127.0.0.1:{RABBITMQ_PORT} (rabbitmq)")
        self.at_exit.callback(rabbitmqctl, "delete_vhost", self.name)
        rabbitmqctl("add_vhost", self.name)
        rabbitmqctl("set_permissions", "-p", self.name, "guest", ".*", ".*", ".*")
        return f"amqp://guest:guest@127.0.0.1:{RABBITMQ_PORT}/{self.name}"

    def merged(self, overrides: dict[str, Any]) -> dict[str, Any]:
        routines = {"REDIS_URL": self.redis.url(), "KEY_PREFIX": f"{self.name}:"}
        given = overrides.get("ROUTINES", {})
        return overrides | {"ROUTINES": routines | given, "REDIS_URL": self.redis.url()}

    @property
    def environment(self) -> dict[str, str]:
        """What tells a process that it belongs to this stack."""
        return {
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "PYTHONPATH": PATHS,
            "PYTHONUNBUFFERED": "1",
            "ROUTINES_BODY_LOG": str(self.body_log),
            "ROUTINES_TEST_BROKER_URL": self.broker_url,
            "ROUTINES_TEST_DATABASE_URL": self.database_url,
            "ROUTINES_TEST_REDIS_URL": self.redis.url(),
            "ROUTINES_TEST_SETTINGS": json.dumps(self.settings),
        }

    # Starting processes

    def beat(self, **environment: str) -> Process:
        """Start one more `celery beat -S routines`."""
        process = self.start_beat(**environment)
        process.wait_for_log("beat: Starting")
        return process

    def start_beat(self, **environment: str) -> Process:
        """The same without waiting: the servers that it needs may be away."""
        return self.celery("beat", ["-S", "routines"], environment)

    def worker(
        self,
        pool: str = "prefork",
        concurrency: int = 2,
        queues: str | None = None,
        arguments: tuple[str, ...] = (),
        **environment: str,
    ) -> Process:
        """Start one more worker; returns when it consumes."""
        process = self.start_worker(pool, concurrency, queues, arguments, **environment)
        process.wait_for_log(" ready.")
        return process

    def start_worker(
        self,
        pool: str = "prefork",
        concurrency: int = 2,
        queues: str | None = None,
        arguments: tuple[str, ...] = (),
        **environment: str,
    ) -> Process:
        """The same without waiting."""
        options = ["-P", pool, "-c", str(concurrency), "-n", f"worker{len(self.processes)}@%h"]
        options += ["--without-gossip", "--without-mingle", *(["-Q", queues] if queues else []), *arguments]
        return self.celery("worker", options, environment)

    def celery(self, command: str, options: list[str], environment: dict[str, str]) -> Process:
        arguments = ["-m", "celery", "-A", "tests.acceptance.app", command, "-l", "INFO", *options]
        return self.start(command, arguments, environment)

    def web(self, **environment: str) -> tuple[Process, str]:
        """Start a web server; returns it and its address, without a slash at the end."""
        port = free_port()
        arguments = [str(ROOT / "manage.py"), "runserver", "--noreload", "--insecure", f"127.0.0.1:{port}"]
        process = self.start("web", arguments, environment)
        wait_for(lambda: answers(port) or not process.running, 30, "the web server did not start")
        return process, f"http://127.0.0.1:{port}"

    def start(self, name: str, arguments: list[str], environment: dict[str, str]) -> Process:
        """Start any Python process with the stack's environment."""
        name = f"{name}{len(self.processes)}"
        process = Process(name, [sys.executable, *arguments], self.environment | environment, self.directory)
        self.processes.append(process)
        return process

    def manage(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a management command to its end."""
        return manage(self.environment | environment, *arguments)

    # Watching

    def wait_until(self, predicate: Callable[[], T], timeout: float, message: str) -> T:
        """Poll until the predicate is true and return what it gave; else fail with every process's log."""
        began = time.monotonic()
        while not (value := self.ask(predicate)):
            waited = time.monotonic() - began
            if waited > timeout and waited > stretched(timeout):
                raise AssertionError(f"{message} (waited {waited:.3g} s)\n{self.logs()}")
            time.sleep(POLL_SECONDS)
        return value

    def ask(self, predicate: Callable[[], T]) -> T | None:
        """A database that the test itself has taken down means: not yet."""
        try:
            return predicate()
        except (OperationalError, InterfaceError):
            connection.close()
            return None

    def listeners(self, channel: str) -> int:
        """How many connections wait for what is said on a channel of ours."""
        ((_, count),) = self.redis.client().pubsub_numsub(key(channel))
        return int(count)

    def body_lines(self) -> list[dict[str, Any]]:
        """All lines that task bodies have written, in the order of writing."""
        text = self.body_log.read_text() if self.body_log.exists() else ""
        return [json.loads(line) for line in text.splitlines()]

    def bodies(self, routine: str | None = None) -> list[Body]:
        """The executions that the bodies recorded, in the order of their starts."""
        lines = self.body_lines()
        ends = {line["body"]: line for line in lines if line["event"] == "end"}
        starts = [line for line in lines if line["event"] == "start"]
        wanted = [line for line in starts if routine is None or line.get("routine") == routine]
        return [as_body(line, ends.get(line["body"], {})) for line in wanted]

    def logs(self) -> str:
        """The last lines of every process, for a failure's report."""
        return "\n".join(self.tail(process) for process in self.processes)

    def tail(self, process: Process) -> str:
        state = "running" if process.running else f"ended: {process.popen.returncode}"
        lines = process.log().splitlines()[-TAIL_LINES:]
        return "\n".join([f"--- {process.name} (pid {process.pid}, {state})", *lines])

    def dispose(self) -> None:
        """End all processes and servers and give the test process its own database back."""
        for process in self.processes:
            if process.running:
                process.kill9()
        self.at_exit.close()


def as_body(start: dict[str, Any], end: dict[str, Any]) -> Body:
    known = {key: start.get(key) for key in ("run", "routine", "slot", "attempt", "fence")}
    return Body(
        **known,
        pid=start["pid"],
        started=start["monotonic"],
        # By our own wall clock: that of the body's process may have been stepped.
        started_at=start["monotonic"] + time.time() - time.monotonic(),
        ended=end.get("monotonic"),
        how=end.get("how"),
    )


@contextmanager
def celery_pointed_at(broker_url: str) -> Iterator[None]:
    """Make this process publish to another broker."""
    before = app.conf.broker_url
    use_broker(broker_url)
    try:
        yield
    finally:
        use_broker(before)


def use_broker(url: str) -> None:
    broker().close()  # what it holds open leads to the server of the stack before
    celery: Any = app  # its type stubs know neither of the pools
    pools.reset()  # kombu remembers pools by address, closed ones too, and a port can come again
    celery._pool = celery.amqp._producer_pool = None  # filled again, from the new address, when used
    app.conf.update(broker_url=url, broker_transport_options=broker_options(url))


def rabbitmqctl(*arguments: str) -> None:
    done = subprocess.run(["rabbitmqctl", "-q", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"rabbitmqctl {arguments[0]} is not possible here: {done.stderr.strip()}")
