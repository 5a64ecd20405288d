"""The pages of the documentation: their blocks, and the one way in which tests run them.

`Reader.walk` takes the blocks of a page in their order, each by the rule of its language: Python is run, commands are
typed and print what the page shows below them, YAML is read. A language or a command without a rule is an error, so no
block is passed over. What cannot be run is listed, with its reason. `Project` is for pages whose blocks are files.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

import pytest
import yaml
from celery import _state
from celery.app import app_or_default
from django.core.management import call_command

from routines_app import service

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# ([\w/]+\.py)\n")
STATE: Any = _state  # whose stubs are incomplete
PROMPT = "$ "
MANAGE = "python manage.py "
DIAGRAMS = ("flowchart", "stateDiagram-v2", "sequenceDiagram")

NOT_RUN = {
    "pip": "there is no release to install; tests/acceptance/test_wheel.py installs what is built",
    "pre-commit": "it is not in .venv",
    "lock=": "it asks PyPI",
    "$lock": "it asks PyPI",
    "for": "it keeps every core busy",
    "rm": "tests/acceptance/test_sdist.py builds",
}
"""Commands that no test types, by how they begin, and why."""

Compare = Callable[[str, list[str], list[str]], None]


@dataclass(frozen=True, kw_only=True)
class Block:
    """What stands between two fences."""

    page: str
    section: str
    language: str
    text: str

    @property
    def file(self) -> str:
        """The path that its first line names; empty where it is no file."""
        named = FILE.match(self.text) if self.language == "python" else None
        return named[1] if named else ""


def pages() -> list[str]:
    """All of them, as paths from the root."""
    return ["README.md", "CONTRIBUTING.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str, *languages: str) -> list[Block]:
    """Those of a page in their order, or those of some languages."""
    text = text_of(page)
    found = []
    for match in FENCE.finditer(text):
        headings = re.findall(r"^#+ (.*)$", FENCE.sub("", text[: match.start()]), flags=re.MULTILINE)
        section = headings[-1] if headings else ""
        found.append(Block(page=page, section=section, language=match[2], text=dedent(match[3])))
    return [block for block in found if not languages or block.language in languages]


def typed(console: str) -> Iterator[tuple[str, list[str]]]:
    """Each command, and the lines that the page shows below it."""
    for part in re.split(rf"^{re.escape(PROMPT)}", console, flags=re.MULTILINE)[1:]:
        command, *printed = part.splitlines()
        yield command, [line for line in printed if line]


def shown(page: str) -> list[str]:
    """The commands whose output the page shows."""
    return [command for block in blocks(page, "console") for command, printed in typed(block.text) if printed]


def answer(command: str) -> list[str]:
    """What `manage.py` prints, whatever its exit code is."""
    out = StringIO()
    with suppress(SystemExit):
        call_command(*shlex.split(command.removeprefix(MANAGE), comments=True), stdout=out)
    return [line for line in out.getvalue().splitlines() if line]


def exactly(command: str, found: list[str], printed: list[str]) -> None:
    assert found == printed, command


@contextmanager
def passing_tasks() -> Iterator[None]:
    """The tasks that are registered meanwhile are gone afterwards: from every app, and from those that come later,
    to which Celery gives all shared tasks. The next page may show others of their names."""
    service.registered_tasks()
    before, promised = set(app_or_default().tasks), set(STATE._on_app_finalizers)
    try:
        yield
    finally:
        STATE._on_app_finalizers.intersection_update(promised)
        for name in set(app_or_default().tasks) - before:
            for app in list(STATE._get_active_apps()):
                app._tasks.pop(name, None)


class Reader:
    """Somebody who does what a page says, from top to bottom."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tasks: dict[str, str] | None = None) -> None:
        self.monkeypatch = monkeypatch
        self.tasks = tasks or {}
        """Patterns of the tasks that a page names without showing them, and the task that stands for each."""
        self.known: dict[str, Any] = {}
        """The names that the page's Python has left."""
        self.modules: dict[str, ModuleType] = {}

    def walk(
        self, page: str, compare: Compare = exactly, *, leave_out: Callable[[Block], object] | None = None
    ) -> dict[str, Any]:
        for block in blocks(page):
            if leave_out is None or not leave_out(block):
                self.do(block, compare)
        return self.known

    def do(self, block: Block, compare: Compare = exactly) -> None:
        text = block.text
        for pattern, task in self.tasks.items():
            text = re.sub(pattern, task, text)
        match block.language:
            case "python" if block.file:
                self._import(block.file, text)
            case "python":
                exec(compile(text, block.page, "exec"), self.known)
            case "console":
                for command, printed in typed(text):
                    self._type(command, printed, compare)
            case "yaml":
                assert list(yaml.safe_load_all(text))
            case "mermaid":
                assert text.split()[0] in DIAGRAMS, block.page
            case "text":
                pass  # the shape of something, for the eye
            case _:
                raise AssertionError(f"{block.page}, {block.section}: no test knows what to do with {block.language!r}")

    def _import(self, path: str, text: str) -> None:
        """As the module that it would be, for as long as the test lasts."""
        name = path.removesuffix(".py").replace("/", ".")
        package = name.rpartition(".")[0]
        if package and package not in sys.modules:
            above = ModuleType(package)
            above.__path__ = []
            self.monkeypatch.setitem(sys.modules, package, above)
        self.modules[name] = ModuleType(name)
        self.monkeypatch.setitem(sys.modules, name, self.modules[name])
        exec(compile(text, path, "exec"), self.modules[name].__dict__)

    def _type(self, command: str, printed: list[str], compare: Compare) -> None:
        if command.startswith(MANAGE):
            found = answer(command)
            if printed:
                compare(command, found, printed)
            return
        if not any(command.startswith(begin) for begin in NOT_RUN):
            words = shlex.split(command, comments=True)
            _is_a_command([word for word in words if not re.fullmatch(r"[A-Z_]+=\S+", word)])


