"""`manage.py routines sync` and `give-back`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from django.core.management import CommandError

from routines_app import service
from routines_app.models import Routine, ScheduleChange
from tests.acceptance.databases import ROOT, manage
from tests.integration.conftest import NOTE, Code
from tests.integration.management.commands.test_routines import routines

pytestmark = pytest.mark.usefixtures("db", "redis_url")


def exit_code(*arguments: str) -> int:
    try:
        routines(*arguments)
    except SystemExit as left:
        return int(left.code or 0)
    return 0


def test_sync_says_what_it_does(code: Code) -> None:
    code.says(report={"cron": "0 3 * * *"})
    assert routines("sync").splitlines() == ["create      report", "1 created"]
    assert routines("sync") == "1 as declared\n"
    code.says(report={"cron": "0 4 * * *"})
    assert routines("sync", "--dry-run").splitlines() == [
        "change      report",
        "            cron: 0 3 * * * → 0 4 * * *",
        "Nothing is written: 1 changed",
    ]
    assert Routine.objects.get().cron == "0 3 * * *"
    code.says()
    assert routines("sync", "--archive-now").splitlines() == [
        "archive     report: no longer declared",
        "1 gone from code",
    ]
    assert Routine.objects.get().status == "ARCHIVED"


def test_check_exits_with_one_when_there_is_a_difference(code: Code) -> None:
    """And writes nothing; for a pipeline."""
    code.says(report={"cron": "0 3 * * *"})
    assert exit_code("sync", "--check") == 1
    assert not Routine.objects.exists()
    assert exit_code("sync", "--dry-run") == 0
    assert exit_code("sync") == 0
    assert exit_code("sync", "--check") == 0
    service.update_routine("report", cron="0 5 * * *", actor="ada")
    assert exit_code("sync", "--check") == 0, "an edit that stays is no difference that a sync would end"
    code.says()
    assert exit_code("sync", "--check") == 1


def test_a_refused_declaration_is_an_exit_code_too(code: Code) -> None:
    code.says(bad={"cron": "never"}, good={"cron": "0 3 * * *"})
    assert exit_code("sync") == 1
    assert Routine.objects.get().name == "good"


def test_a_wrong_declaration_stops_no_command(tmp_path: Path) -> None:
    """Neither `migrate`, which a deployment needs to mend it, nor the sync of the others; that says so by its code."""
    wrong = {"bad": {"task": NOTE, "cron": "never"}, "good": {"task": NOTE, "cron": "0 3 * * *"}}
    (tmp_path / "wrong_settings.py").write_text(f"from tests.settings import *\nROUTINES_DECLARED = {wrong!r}\n")
    environment = {
        "DJANGO_SETTINGS_MODULE": "wrong_settings",
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]),
        "ROUTINES_TEST_DATABASE_URL": f"sqlite:///{tmp_path / 'ledger.sqlite3'}",
    }
    migrated = manage(environment, "migrate", "--verbosity=1")
    assert migrated.returncode == 0, migrated.stderr
    assert "routines.W020" in migrated.stderr
    assert "Declared in code: create good" in migrated.stdout
    synced = manage(environment, "routines", "sync")
    assert (synced.returncode, "1 refused, 1 as declared" in synced.stdout) == (1, True), synced.stderr


def test_sync_adopts_when_it_is_told_to(code: Code) -> None:
    """The history has who said so."""
    service.create_routine("report", task=NOTE, cron="0 5 * * *")
    code.says(report={"cron": "0 3 * * *"})
    assert exit_code("sync") == 1
    assert routines("sync", "--adopt").splitlines() == ["adopt       report", "1 adopted"]
    assert (Routine.objects.get().cron, Routine.objects.get().is_declared_in_code) == ("0 5 * * *", True)
    assert "command line" in ScheduleChange.objects.latest("id").actor


def test_sync_tells_programs(code: Code) -> None:
    code.says(report={"every": "1h"})
    (step,) = json.loads(routines("sync", "--json"))
    assert (step["name"], step["act"], step["changes"]["interval_ms"]["after"]) == ("report", "create", 3_600_000)
    assert json.loads(routines("sync", "--json")) == []


def test_fields_are_given_back_by_name(code: Code) -> None:
    code.says(report={"cron": "0 3 * * *", "max_attempts": 2})
    service.sync_declared()
    service.update_routine("report", cron="0 5 * * *", max_attempts=7, queue="slow")
    assert routines("give-back", "report", "cron").startswith("report: cron given back to code; next look")
    told = json.loads(routines("give-back", "report", "--reason", "over", "--json"))
    assert told == {"name": "report", "given_back": ["max_attempts", "queue"]}
    change = ScheduleChange.objects.latest("id")
    assert (change.reason, "(command line)" in change.actor) == ("given back to code: over", True)
    assert "nothing given back" in routines("give-back", "report")
    with pytest.raises(CommandError, match="did you mean"):
        routines("give-back", "report", "cro")
