"""`manage.py routines export` and `import`."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import CommandError

from routines_app import service
from routines_app.models import Routine, ScheduleChange
from routines_app.verbs.declare import declare_routine
from tests.integration.conftest import NOTE
from tests.integration.management.commands.test_routines import routines

pytestmark = pytest.mark.django_db

Make = Callable[..., Routine]
FILE = f"""\
format: 1
pools:
  db:
    max_concurrent: 3
routines:
  nightly:
    task: {NOTE}
    kwargs:
      shop: 7
    every: 1d
    pool: db
  report:
    task: {NOTE}
    every: 2h
"""
PLAN = f"""\
+ pool db
    max_concurrent: 3
+ routine nightly
    task: {NOTE}
    kwargs: {{"shop": 7}}
    every: 1d
    pool: db
~ routine report
    every: 1h → 2h
    timeout: 5m → -
2 to create, 1 to change, 0 to archive, 0 unchanged
"""


@pytest.fixture
def file(tmp_path: Path, make: Make) -> str:
    make("report", every="1h", timeout_ms="5m")
    path = tmp_path / "routines.yaml"
    path.write_text(FILE, encoding="utf-8")
    return str(path)


def answering(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def test_export_prints_or_writes_a_file(make: Make, tmp_path: Path) -> None:
    make("report", every="1h", tags=["shop"])
    service.archive_routine(make("old"))
    declare_routine("of the code", {"task": NOTE, "every": "1h"}, "shop")
    text = f"format: 1\nroutines:\n  report:\n    tags:\n    - shop\n    task: {NOTE}\n    every: 1h\n"
    assert routines("export") == routines("export", "--tag", "shop") == routines("export", "report") == text
    path = tmp_path / "routines.json"
    assert routines("export", "--output", str(path)) == f"{path}: 1 routines, 0 rotations\n"
    assert json.loads(path.read_text()) == service.export_routines()
    assert json.loads(routines("export", "--format", "json")) == service.export_routines()
    every = json.loads(routines("export", "--with-archived", "--with-declared", "--format", "json"))
    assert list(every["routines"]) == ["of the code", "old", "report"]
    with pytest.raises(CommandError, match="cannot be written"):
        routines("export", "--output", str(tmp_path / "nowhere" / "x"))
    with pytest.raises(CommandError, match="no routine"):
        routines("export", "nobody")


def test_a_dry_run_shows_the_plan_and_writes_nothing(file: str) -> None:
    assert routines("import", file, "--dry-run") == PLAN
    assert Routine.objects.count() == 1


def test_it_asks_and_does_what_it_has_shown(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answering("n\n", monkeypatch)
    assert routines("import", file) == PLAN + "nothing is imported\n"
    answering("", monkeypatch)  # nobody there
    assert routines("import", file).endswith("nothing is imported\n")
    assert Routine.objects.count() == 1
    answering("y\n", monkeypatch)
    assert routines("import", file) == PLAN + "imported: 2 created, 1 changed, 0 archived\n"
    assert Routine.objects.get(name="report").interval_ms == 7_200_000
    change = ScheduleChange.objects.get(routine_name="nightly")
    assert ("command line" in change.actor, change.reason) == (True, "imported from routines.yaml")
    assert routines("import", file) == "0 to create, 0 to change, 0 to archive, 3 unchanged\n"


def test_programs_read_the_plan_as_json(file: str) -> None:
    plan = json.loads(routines("import", file, "--yes", "--json", "--archive-missing"))
    assert plan["counts"] == {"create": 2, "change": 1, "archive": 0, "unchanged": 0}
    assert plan["entries"][2]["changes"]["every"] == {"from": "1h", "to": "2h"}
    assert Routine.objects.count() == 2


def test_the_standard_input_is_read_and_cannot_answer_too(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments in (["-"], [file, "--json"]):
        with pytest.raises(CommandError, match="--yes or --dry-run"):
            routines("import", *arguments)
    answering(FILE, monkeypatch)
    assert "imported: 2 created, 1 changed" in routines("import", "-", "--yes")


def test_what_is_missing_is_archived_if_asked(file: str, make: Make) -> None:
    make("old")
    assert "- routine old (archived)" in routines("import", file, "--yes", "--archive-missing", "--reason", "by git")
    assert ScheduleChange.objects.get(kind="archived").reason == "by git"


def test_every_problem_is_shown_and_nothing_is_imported(tmp_path: Path, make: Make) -> None:
    path = tmp_path / "routines.json"
    data = {"format": 1, "routines": {"good": {"task": NOTE}, "bad": {"task": "no.such", "every": "soon"}}}
    path.write_text(json.dumps(data))
    for how in ("--dry-run", "--yes"):
        with pytest.raises(CommandError) as refused:
            routines("import", str(path), how)
        assert "nothing is imported, 2 problems:" in str(refused.value)
        assert "routines[bad].task" in str(refused.value)
        assert "routines[bad].every" in str(refused.value)
    assert not Routine.objects.exists()


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a: [1"])
def test_a_file_that_cannot_be_read_is_said(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "routines.yml"
    path.write_bytes(content)
    with pytest.raises(CommandError, match=r"cannot be read|give YAML"):
        routines("import", str(path), "--yes")
    with pytest.raises(CommandError, match="cannot be read"):
        routines("import", str(tmp_path / "nowhere"), "--yes")


def test_tasks_that_only_workers_know_are_taken_if_asked(tmp_path: Path, make: Make) -> None:
    path = tmp_path / "routines.json"
    path.write_text(json.dumps({"format": 1, "routines": {"far": {"task": "far.away"}}}))
    assert "1 created" in routines("import", str(path), "--yes", "--allow-unknown-task")


def test_a_plan_turns_no_line_around(make: Make, tmp_path: Path) -> None:
    make("report", kwargs={"shop": "a\u202eb"})
    file = tmp_path / "routines.json"
    entry = {"task": NOTE, "kwargs": {"shop": "c\u202ed\x1b[2J é"}, "description": "e\u202ef"}
    file.write_text(json.dumps({"format": 1, "routines": {"report": entry}}))
    plan = routines("import", str(file), "--dry-run")
    assert all(line.isprintable() for line in plan.splitlines())
    assert "a\\u202eb" in plan
