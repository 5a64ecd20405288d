"""The PostgreSQL and the Redis that all measured processes share."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg
import redis

from tests.servers import EmbeddedPostgres, EmbeddedRedis

ROOT = Path(__file__).resolve().parents[1]
MEMORY = "1GB"  # PostgreSQL's own, as a server with millions of rows would have it


class Servers:
    """Embedded ones, or those that BENCH_DATABASE_URL and BENCH_REDIS_URL name.

    On a server that was given, databases named `bench_…` are made and dropped again, and Redis databases from
    1 upwards are emptied.
    """

    def __init__(self) -> None:
        self._at_exit = ExitStack()
        self._name = f"bench_{uuid4().hex[:8]}"
        self._numbers = count(1)
        self.postgres: EmbeddedPostgres | None = None
        self._database_url = os.environ.get("BENCH_DATABASE_URL") or self._start_postgres()
        self._redis_url = os.environ.get("BENCH_REDIS_URL") or self._start_redis()

    def __enter__(self) -> Servers:
        self._make_template()
        return self

    def __exit__(self, *_: object) -> None:
        self._at_exit.close()

    def _start_postgres(self) -> str:
        self.postgres = EmbeddedPostgres(shared_buffers=MEMORY)
        self._at_exit.callback(self.postgres.dispose)
        self.postgres.start()
        return self.postgres.url()

    def _start_redis(self) -> str:
        server = EmbeddedRedis()
        self._at_exit.callback(server.dispose)
        server.start()
        return server.url()

    def _make_template(self) -> None:
        """Migrated once; each deployment gets a copy."""
        self._migrate(self._create(f"{self._name}_template", "template1"))

    def _migrate(self, url: str) -> None:
        environment = process_environment(url, self.redis_url(0), self._name)
        command = [sys.executable, str(ROOT / "manage.py"), "migrate", "--verbosity=0", "--skip-checks"]
        subprocess.run(command, cwd=ROOT, env=os.environ | environment, check=True)

    def new_database(self) -> str:
        return self._create(f"{self._name}_{next(self._numbers)}", f"{self._name}_template")

    def kept_database(self, name: str) -> str:
        """One that stays when everything ends, and is there the next time: on a server that was given."""
        if self.postgres is not None:
            raise ValueError("an embedded server keeps nothing: give BENCH_DATABASE_URL too")
        if not self._exists(name):
            self._execute(f"CREATE DATABASE {name}")
        self._migrate(self._url_of(name))
        return self._url_of(name)

    def _exists(self, name: str) -> bool:
        with psycopg.connect(self._database_url) as connection:
            found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone()
        return found is not None

    def _create(self, name: str, template: str) -> str:
        self._execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        self._at_exit.callback(self.drop_database, name)
        return self._url_of(name)

    def drop_database(self, name: str) -> None:
        self._execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def _execute(self, statement: str) -> None:
        with psycopg.connect(self._database_url, autocommit=True) as connection:
            connection.execute(statement.encode())

    def _url_of(self, name: str) -> str:
        return urlunsplit(urlsplit(self._database_url)._replace(path=f"/{name}"))

    def new_redis_url(self) -> str:
        """An empty Redis database; there are few, so they are used again in turn."""
        url = self.redis_url(next(self._numbers) % 15 + 1)
        with redis.Redis.from_url(url) as client:
            client.flushdb()
        return url

    def redis_url(self, db: int) -> str:
        return urlunsplit(urlsplit(self._redis_url)._replace(path=f"/{db}"))

    def statement_log(self) -> Path | None:
        """Where an embedded PostgreSQL logs; None when the server is not ours to read."""
        return None if self.postgres is None else self.postgres.directory / "log"


def process_environment(database_url: str, redis_url: str, prefix: str) -> dict[str, str]:
    """What tells a process which database and Redis it works on."""
    return {
        "DJANGO_SETTINGS_MODULE": "benchmarks.settings",
        "PYTHONPATH": str(ROOT),
        "PYTHONUNBUFFERED": "1",
        "BENCH_PROCESS_DATABASE": database_url,
        "BENCH_PROCESS_REDIS": redis_url,
        "BENCH_PROCESS_PREFIX": f"{prefix}:",
    }
