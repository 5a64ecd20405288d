"""Nobody reads this machine's time of day: the ledger has a time of its own, and wall clocks are stepped."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import routines_app

PACKAGE = Path(routines_app.__file__).parent
READERS = {
    "protocol/ledger/clock.py": {"time.time"},  # compares it, and has no other while the database was never reached
    "models/ledger_time.py": {"timezone.now"},  # until the app is ready
    "models/routine.py": {"django.utils.timezone.now"},  # a default that the service never uses
    "beat/old_beat.py": {"datetime.now"},  # when another's beat sent something, by the clock that it went by
    "execution/check_ins.py": {"time.time"},  # Sentry reckons the duration from the same clock
    "coordination/monitors.py": {"time.time"},  # an event has the time of its machine, as Celery's own have
    "execution/retries.py": {"datetime.now"},  # an eta is reckoned from the clock that the task sees
    "testing/frozen.py": {"datetime.now"},  # where a clock of a test stands that was given no time
}
NAMES = {
    *(f"time.{name}" for name in ("time", "time_ns", "localtime", "gmtime", "strftime", "ctime")),
    *(f"datetime.{name}" for name in ("now", "utcnow", "today")),
    *("date.today", "timezone.now", "timezone.localdate", "functions.Now", "auto_now", "auto_now_add"),
}


def readings(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
            yield f"{node.value.id if isinstance(node.value, ast.Name) else node.value.attr}.{node.attr}"
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.keyword):
            yield node.arg or ""


def wall_readings(source: str) -> set[str]:
    return {found for found in readings(source) if found in NAMES or found.endswith(("timezone.now", "functions.Now"))}


def test_only_the_ledgers_clock_reads_the_wall_clock() -> None:
    found: dict[str, set[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith("migrations/") and (names := wall_readings(path.read_text(encoding="utf-8"))):
            found[name] = names
    assert found == READERS


@pytest.mark.parametrize(
    "line",
    [
        "x = time.time()",
        "from time import time",
        "datetime.datetime.now(UTC)",
        "from django.utils.timezone import now",
        "timezone.now()",
        "models.DateTimeField(auto_now=True)",
        "from django.db.models.functions import Now",
    ],
)
def test_such_a_reading_would_be_found(line: str):
    assert wall_readings(line)
