"""The project's settings, as a process has them that is told nothing: closed."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
NAMES = ["DEBUG", "ALLOWED_HOSTS", "SECRET_KEY", "CELERY_BROKER_URL", "REDIS_URL"]
TELL = f"""
import json
from project import settings
print(json.dumps({{name: getattr(settings, name) for name in {NAMES}}}))
"""


def told(directory: Path, **environment: str) -> dict[str, Any]:
    """What the settings say in a new process whose database is in that directory."""
    own = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "DATABASE_URL": f"sqlite:///{directory}/db.sqlite3"}
    done = subprocess.run(
        [sys.executable, "-c", TELL], env=own | environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_what_nobody_asked_for_is_off(tmp_path: Path) -> None:
    """No DEBUG, no other host, a key that nobody knows, and leases beside the broker."""
    found = told(tmp_path)
    assert found["DEBUG"] is False
    assert found["ALLOWED_HOSTS"] == ["127.0.0.1", "localhost", "[::1]"]
    assert len(found["SECRET_KEY"]) >= 50
    assert found["SECRET_KEY"] != told(tmp_path.parent)["SECRET_KEY"], "it is everybody's"
    assert found["CELERY_BROKER_URL"] != found["REDIS_URL"]


def test_the_environment_opens_what_it_names(tmp_path: Path) -> None:
    """And a key from there is kept in no file: several machines share it."""
    given = {"DEBUG": "1", "ALLOWED_HOSTS": "a.example,b.example", "SECRET_KEY": "ours"}
    found = told(tmp_path, **given, BROKER_URL="redis://b/0", REDIS_URL="redis://r/1")
    assert found == {
        "DEBUG": True,
        "ALLOWED_HOSTS": ["a.example", "b.example"],
        "SECRET_KEY": "ours",
        "CELERY_BROKER_URL": "redis://b/0",
        "REDIS_URL": "redis://r/1",
    }
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("debug", ["", "0", "true", "yes"])
def test_only_one_word_turns_debug_on(tmp_path: Path, debug: str) -> None:
    assert told(tmp_path, DEBUG=debug, SECRET_KEY="ours")["DEBUG"] is False


def test_processes_that_start_together_agree_on_a_key(tmp_path: Path) -> None:
    """Web, worker and beat: a session of one must be one of the others. The next start has the same."""
    with ThreadPoolExecutor(6) as starts:
        keys = {found["SECRET_KEY"] for found in starts.map(told, [tmp_path] * 6)}
    assert keys == {told(tmp_path)["SECRET_KEY"]}
    (file,) = tmp_path.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
