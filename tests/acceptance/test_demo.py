"""`make demo` as a newcomer sees it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.databases import ROOT
from tests.processes import stretched

pytestmark = pytest.mark.slow


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy without a .demo directory, so that the demo of whoever works here is left alone."""
    for name in ("manage.py", "project", "routines_app"):
        source = ROOT / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, tmp_path / name)
    return tmp_path


def test_the_demo_runs_every_routine_that_should_run(checkout: Path) -> None:
    """It stops by itself, its table shows every outcome that it was seeded for, and its exit code is 0."""
    ignored = ("REDIS_URL", "DATABASE_URL", "DJANGO_SETTINGS_MODULE")
    environment = {name: value for name, value in os.environ.items() if name not in ignored}
    environment |= {"SECONDS_TO_RUN": f"{min(stretched(25), 60):.0f}", "PYTHONPATH": str(checkout)}

    done = subprocess.run(
        [sys.executable, "-m", "project.demo"],
        cwd=checkout,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"http://127\.0\.0\.1:\d+/admin/ +login admin", done.stdout)
    assert "every routine that should have run did" in done.stdout
    row = {line.split()[0]: line for line in done.stdout.splitlines() if line.split()[1:]}
    assert " yes " in row["heartbeat"]
    assert "SUCCESS" in row["heartbeat"]
    assert "SKIPPED" in row["sync-inventory"]
    assert "PAUSED" in row["old-newsletter"]