def _is_a_command(words: list[str]) -> None:
    """What is not typed, because it would start a world of its own, names things that there are."""
    match words:
        case ["make", target]:
            assert f"\n{target}:" in text_of("Makefile"), words
        case ["celery", "-A", "project", "worker"] | ["celery", "-A", "project", "beat", "-S", "routines"]:
            pass  # tests/acceptance/test_readme.py starts both
        case [".venv/bin/python", "-m", "benchmarks", *options]:
            from benchmarks.__main__ import SCENARIOS

            assert set(options) <= {"--list", "--quick", "--only", *SCENARIOS}, words
        case [".venv/bin/pytest", *options]:
            named = [word for word in options if word.startswith("tests/")]
            assert named, words
            assert all("{" in word or (ROOT / word).exists() for word in named), words
        case _:
            raise AssertionError(f"no test knows the command {shlex.join(words)}")


class Project:
    """A small project whose files are a page's blocks; it can reach neither a broker nor a Redis."""

    FILES = {
        "project_settings.py": """
import project_celery

SECRET_KEY = "page"
USE_TZ = True
INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes", "django_celery_results", "routines_app", "shop"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
CELERY_BROKER_URL = "redis://127.0.0.1:1/0"
CELERY_RESULT_BACKEND = "django-db"
ROUTINES = {"REDIS_URL": "redis://127.0.0.1:1/1"}
""",
        "project_celery.py": """
from celery import Celery

app = Celery("project")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
""",
        "conftest.py": 'pytest_plugins = ["routines_app.testing.fixtures"]\n',
        "pytest.ini": "",
        "shop/__init__.py": "",
    }

    def __init__(self, directory: Path, page: str) -> None:
        self.directory = directory
        given = blocks(page, "python")
        self.files = {block.file: block.text for block in given}
        assert len(self.files) == len(given), "two blocks say that they are the same file"
        assert all(self.files), "each block is a file"
        for name, text in (self.FILES | self.files).items():
            self.write(name, text)

    def write(self, name: str, text: str) -> None:
        path = self.directory / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def run(self, *command: str) -> tuple[int, str]:
        told = {"DJANGO_SETTINGS_MODULE": "project_settings", "PYTHONPATH": f"{self.directory}{os.pathsep}{ROOT}"}
        others = ("PYTEST_", "ROUTINES_", "COV_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(others)}
        python = [sys.executable, "-W", "error", "-m"]
        done = subprocess.run([*python, *command], cwd=self.directory, env=kept | told, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def test(self, *options: str) -> tuple[int, str]:
        return self.run("pytest", "-q", "--strict-markers", "-p", "no:cacheprovider", "-p", "no:xdist", *options)

    @property
    def tests(self) -> int:
        """How many tests its files define."""
        return sum(len(re.findall(r"^def test_", text, re.MULTILINE)) for text in self.files.values())
