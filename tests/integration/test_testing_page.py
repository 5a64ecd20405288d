"""docs/testing.md, word for word: its blocks are the files of a project, whose tests are run as the page says.

The project can reach neither a broker nor a Redis: its settings name ports that nobody listens at.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "testing.md"
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

SETTINGS = """
import project_celery

SECRET_KEY = "page"
USE_TZ = True
INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes", "django_celery_results", "routines_app", "shop"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
CELERY_BROKER_URL = "redis://127.0.0.1:1/0"
CELERY_RESULT_BACKEND = "django-db"
ROUTINES = {"REDIS_URL": "redis://127.0.0.1:1/1"}
"""
CELERY = """
from celery import Celery

app = Celery("project")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
"""
FAILS = """
import pytest
from routines_app import service
from routines_app.testing import assert_ran, run_due
from shop import bank


@pytest.mark.django_db
@pytest.mark.routines_clock("2026-03-02T02:59:00+00:00")
def test_that_fails(routines_clock, monkeypatch):
    monkeypatch.setattr(bank, "count_orders", lambda: 1 / 0)
    service.create_routine("report", task="shop.tasks.report", cron="0 3 * * *", timezone="UTC", max_attempts=2)
    run_due("2026-03-02T03:00:00+00:00")
    assert_ran("report", at="2026-03-02T03:00:00+00:00")


@pytest.mark.routines_clock("2026-03-02T02:59:00")
def test_without_an_offset(routines_clock):
    pass


@pytest.mark.routines_clock(2026, 3, 2)
def test_with_numbers(routines_clock):
    pass
"""


def blocks(kind: str) -> list[str]:
    return [text for found, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")) if found == kind]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The page's project; each block says in its first line which file it is."""
    files = dict(text.removeprefix("# ").split("\n", 1) for text in blocks("python"))
    assert len(files) == len(blocks("python")), "two blocks say that they are the same file"
    files |= {"project_settings.py": SETTINGS, "project_celery.py": CELERY, "shop/__init__.py": "", "pytest.ini": ""}
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def run(project: Path, *command: str) -> tuple[int, str]:
    told = {"DJANGO_SETTINGS_MODULE": "project_settings", "PYTHONPATH": f"{project}{os.pathsep}{ROOT}"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "ROUTINES_", "COV_"))}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", *command], cwd=project, env=kept | told, capture_output=True, text=True
    )
    return done.returncode, done.stdout + done.stderr


def test_the_tests_of_the_page_pass(project: Path) -> None:
    code, printed = run(project, "pytest", "-q", "--strict-markers", "-p", "no:cacheprovider", "-p", "no:xdist")
    assert code == 0, printed
    tests = sum(len(re.findall(r"^def test_", text, re.MULTILINE)) for text in blocks("python"))
    assert f"{tests + 2} passed" in printed, "one of them has three cases"


def test_the_test_case_of_the_page_passes_without_pytest(project: Path) -> None:
    """Where it is not installed, importing it fails."""
    (project / "pytest.py").write_text("raise ImportError('not installed')", encoding="utf-8")
    code, printed = run(project, "django", "test", "shop")
    assert code == 0, printed
    assert "Ran 2 tests" in printed


def test_a_failing_assertion_prints_what_the_page_shows(project: Path) -> None:
    (project / "test_that_fails.py").write_text(FAILS, encoding="utf-8")
    code, printed = run(project, "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "test_that_fails.py")
    assert code == 1
    (shown,) = blocks("text")
    lines = [line.removeprefix("E").strip() for line in printed.splitlines()]
    assert [line for line in shown.splitlines() if line not in lines] == [], printed
    for given in ("at: '2026-03-02T02:59:00'", "routines_clock: (2026, 3, 2)"):
        assert any(f"{given} is not accepted: give a moment with its offset" in line for line in lines), printed
