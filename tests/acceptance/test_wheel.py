"""The wheel that people install: what is in it, and that it works where nothing else of this repository is."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.acceptance.databases import ROOT
from tests.acceptance.installed import CLEAN, run
from tests.processes import wait_for

PROJECT = Path(__file__).parent / "wheel_project.py"

pytestmark = pytest.mark.slow


def test_the_wheel_holds_the_package_and_what_it_reads(wheel: Path) -> None:
    """Every file of the package that is no cache is in it: templates, static files, catalogs, Lua, SQL, migrations."""
    names = set(zipfile.ZipFile(wheel).namelist())

    assert {name for name in package_files() if name not in names} == set()
    assert "routines_app/py.typed" in names
    assert "routines_app/migrations/0001_initial.py" in names
    assert {f"routines_app/locale/{language}/LC_MESSAGES/django.mo" for language in ("de", "fr")} <= names


def test_the_wheel_holds_nothing_else(wheel: Path) -> None:
    """The demo project and the tests stay at home."""
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}

    assert {top for top in tops if not top.endswith(".dist-info")} == {"routines_app"}


def test_celery_finds_the_scheduler_by_its_entry_point(python: Path, tmp_path: Path) -> None:
    """`-S routines` works because the wheel says so."""
    code = "from importlib.metadata import entry_points as e; print(*e(group='celery.beat_schedulers'))"

    assert "routines_app.beat.scheduler:RoutinesScheduler" in run(str(python), "-c", code, cwd=tmp_path)


def test_a_routine_runs_from_the_installed_wheel(python: Path, tmp_path: Path) -> None:
    """A project of one file migrates, creates a routine and runs it inline."""
    project = tmp_path / "wheel_project.py"
    project.write_text(PROJECT.read_text())

    printed = run(str(python), str(project), cwd=tmp_path)

    assert printed.splitlines()[-1] == "SUCCESS 5"


def test_a_beat_starts_from_the_installed_wheel(python: Path, tmp_path: Path) -> None:
    """`celery beat -S routines` comes up and ends cleanly where only the wheel is installed."""
    (tmp_path / "wheel_project.py").write_text(PROJECT.read_text())
    run(str(python), "wheel_project.py", cwd=tmp_path)
    log = tmp_path / "beat.log"
    command = [str(python), "-m", "celery", "-A", "wheel_project", "beat", "-S", "routines", "-l", "INFO"]
    with log.open("wb") as output:
        beat = subprocess.Popen(command, cwd=tmp_path, env=CLEAN, stdout=output, stderr=subprocess.STDOUT)

    try:
        started = "beat: Starting"
        wait_for(lambda: started in log.read_text() or beat.poll() is not None, 20, "the beat did not start")
        beat.terminate()
        assert beat.wait(10) == 0, log.read_text()
        assert started in log.read_text()
    finally:
        beat.kill()
        beat.wait()


def package_files() -> list[str]:
    found = [path for path in (ROOT / "routines_app").rglob("*") if path.is_file()]
    return [str(path.relative_to(ROOT)) for path in found if "__pycache__" not in path.parts]
