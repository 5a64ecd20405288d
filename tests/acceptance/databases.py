"""Fresh, migrated databases for stacks, and pointing the test process at them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pymysql
from django.db import connections

from tests.mariadb import MARIADB_PORT
from tests.settings import POSTGRES_PORT, database

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = "routines_template"
TEMPLATE_LOCK = 7243  # an advisory lock: the first test worker migrates, the others wait for its template


def postgres_url(name: str, port: int = POSTGRES_PORT) -> str:
    return f"postgres://postgres@127.0.0.1:{port}/{name}"


def manage(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run manage.py in a process of its own; the caller looks at the exit code."""
    command = [sys.executable, str(ROOT / "manage.py"), *arguments]
    settings = {"DJANGO_SETTINGS_MODULE": "tests.settings"}
    return subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | settings | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,  # that of a test: a busy machine has needed more than two minutes to migrate
        check=False,
    )


def migrate(url: str) -> None:
    done = manage({"ROUTINES_TEST_DATABASE_URL": url}, "migrate", "--verbosity=0", "--skip-checks")
    if done.returncode:
        raise RuntimeError(f"migrate failed: {done.stdout}{done.stderr}")


def create_postgres(name: str, port: int = POSTGRES_PORT) -> str:
    """A copy of a template that is migrated once per server."""
    with psycopg.connect(postgres_url("postgres", port), autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", [TEMPLATE_LOCK])
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [TEMPLATE]).fetchone():
            connection.execute("CREATE DATABASE routines_unfinished")
            migrate(postgres_url("routines_unfinished", port))
            connection.execute(f"ALTER DATABASE routines_unfinished RENAME TO {TEMPLATE}")
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}".encode())
    return postgres_url(name, port)


def drop_postgres(name: str) -> None:
    with psycopg.connect(postgres_url("postgres"), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())


def create_mariadb(name: str) -> str:
    execute_mariadb(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
    url = f"mysql://root@127.0.0.1:{MARIADB_PORT}/{name}"
    migrate(url)
    return url


def execute_mariadb(statement: str) -> None:
    with pymysql.connect(host="127.0.0.1", port=MARIADB_PORT, user="root") as connection:
        connection.cursor().execute(statement)


def create_sqlite(path: Path) -> str:
    url = f"sqlite:///{path}"
    migrate(url)
    return url


@contextmanager
def orm_pointed_at(url: str) -> Iterator[None]:
    """Make the `default` connection of this process, in every thread, one to that address."""
    before = connections["default"]
    settings_before = connections.settings["default"]
    connections.settings["default"] = connections.configure_settings({"default": database(url)})["default"]
    del connections["default"]  # the next use connects with the new settings
    try:
        yield
    finally:
        connections["default"].close()
        connections.settings["default"] = settings_before
        connections["default"] = before
