"""The README's install section, word for word, in an empty directory.

Its blocks are the test: a comment that names a file begins that file (or the end of it), and the lines of the consoles
are run in their order. Only the addresses of the servers are replaced by those of the test.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from tests.acceptance.databases import ROOT, drop_postgres, postgres_url
from tests.acceptance.installed import CLEAN
from tests.acceptance.process import Process
from tests.acceptance.stack import rabbitmqctl
from tests.processes import wait_for
from tests.servers import RABBITMQ_PORT, EmbeddedRedis
from tests.settings import POSTGRES_PORT

BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^# ([\w/]+/\w+\.py)(.*\n)", re.MULTILINE)
VARIANTS = {"postgresql": "for PostgreSQL", "sqlite": "for SQLite", "rabbitmq": "for RabbitMQ"}
RESULT = "from routines_app.models import RoutineRun; print(RoutineRun.objects.filter(status='SUCCESS')[0].result)"

pytestmark = pytest.mark.slow


def install_section() -> list[tuple[str, str]]:
    """The kind and the text of each block."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text.partition("\n## Install in your project\n")[2].partition("\n## ")[0]
    return BLOCK.findall(section)


def files(*variants: str) -> list[tuple[str, str]]:
    """Path and text of each file; of the settings only the variants that are asked for."""
    (code,) = (text for kind, text in install_section() if kind == "python")
    _, *parts = FILE.split(code)
    named = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    others = [words for name, words in VARIANTS.items() if name not in variants]
    return [(path, text) for path, note, text in named if not any(words in note for words in others)]


def consoles() -> list[list[str]]:
    """The commands of each console, without their comments."""
    return [
        [shlex.join(shlex.split(line.removeprefix("$ "), comments=True)) for line in text.splitlines()]
        for kind, text in install_section()
        if kind == "console"
    ]


class Newcomer:
    """Somebody with an empty directory, the package and the README."""

    def __init__(self, directory: Path, python: Path, addresses: dict[str, str]) -> None:
        self.directory = directory
        self.environment = CLEAN | {"PATH": f"{python.parent}:{CLEAN['PATH']}"}
        self.addresses = addresses
        self.processes: list[Process] = []

    def types(self, command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, shell=True, cwd=self.directory, env=self.environment, capture_output=True, text=True, check=False
        )

    def does(self, command: str) -> str:
        done = self.types(command)
        assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}{self.logs()}"
        return done.stdout + done.stderr

    def sees(self, command: str, pattern: str) -> None:
        try:
            wait_for(lambda: re.search(pattern, self.does(command)), 60, f"{command} never showed {pattern}", every=0.5)
        except TimeoutError as late:
            raise AssertionError(f"{late}\n{self.does(command)}{self.logs()}") from None

    def starts(self, command: str) -> Process:
        alone = ["env", "-i", *(f"{name}={value}" for name, value in self.environment.items())]
        process = Process(command.split()[3], [*alone, "sh", "-c", f"exec {command}"], {}, self.directory)
        self.processes.append(process)
        return process

    def writes(self, path: str, text: str) -> None:
        for theirs, ours in self.addresses.items():
            text = text.replace(theirs, ours)
        file = self.directory / path
        file.parent.mkdir(exist_ok=True)
        with file.open("a") as end:
            end.write(text)

    def logs(self) -> str:
        return "".join(f"\n--- {process.name}\n{process.log()}" for process in self.processes)


@pytest.fixture
def newcomer(python: Path, tmp_path: Path) -> Iterator[Callable[..., Newcomer]]:
    with ExitStack() as at_exit:

        def made(database: str, broker: str) -> Newcomer:
            name = f"readme_{uuid4().hex[:12]}"
            redis = EmbeddedRedis()
            at_exit.callback(redis.dispose)
            redis.start()
            addresses = {"localhost:6379": f"127.0.0.1:{redis.port}"}
            if database == "postgresql":
                with psycopg.connect(postgres_url("postgres"), autocommit=True) as connection:
                    connection.execute(f"CREATE DATABASE {name}".encode())
                at_exit.callback(drop_postgres, name)
                addresses |= {'"localhost"': '"127.0.0.1"', "5432": str(POSTGRES_PORT), '"project"': f'"{name}"'}
            if broker == "rabbitmq":
                rabbitmqctl("add_vhost", name)
                at_exit.callback(rabbitmqctl, "delete_vhost", name)
                rabbitmqctl("set_permissions", "-p", name, "guest", ".*", ".*", ".*")
                addresses |= {"localhost:5672//": f"127.0.0.1:{RABBITMQ_PORT}/{name}"}
            found = Newcomer(tmp_path, python, addresses)
            at_exit.callback(lambda: [process.kill9() for process in found.processes])
            return found

        yield made


@pytest.mark.parametrize(
    ("database", "broker"),
    [
        ("postgresql", "redis"),
        ("sqlite", "redis"),
        pytest.param("postgresql", "rabbitmq", marks=[pytest.mark.rabbitmq, pytest.mark.everything]),
    ],
)
def test_the_install_section_works_word_for_word(newcomer: Callable[..., Newcomer], database: str, broker: str) -> None:
    """A beat fires the routine, a worker runs it, and so it does when it is asked to."""
    somebody = newcomer(database, broker)
    prepare, commands = consoles()
    for command in prepare[1:]:  # not pip: there is no release to install
        somebody.does(command)
    for path, text in sorted(files(database, broker), key=lambda file: file[0] != "project/settings.py"):
        if path == "project/celery.py":  # the settings are there, the app is not
            assert "routines.E014" in somebody.types("python manage.py check").stderr
        somebody.writes(path, text)

    migrate, check, worker, beat, ask, show = commands
    somebody.does(migrate)
    if database == "sqlite":  # one is enough to see that the data migration can be run again
        somebody.does("python manage.py migrate shop zero")
        somebody.does(migrate)
    assert "routines." not in somebody.does(check)
    processes = [somebody.starts(worker), somebody.starts(beat)]
    assert "is PENDING" in somebody.does(ask)
    somebody.sees(show, r"SUCCESS +\S* +manual")
    somebody.sees(show, r"SUCCESS +\S* +schedule")
    assert somebody.does(f'python manage.py shell -v0 -c "{RESULT}"').strip() == "{'orders': 12}"

    for process in processes:
        process.terminate()
    assert [process.wait(30) for process in processes] == [0, 0], somebody.logs()
    assert "Traceback" not in somebody.logs()


def test_the_package_is_called_as_the_readme_calls_it() -> None:
    """The one line that cannot be tried."""
    assert consoles()[0][0] == "pip install 'django-celery-routines[postgresql]'"
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'name = "django-celery-routines"' in project
    assert re.search(r"^postgresql = \[", project, re.MULTILINE)
