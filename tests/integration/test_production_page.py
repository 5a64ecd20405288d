"""docs/production.md: its commands print what it shows, its probes are commands that there are, its list is whole."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import call_command
from pytest_django import Settings

from routines_app.checks import _database_messages
from routines_app.models import Role
from routines_app.sign import main
from routines_app.verbs.doctor.doctor import CHECKS
from routines_app.verbs.health.sign import Sign
from tests.integration.conftest import Time
from tests.integration.verbs.health.nodes import seen
from tests.pages import MANAGE, ROOT, Reader, blocks, text_of, typed

NAME = "docs/production.md"
PAGE = text_of(NAME)
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())


def asked(command: list[str]) -> tuple[int, list[str]]:
    """The exit code, and the lines."""
    out = StringIO()
    try:
        call_command(*command, stdout=out)
    except SystemExit as left:
        return int(left.code or 0), out.getvalue().splitlines()
    return 0, out.getvalue().splitlines()


def test_its_commands_print_what_it_shows(ledger: None, time: Time) -> None:
    """One beat is there, and no worker."""
    seen("beat@a:1", time, seconds=20)
    shown = [each for block in blocks(NAME, "console") for each in typed(block.text)]
    assert [command.removeprefix(MANAGE) for command, _ in shown] == [
        "routines health --all",
        "routines health --beat --json",
        "routines doctor",
    ]
    for command, printed in shown:
        _, found = asked(command.removeprefix(MANAGE).split())
        assert not printed or found == printed


def test_its_probes_go_by_the_sign(tmp_path: Path, settings: Settings) -> None:
    """Each is a command that there is, reads the file that is written, and says 0 when there is one."""
    (block,) = (block for block in blocks(NAME, "yaml") if block.section == "Probes")
    probes = yaml.safe_load(block.text)
    commands = [probes[name]["exec"]["command"] for name in ("livenessProbe", "startupProbe")]
    commands += [COMPOSE["services"][name]["healthcheck"]["test"][1:] for name in ("beat-1", "worker-1")]
    settings.ROUTINES = settings.ROUTINES | {"HEARTBEAT_FILE": str(tmp_path / "routines")}
    asks = [[word.replace("/tmp/routines", str(tmp_path / "routines")) for word in command[3:]] for command in commands]
    assert all(command[:3] == ["python", "-m", "routines_app.sign"] for command in commands)
    assert [main(ask) for ask in asks] == [1, 1, 1, 1], "nobody has left a sign"
    for role in Role:
        Sign(role).leave()
    assert [main(ask) for ask in asks] == [0, 0, 0, 0]


def test_its_other_blocks_can_be_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the container says reaches the setting."""
    monkeypatch.setenv("HEARTBEAT_FILE", "/tmp/routines")
    known = Reader(monkeypatch).walk(NAME, leave_out=lambda block: block.language == "console")
    assert known["ROUTINES"] == {"HEARTBEAT_FILE": "/tmp/routines"}
    assert not list(_database_messages(known["DATABASES"]["default"]))


def test_its_deployments_start_what_there_is() -> None:
    (block,) = (block for block in blocks(NAME, "yaml") if block.section == "Kubernetes")
    found: list[dict[str, Any]] = list(yaml.safe_load_all(block.text))
    commands = [each["spec"]["template"]["spec"]["containers"][0]["command"] for each in found]
    assert [command[:4] for command in commands] == [["celery", "-A", "project", role] for role in ("beat", "worker")]
    assert commands[0][4:] == ["-S", "routines"]
    assert all(
        each["spec"]["selector"]["matchLabels"] == each["spec"]["template"]["metadata"]["labels"] for each in found
    )


def test_processes_are_told_where_to_leave_it() -> None:
    """What the demo's settings read, and the page's container too."""
    environment: dict[str, Any] = COMPOSE["services"]["beat-1"]["environment"]
    assert environment["HEARTBEAT_FILE"] == "/tmp/routines"
    assert "name: HEARTBEAT_FILE, value: /tmp/routines" in PAGE


@pytest.mark.parametrize("name", [check.name for check in CHECKS])
def test_each_check_of_the_doctor_is_on_the_page(name: str) -> None:
    table = PAGE.partition("| check | says |")[2].partition("\n\n")[0]
    assert f"`{name}`" in table
