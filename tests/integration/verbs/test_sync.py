"""Bringing what code declares into the ledger, by a command or after `migrate`."""

from __future__ import annotations

import io
import logging
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from routines_app import migrated, service
from routines_app.core.words import RoutineStatus
from routines_app.migrated import sync_after_migrate
from routines_app.models import Routine, ScheduleChange
from routines_app.service import Act
from routines_app.verbs import declarations, sync
from routines_app.verbs.declarations import code_scope
from routines_app.verbs.declare import declare_routine
from tests.integration.conftest import NOTE, Code

pytestmark = pytest.mark.usefixtures("db", "redis_url")


def synced(**options: bool) -> dict[str, Act]:
    return {step.name: step.act for step in service.sync_declared(**options)}


def test_each_is_created_changed_brought_back_or_left_alone(code: Code) -> None:
    """The history names the code; a run without a difference writes nothing."""
    code.says(report={"every": "1h"}, other={"every": "1h"})
    assert synced() == {"report": Act.CREATE, "other": Act.CREATE}
    assert set(Routine.objects.values_list("declared_in", flat=True)) == {code_scope()}
    assert synced() == {"report": Act.NOTHING, "other": Act.NOTHING}

    service.archive_routine("other")
    code.says(report={"every": "2h"}, other={"every": "1h"})
    assert synced() == {"report": Act.CHANGE, "other": Act.BRING_BACK}
    assert Routine.objects.get(name="other").status == RoutineStatus.ACTIVE
    assert set(ScheduleChange.objects.filter(routine_name="report").values_list("actor", flat=True)) == {"code (sync)"}


def test_a_dry_run_shows_what_would_be_done_and_writes_nothing(code: Code) -> None:
    """With the values, masked where they are secret; a parent that would be made by the same sync is no mistake."""
    code.says(report={"every": "1h", "kwargs": {"token": "s3cret"}})
    service.sync_declared()
    code.says(report={"every": "2h", "kwargs": {"token": "0ther"}}, child={"every": "1h", "parent": "top"}, top={})
    before = Routine.objects.values_list("version", flat=True).get()
    steps = {step.name: step for step in service.sync_declared(dry_run=True)}
    assert {name: step.act for name, step in steps.items()} == {
        "report": Act.CHANGE,
        "child": Act.CREATE,
        "top": Act.CREATE,
    }
    assert steps["report"].changes["interval_ms"] == (3_600_000, 7_200_000)
    assert "s3cret" not in str(steps)
    assert "0ther" not in str(steps)
    assert Routine.objects.values_list("version", flat=True).get() == before


def test_a_parent_may_be_declared_below_its_child(code: Code) -> None:
    code.says(child={"every": "1h", "parent": "top"}, top={})
    assert synced() == {"child": Act.CREATE, "top": Act.CREATE}
    assert Routine.objects.get(name="child").parent == Routine.objects.get(name="top")


def test_an_edit_whose_codes_value_changed_is_noted(code: Code) -> None:
    """That is all that there is to do about it."""
    code.says(report={"every": "1h"})
    service.sync_declared()
    service.update_routine("report", every="5h", actor="ada")
    code.says(report={"every": "2h"})
    assert synced() == {"report": Act.NOTE}
    assert service.differences(Routine.objects.get()) == {"interval_ms": 7_200_000}
    assert synced() == {"report": Act.NOTHING}


def test_one_bad_declaration_does_not_stop_the_others(code: Code) -> None:
    """Neither what `check` finds nor what only the database knows."""
    code.says(bad={"every": "often"}, unpooled={"every": "1h", "pool": "nowhere"}, good={"every": "1h"})
    steps = {step.name: step for step in service.sync_declared()}
    assert {name: step.act for name, step in steps.items()} == {
        "bad": Act.REFUSE,
        "unpooled": Act.REFUSE,
        "good": Act.CREATE,
    }
    assert "tests/integration/conftest.py:" in steps["bad"].why
    assert "no pool has that name" in steps["unpooled"].why


def test_what_is_gone_from_code_is_left_to_the_beats_or_archived_at_once(code: Code, settings: Settings) -> None:
    """Another release may still run that declares it; what else is declared is not asked about."""
    declare_routine("theirs", {"task": NOTE, "every": "1h"}, "shop")
    code.says(report={"every": "1h"}, stays={"every": "1h"})
    service.sync_declared()
    code.says(stays={"every": "1h"})
    (gone,) = service.differing(service.sync_declared())
    assert (gone.name, gone.act, gone.why) == (
        "report",
        Act.ARCHIVE,
        "no longer declared: beats archive it after 10m",
    )
    assert Routine.objects.get(name="report").status == RoutineStatus.ACTIVE
    settings.ROUTINES = settings.ROUTINES | {"SYNC_DECLARED": False}
    (gone,) = service.differing(service.sync_declared())
    assert gone.why == "no longer declared: archive it with --archive-now", "no beat does"

    assert synced(archive_now=True) == {"stays": Act.NOTHING, "report": Act.ARCHIVE}
    assert Routine.objects.get(name="report").status == RoutineStatus.ARCHIVED
    assert Routine.objects.get(name="theirs").status == RoutineStatus.ACTIVE


