"""The wheel, and a virtual environment where it is installed and nothing else of this repository is.

Both are made once in a test run, by whichever of its processes comes first.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.acceptance.databases import ROOT

CLEAN = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"}
SCRIPTS = {"celery": "celery.__main__:main", "django-admin": "django.core.management:execute_from_command_line"}


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built with the locked build backend, as a release would be."""
    with _once(tmp_path_factory, "dist") as (directory, is_new):
        if is_new:
            run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(directory), str(ROOT))
    (built,) = directory.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel, and its dependencies borrowed from the one that runs the tests.

    A plain .pth file would also bring this repository in, by its editable install; a list of the installed
    packages does not.
    """
    with _once(tmp_path_factory, "clean") as (directory, is_new):
        python = directory / "bin" / "python"
        if is_new:
            run(sys.executable, "-m", "venv", "--without-pip", str(directory))
            _borrow_packages(python)
            run(sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", str(wheel))
            _write_scripts(python)
    return python


def run(*command: str, cwd: Path | None = None) -> str:
    """In a directory: as somebody who knows nothing of this repository."""
    environment = os.environ if cwd is None else CLEAN
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


@contextmanager
def _once(factory: pytest.TempPathFactory, name: str) -> Iterator[tuple[Path, bool]]:
    """A directory that the processes of the run share, and whether it is to be filled; the others wait for that."""
    base = factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    directory, done = shared / f"installed-{name}", shared / f"installed-{name}.done"
    with (shared / f"installed-{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        is_new = not done.exists()
        directory.mkdir(exist_ok=True)
        yield directory, is_new
        done.touch()


def _borrow_packages(python: Path) -> None:
    packages = Path(run(str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    for installed in Path(sysconfig.get_path("purelib")).iterdir():
        if "routines" not in installed.name and installed.suffix != ".pth":
            (packages / installed.name).symlink_to(installed)


def _write_scripts(python: Path) -> None:
    """As pip would have made them, had it installed the packages."""
    for name, entry in SCRIPTS.items():
        module, _, function = entry.partition(":")
        script = python.with_name(name)
        script.write_text(f"#!{python}\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n")
        script.chmod(0o755)
