"""Fresh, migrated databases for stacks, and pointing the test process at them."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import psycopg
import pymysql
from django.db import connections

from tests.acceptance.nursery import PATHS, nursery
from tests.mariadb import MARIADB_PORT
from tests.processes import kill_tree
from tests.settings import POSTGRES_PORT, database

ROOT = Path(__file__).resolve().parents[2]
MANAGE_SECONDS = 300.0  # that of a test: a busy machine has needed more than two minutes to migrate
TEMPLATE = "routines_template"
TEMPLATE_LOCK = 7243  # an advisory lock: the first test worker migrates, the others wait for its template


def postgres_url(name: str, port: int = POSTGRES_PORT) -> str:
    return f"postgres://postgres@127.0.0.1:{port}/{name}"


def manage(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run manage.py in a process of its own; the caller looks at the exit code."""
    given = os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"} | environment
    if given.get("PYTHONPATH", PATHS) == PATHS and "LD_PRELOAD" not in given:
        return _forked(["-m", "manage", *arguments], given)
    command = [sys.executable, str(ROOT / "manage.py"), *arguments]
    return subprocess.run(
        command,
        cwd=ROOT,
        env=given,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=MANAGE_SECONDS,
        check=False,
    )


def _forked(arguments: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as place:
        said, errors = Path(place, "said"), Path(place, "errors")
        command = [sys.executable, *arguments]
        child = nursery().bear(command, environment, ROOT, said, errors)
        try:
            code = child.wait(MANAGE_SECONDS)
        except subprocess.TimeoutExpired:
            kill_tree(child.pid)
            raise
        return subprocess.CompletedProcess(command, code, said.read_text(), errors.read_text())


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
    """A copy of one that this process has had migrated."""
    shutil.copy(_migrated_sqlite(), path)
    return f"sqlite:///{path}"


@cache
def _migrated_sqlite() -> Path:
    directory = Path(tempfile.mkdtemp(prefix="routines-sqlite-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    migrate(f"sqlite:///{directory / 'migrated'}")
    return directory / "migrated"


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
