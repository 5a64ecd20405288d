"""`manage.py routines health`: exit codes, for probes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from io import StringIO
from pathlib import Path
from threading import Event

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from routines_app.management.subcommands import health
from routines_app.models import Role
from routines_app.protocol.ledger.clock import steady_seconds
from routines_app.verbs.health import health as verb
from routines_app.verbs.health.sign import Sign
from tests.integration.conftest import Time
from tests.integration.verbs.health.nodes import seen

ROOT = Path(__file__).parents[4]


def asked(*arguments: str) -> tuple[int, str]:
    """The exit code, and what was printed."""
    out = StringIO()
    try:
        call_command("routines", "health", *arguments, stdout=out)
    except SystemExit as left:
        return int(left.code or 0), out.getvalue()
    return 0, out.getvalue()


def test_it_exits_with_0_or_1_and_a_line(ledger: None, time: Time) -> None:
    seen("beat@a:1", time)
    code, said = asked("--beat")
    assert (code, said.count("\n")) == (0, 1)
    assert said.startswith("healthy: 1 beat, seen ")
    code, said = asked("--worker")
    assert (code, said) == (1, "unhealthy: no worker has reported itself in the last 3m\n")
    assert asked("--all") == asked()
    assert asked()[0] == 1


def test_json_says_the_same(ledger: None) -> None:
    code, said = asked("--worker", "--json")
    assert code == 1
    assert json.loads(said) == {
        "healthy": False,
        "why": "no worker has reported itself in the last 3m",
        "workers": {"alive": 0, "seen_at": None},
    }


def test_here_goes_by_the_sign(tmp_path: Path, settings: Settings) -> None:
    """Without a database: none is there for this test."""
    settings.ROUTINES = settings.ROUTINES | {"HEARTBEAT_FILE": str(tmp_path / "alive")}
    assert asked("--here", "--beat")[0] == 1
    Sign(Role.BEAT).leave()
    code, said = asked("--here", "--beat", "--max-age", "30")
    assert (code, said.partition(" life ")[0]) == (0, "healthy: the beat left its last sign of")


@pytest.mark.parametrize("given", ["soon", "nan", "1e300"])
def test_an_age_is_seconds(given: str) -> None:
    with pytest.raises(CommandError, match="give a number of seconds"):
        call_command("routines", "health", "--max-age", given)


def test_an_age_below_a_report_is_refused() -> None:
    with pytest.raises(CommandError, match=r"^max_age: 5.0 is not accepted: give more than 60 seconds"):
        call_command("routines", "health", "--beat", "--max-age", "5")


def test_one_or_the_other() -> None:
    with pytest.raises(CommandError, match="not allowed with"):
        call_command("routines", "health", "--beat", "--worker")


def test_whatever_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is 1, and why."""
    hangs, thawed = Event(), Event()

    def hang(*_: object, **__: object) -> None:
        hangs.set()
        thawed.wait(60)

    monkeypatch.setattr(verb, "_by_ledger", hang)
    monkeypatch.setattr(health, "SECONDS", 0.1)
    code, said = asked("--beat")
    assert hangs.wait(30), "it was not asked"
    thawed.set()
    assert (code, said) == (1, "unhealthy: the database could not be asked: no answer within 0.1 s\n")


@pytest.mark.parametrize("scheme", ["postgres", "mysql"])
def test_a_frozen_database_does_not_hold_a_probe_up(scheme: str, tmp_path: Path) -> None:
    """It takes the connection, as the kernel does for a process that has stopped. Liveness does not even ask it."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"{scheme}://ada@127.0.0.1:{silent.getsockname()[1]}/routines"
        settings = {"HEARTBEAT_FILE": str(tmp_path / "alive")}
        (tmp_path / "alive.worker").write_text(f"{int(steady_seconds() * 1000):020d}\n")
        fleet = manage(url, {}, "--beat")
        here = manage(url, settings, "--worker", "--here")
    assert (fleet.returncode, fleet.stdout) == (
        1,
        "unhealthy: the database could not be asked: no answer within 5 s\n",
    )
    assert (here.returncode, here.stdout[:8]) == (0, "healthy:")


@pytest.mark.parametrize("age", ["0", "-5"])
def test_an_age_is_more_than_nothing(age: str) -> None:
    with pytest.raises(CommandError, match="give more than 0 seconds"):
        call_command("routines", "health", "--here", "--beat", "--max-age", age)


def test_an_error_of_another_app_restarts_nobody(tmp_path: Path) -> None:
    """Django's admin wants its middleware; with that missing every other command ends before it has begun."""
    (tmp_path / "alive.beat").write_text(f"{int(steady_seconds() * 1000):020d}\n")
    settings = {"HEARTBEAT_FILE": str(tmp_path / "alive")}
    broken = {"MIDDLEWARE": []}
    here = manage("sqlite:///:memory:", settings, "--here", "--beat", **broken)
    assert (here.returncode, here.stdout[:8]) == (0, "healthy:"), here.stderr
    other = manage("sqlite:///:memory:", settings, subcommand="list", **broken)
    assert (other.returncode, "admin.E4" in other.stderr) == (1, True)


def manage(
    url: str, settings: dict[str, str], *arguments: str, subcommand: str = "health", **others: object
) -> subprocess.CompletedProcess[str]:
    """A process of its own, as a probe starts it; one that hangs is an error of the test."""
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "ROUTINES_TEST_DATABASE_URL": url,
        "ROUTINES_TEST_SETTINGS": json.dumps({"ROUTINES": settings} | others),
    }
    command = [sys.executable, "manage.py", "routines", subcommand, *arguments]
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120)
