"""The sdist that distributions package: everything of the repository is in it, and it can run its own tests."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.acceptance.databases import ROOT

# Neither this test run's servers nor its import path: the unpacked sdist finds and starts its own.
CLEAN = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
# Plain asserts: to rewrite those of every test takes longer than to collect them.
PYTEST = (sys.executable, "-m", "pytest", "-q", "--assert=plain", "-p", "no:cacheprovider")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built with the locked build backend, as a release would be, and unpacked where nothing else is."""
    directory = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", str(directory), str(ROOT), cwd=ROOT)
    (built,) = directory.glob("*.tar.gz")
    with tarfile.open(built) as archive:
        archive.extractall(directory, filter="data")
    return directory / built.name.removesuffix(".tar.gz")


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="only a checkout knows which files belong to it")
def test_the_sdist_holds_everything_that_is_kept_in_git(unpacked: Path) -> None:
    """A new folder that the tests need cannot be forgotten."""
    kept = [name for name in run("git", "ls-files", cwd=ROOT).splitlines() if (ROOT / name).exists()]

    assert [name for name in kept if not (unpacked / name).exists()] == []


def test_the_sdist_can_import_every_test_and_run_them(unpacked: Path) -> None:
    """All are collected; pure ones run, and one with servers, a database of its own and a worker."""
    where = run(sys.executable, "-c", "import routines_app; print(routines_app.__file__)", cwd=unpacked)
    assert Path(where.strip()).is_relative_to(unpacked)

    some = "test_keys or test_a_worker_of_the_stack_runs_what_the_test_publishes"
    assert " passed" in run(*PYTEST, "tests", "-k", some, cwd=unpacked)


def test_the_demo_project_of_the_sdist_comes_up(unpacked: Path) -> None:
    """And no migration is missing."""
    run(sys.executable, "manage.py", "makemigrations", "--check", "--dry-run", cwd=unpacked)


def run(*command: str, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, env=CLEAN, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout
