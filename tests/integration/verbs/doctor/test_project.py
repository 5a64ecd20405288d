"""The doctor about the project's settings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import ConnectionHandler, connection
from pytest_django import Settings

from routines_app.verbs.doctor import project
from routines_app.verbs.doctor.answers import Answer
from routines_app.verbs.doctor.project import OURS
from tests.integration.verbs.doctor.asking import answer, asked, configured


@pytest.fixture
def entries(transactional_db: None) -> Iterator[None]:
    """The table of django-celery-beat, as far as it matters: two entries, Celery's own, and one that is off."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE django_celery_beat_periodictask (task varchar(200), enabled boolean NOT NULL)")
        for task, enabled in (("a", True), ("b", True), ("celery.backend_cleanup", True), ("c", False)):
            cursor.execute("INSERT INTO django_celery_beat_periodictask VALUES (%s, %s)", [task, enabled])
        yield
        cursor.execute("DROP TABLE django_celery_beat_periodictask")


def test_only_our_scheduler(db: None) -> None:
    """Named by the settings, or by `-S` when a beat is started."""
    assert answer("scheduler") == Answer("ok", "only ours: beats are started with -S routines")
    for name in OURS:
        with configured(beat_scheduler=name):
            assert answer("scheduler") == Answer("ok", "only ours")


@pytest.mark.parametrize(
    "other", ["django_celery_beat.schedulers:DatabaseScheduler", "redbeat.RedBeatScheduler", "redbeat"]
)
def test_another_scheduler_is_configured(db: None, other: str) -> None:
    with configured(beat_scheduler=other):
        level, found, advice = answer("scheduler")
    assert (level, found) == ("warning", f"beat_scheduler is {other}")
    assert "'routines'" in advice


def test_entries_that_another_beat_would_fire(entries: None) -> None:
    level, found, _ = answer("scheduler")
    assert (level, found) == ("warning", "django-celery-beat has 2 enabled entries")
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_celery_beat_periodictask WHERE task = 'b'")
    assert answer("scheduler").found == "django-celery-beat has 1 enabled entry"
    with connection.cursor() as cursor:
        cursor.execute("UPDATE django_celery_beat_periodictask SET enabled = false")
    assert answer("scheduler").level == "ok"


def test_entries_in_another_database(db: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where the ledger has one of its own; a third that cannot be asked is none of ours."""
    places = {"default": tmp_path / "ours", "nowhere": "/nowhere/at/all", "theirs": tmp_path / "theirs"}
    engine = "django.db.backends.sqlite3"  # in files: Django closes no connection to a database in memory
    handler = ConnectionHandler({alias: {"ENGINE": engine, "NAME": str(place)} for alias, place in places.items()})
    monkeypatch.setattr(project, "connections", handler)
    monkeypatch.setattr(project, "ledger_alias", lambda: "default")
    assert next(project.scheduler()).level == "ok"
    with handler["theirs"].cursor() as cursor:
        cursor.execute("CREATE TABLE django_celery_beat_periodictask (task varchar(200), enabled boolean NOT NULL)")
        cursor.execute("INSERT INTO django_celery_beat_periodictask VALUES ('a', true)")
    assert next(project.scheduler()).found == "django-celery-beat has 1 enabled entry"
    handler.close_all()


def test_system_checks_that_find_nothing(ledger: None) -> None:
    assert answer("system checks") == Answer("ok", "they find nothing")


def test_each_message_of_a_system_check_is_an_answer(ledger: None, settings: Settings) -> None:
    """With its number; one that the project has silenced is not."""
    settings.USE_TZ = False
    with configured(worker_prefetch_multiplier=4):
        found = asked("system checks")
        settings.SILENCED_SYSTEM_CHECKS = ["routines.W003", "routines.E002"]
        assert answer("system checks").level == "ok"
    assert {(each.level, each.found.partition(":")[0]) for each in found} == {
        ("error", "routines.E002"),
        ("warning", "routines.W003"),
    }
    assert all(each.advice for each in found)
