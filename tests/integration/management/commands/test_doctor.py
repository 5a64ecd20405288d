"""`manage.py routines doctor`: lines, JSON and exit codes."""

from __future__ import annotations

import json
import socket
from functools import partial
from io import StringIO

import pytest
from django.core.management import call_command

from routines_app import service
from routines_app.service import Finding, Level
from tests.integration.management.commands.test_health import manage


def asked(*arguments: str) -> tuple[int, str]:
    out = StringIO()
    try:
        call_command("routines", "doctor", *arguments, stdout=out)
    except SystemExit as left:
        return int(left.code or 0), out.getvalue()
    return 0, out.getvalue()


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[Finding]:
    found = [Finding(check="database", level=Level.OK, found="PostgreSQL 17", advice="")]
    monkeypatch.setattr(service, "doctor", lambda: found)
    return found


@pytest.mark.parametrize(
    ("level", "code", "strictly"),
    [(Level.OK, 0, 0), (Level.WARNING, 0, 1), (Level.UNKNOWN, 0, 1), (Level.ERROR, 1, 1)],
)
def test_exit_codes(found: list[Finding], level: Level, code: int, strictly: int) -> None:
    found.append(Finding(check="beats", level=level, found="?", advice=""))
    assert asked()[0] == code
    assert asked("--strict")[0] == strictly
    assert asked("--json", "--strict")[0] == strictly


def test_a_line_for_each(found: list[Finding]) -> None:
    found.append(Finding(check="redis", level=Level.WARNING, found="it is small", advice="make it larger"))
    assert asked()[1].splitlines() == [
        "ok       database  PostgreSQL 17",
        "warning  redis     it is small -> make it larger",
    ]


def test_json_is_stable(found: list[Finding]) -> None:
    found.append(Finding(check="redis", level=Level.ERROR, found="away", advice="start it"))
    assert json.loads(asked("--json")[1]) == [
        {"check": "database", "level": "ok", "found": "PostgreSQL 17", "advice": ""},
        {"check": "redis", "level": "error", "found": "away", "advice": "start it"},
    ]


def test_the_real_one(ledger: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is there: two errors. A busy machine may take its time."""
    monkeypatch.setattr(service, "doctor", partial(service.doctor, seconds=60))
    code, said = asked()
    assert code == 1
    assert "error    beats " in said
    assert "error    workers " in said
    assert "unknown" not in said


def test_a_frozen_database_is_told_soon(redis_url: str) -> None:
    """A process of its own, whose database takes the connection and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgres://ada@127.0.0.1:{silent.getsockname()[1]}/routines"
        done = manage(url, {"REDIS_URL": redis_url}, "--json", subcommand="doctor")
    findings = {each["check"]: each for each in json.loads(done.stdout)}
    assert done.returncode == 1
    assert findings["database"]["level"] == "error"
    assert findings["database"]["found"] == "could not be asked: no answer within 5 s"
    assert findings["beats"]["level"] == "unknown"
    assert findings["broker"]["level"] == findings["redis"]["level"] == "ok"
