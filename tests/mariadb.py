"""A MariaDB of a test run's own. PyPI has none: it is the one that is installed on the machine, if there is one."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Any

import pymysql

from tests.embedded import UNPRIVILEGED_USER, EmbeddedServer
from tests.processes import free_port

MARIADB_PORT = 3306

MARIADB_SETTINGS = {
    "bind-address": "127.0.0.1",
    "max-connections": "300",
    "innodb-flush-log-at-trx-commit": "0",
    "innodb-flush-method": "nosync",
    "innodb-buffer-pool-size": "128M",
    "performance-schema": "off",
    "character-set-server": "utf8mb4",
    "default-time-zone": "+00:00",
}


class EmbeddedMariaDB(EmbeddedServer):
    """With data of its own, and waiting for no disk."""

    name = "mariadb"

    @staticmethod
    def is_installed() -> bool:
        return shutil.which("mariadbd") is not None and shutil.which("mariadb-install-db") is not None

    def prepare(self) -> None:
        data = self.directory / "data"
        if data.exists():
            return
        if os.geteuid() == 0:
            shutil.chown(self.directory, UNPRIVILEGED_USER)
        options = ("--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db", f"--datadir={data}")
        command = ["mariadb-install-db", *options, *self.identity()]
        done = subprocess.run(command, cwd=self.directory, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"mariadb-install-db failed: {done.stdout}{done.stderr}")

    def identity(self) -> list[str]:
        return [f"--user={UNPRIVILEGED_USER}"] if os.geteuid() == 0 else []

    def spawn(self, *command: str, **options: Any) -> subprocess.Popen[bytes]:
        settings = [f"--{key}={value}" for key, value in MARIADB_SETTINGS.items()]
        places = [
            f"--datadir={self.directory / 'data'}",
            f"--socket={self.directory / 'socket'}",
            f"--port={self.port}",
        ]
        command = (str(shutil.which("mariadbd")), "--no-defaults", *places, *settings, *self.identity())
        return super().spawn(*command, cwd=self.directory)

    def ready(self) -> bool:
        try:
            pymysql.connect(host="127.0.0.1", port=self.port, user="root").close()
        except pymysql.MySQLError:
            return False
        return True


def mariadb_port() -> int:
    """Of the run's own MariaDB, where that is wanted and one can be started; else of the machine's."""
    wanted = os.environ.get("ROUTINES_TEST_DATABASE") == "mariadb" and EmbeddedMariaDB.is_installed()
    return int(os.environ.setdefault("ROUTINES_TEST_MARIADB_PORT", str(free_port() if wanted else MARIADB_PORT)))