def test_what_a_beat_archives_meanwhile_does_not_hide_what_was_done(
    code: Code, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The steps of all the others are told, and this one's why."""
    code.says(report={"every": "1h"})
    service.sync_declared()
    code.says(new={"every": "1h"})
    note = sync.note_declared

    def after_a_beat(*given: Any) -> int:
        service.archive_routine("report")
        return note(*given)

    monkeypatch.setattr(sync, "note_declared", after_a_beat)
    assert synced(archive_now=True) == {"new": Act.CREATE, "report": Act.REFUSE}


def test_a_sync_says_which_edit_is_in_the_way(code: Code) -> None:
    code.says(report={"every": "1h"})
    service.sync_declared()
    service.update_routine("report", max_interval_ms="2h", actor="ada")
    code.says(report={"every": "1h", "min_interval_ms": "3h", "max_interval_ms": "9h", "max_attempts": 2})
    (step,) = service.sync_declared(dry_run=True)
    assert (step.act, step.changes.keys()) == (Act.CHANGE, {"max_attempts"})
    assert step.why == "min_interval_ms cannot follow beside what people have changed: max_interval_ms"


def test_a_person_called_code_is_a_person(code: Code) -> None:
    """Also one whose changes are from before there was code to sync."""
    code.says(report={"every": "1h"})
    service.sync_declared()
    service.update_routine("report", max_attempts=4, actor="ada")
    ScheduleChange.objects.filter(actor="ada").update(actor="code")
    code.says(report={"every": "1h", "max_attempts": 2})
    service.sync_declared()
    assert Routine.objects.get().max_attempts == 4


def test_many_that_are_as_declared_cost_a_handful_of_statements(code: Code) -> None:
    code.says(**{f"r{number}": {"every": "1h"} for number in range(20)})
    service.sync_declared()
    with CaptureQueriesContext(connection) as asked:
        service.sync_declared()
    assert len(asked) <= 6


def migrate(**options: Any) -> str:
    out = io.StringIO()
    call_command("migrate", stdout=out, **options)
    return out.getvalue()


@pytest.mark.django_db(transaction=True)
def test_migrate_brings_what_code_declares(code: Code, settings: Settings) -> None:
    """And says so; unless it was told not to, or code declares nothing."""
    assert "Declared in code" not in migrate()
    code.says(report={"every": "1h"})
    settings.ROUTINES = settings.ROUTINES | {"SYNC_DECLARED": False}
    migrate()
    assert not Routine.objects.exists()
    settings.ROUTINES = settings.ROUTINES | {"SYNC_DECLARED": True}
    assert "Declared in code: create report" in migrate()
    assert Routine.objects.get().name == "report"
    settings.ROUTINES = settings.ROUTINES | {"SYNC_AT_MIGRATE": False}
    code.says(report={"every": "1h"}, other={"every": "1h"})
    migrate()
    assert Routine.objects.get().name == "report"
    assert "Declared in code" not in migrate()


@pytest.mark.django_db(transaction=True)
def test_migrate_changes_nothing_that_old_workers_run(code: Code) -> None:
    """They know neither new arguments nor a new task; an archived one stays archived. A sync does the rest."""
    code.says(report={"every": "1h"}, resting={"every": "1h"})
    service.sync_declared()
    service.archive_routine("resting")
    code.says(report={"every": "1h", "kwargs": {"new": 1}}, resting={"every": "1h"}, new={"every": "1h"})
    printed = migrate()
    assert "Declared in code: create new" in printed
    assert printed.count("Declared in code") == 1
    assert Routine.objects.get(name="report").kwargs == {}
    assert Routine.objects.get(name="resting").status == RoutineStatus.ARCHIVED
    assert synced() == {"report": Act.CHANGE, "resting": Act.BRING_BACK, "new": Act.NOTHING}


def test_a_flush_costs_a_few_statements_and_reads_no_files(
    code: Code, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It sends the signal of `migrate` too, in some suites after every test."""
    with CaptureQueriesContext(connection) as asked:
        sync_after_migrate(using="default")
    assert len(asked) == 0, "nothing is declared"
    code.says(report={"every": "1h"})
    sync_after_migrate(using="default")
    monkeypatch.setattr(migrated, "MigrationLoader", None)
    with CaptureQueriesContext(connection) as asked:
        sync_after_migrate(using="default")
    assert Routine.objects.get().name == "report"
    assert (len(asked), "is not synced" in caplog.text) == (3, False)


@pytest.mark.django_db(transaction=True)
def test_migrate_leaves_older_tables_and_other_databases_alone(code: Code, caplog: pytest.LogCaptureFixture) -> None:
    """On the way back there is no column to write to."""
    code.says(report={"every": "1h"})
    try:
        assert "Declared in code" not in migrate(app_label="routines", migration_name="0008_rotations")
    finally:
        MigrationExecutor(connection).migrate(MigrationExecutor(connection).loader.graph.leaf_nodes("routines"))
    sync_after_migrate(using="another")
    assert "not synced" not in caplog.text
    assert not Routine.objects.exists()


def test_migrate_survives_whatever_is_wrong_with_code(
    code: Code, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The database is migrated; what is wrong is said, and the rest is done."""
    monkeypatch.setattr(migrated, "_is_current", lambda using: True)
    code.says(bad={"every": "often"}, good={"every": "1h"})
    with caplog.at_level(logging.ERROR):
        sync_after_migrate(using="default")
    assert "declared routine 'bad' is refused: tests/integration/conftest.py:" in caplog.text
    assert Routine.objects.get().name == "good"

    def broken(name: str) -> None:
        raise ImportError("no torch here")

    monkeypatch.setattr(declarations, "autodiscover_modules", broken)
    with caplog.at_level(logging.ERROR):
        sync_after_migrate(using="default")
    assert "what code declares is not synced: no torch here" in caplog.text
