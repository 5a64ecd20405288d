"""The sign of life on a process's own machine."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from celery import current_app, signals
from django.db import OperationalError
from pytest_django import Settings

from routines_app import service, sign
from routines_app.beat.loop import BeatLoop
from routines_app.core.errors import InvalidValue
from routines_app.execution import process
from routines_app.models import Role
from routines_app.sign import age_of
from routines_app.verbs.health import health as health_module
from routines_app.verbs.health.sign import Sign, path_of
from tests.processes import wait_for

BEAT = [Role.BEAT]
ROOT = Path(__file__).parents[4]


class Steady:
    """The machine's clock, which stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch) -> Steady:
    steady = Steady()
    monkeypatch.setattr(sign, "steady_seconds", steady)
    return steady


@pytest.fixture
def path(tmp_path: Path, settings: Settings) -> Path:
    """Where a beat leaves its sign."""
    settings.ROUTINES = settings.ROUTINES | {"HEARTBEAT_FILE": str(tmp_path / "alive")}
    return tmp_path / "alive.beat"


@pytest.fixture
def no_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks the ledger fails."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the ledger is asked")

    monkeypatch.setattr(health_module, "_by_ledger", refuse)


def test_without_the_setting_nothing_is_written(tmp_path: Path, settings: Settings) -> None:
    assert path_of(Role.BEAT) is None
    Sign(Role.BEAT).leave()
    before = threading.active_count()
    Sign(Role.WORKER).keep_leaving()
    assert threading.active_count() == before


def test_liveness_goes_by_the_sign_and_asks_no_server(path: Path, steady: Steady, no_ledger: None) -> None:
    """A database that is away restarts nobody."""
    assert service.health(roles=BEAT, here=True).why == f"no beat has left a sign of life in {path}"
    Sign(Role.BEAT).leave()
    steady.now += 179
    found = service.health(roles=BEAT, here=True)
    assert (found.healthy, found.why) == (True, "the beat left its last sign of life 2m 59s ago")
    steady.now += 2
    found = service.health(roles=BEAT, here=True)
    assert (found.healthy, found.why) == (False, "the beat left its last sign of life 3m 1s ago, more than 3m")


def test_the_fleet_is_judged_by_the_ledger_all_the_same(path: Path, no_ledger: None) -> None:
    Sign(Role.BEAT).leave()
    with pytest.raises(AssertionError, match="the ledger is asked"):
        service.health(roles=BEAT)


def test_a_sign_may_be_asked_to_be_younger_than_a_report(path: Path, steady: Steady) -> None:
    Sign(Role.BEAT).leave()
    steady.now += 41
    assert not service.health(roles=BEAT, here=True, max_age=timedelta(seconds=40)).healthy
    assert service.health(roles=BEAT, here=True, max_age=timedelta(seconds=42)).healthy


def test_an_age_that_a_healthy_beat_would_exceed_is_not_believed(path: Path, steady: Steady) -> None:
    """A second, say: a probe would restart it for ever. Nor is it refused, which would do the same."""
    Sign(Role.BEAT).leave()
    steady.now += 29
    assert service.health(roles=BEAT, here=True, max_age=timedelta(seconds=1)).healthy
    assert sign.main([str(path), "--max-age", "1"]) == 0
    steady.now += 2
    found = service.health(roles=BEAT, here=True, max_age=timedelta(seconds=1))
    assert (found.healthy, found.why) == (False, "the beat left its last sign of life 31s ago, more than 30s")
    assert sign.main([str(path), "--max-age", "1"]) == 1
    with pytest.raises(InvalidValue, match=r"^max_age: 0.0 is not accepted: give more than 0 seconds"):
        service.health(roles=BEAT, here=True, max_age=timedelta(0))


def test_each_role_has_a_file_of_its_own(path: Path) -> None:
    """A worker that lives says nothing about a beat beside it."""
    Sign(Role.WORKER).leave()
    assert service.health(roles=[Role.WORKER], here=True).healthy
    assert not service.health(roles=BEAT, here=True).healthy
    assert not service.health(here=True).healthy


@pytest.mark.parametrize("text", ["", "yesterday", "99999999999999999999"])
def test_what_is_no_sign_since_the_machine_started_is_none(path: Path, steady: Steady, text: str) -> None:
    """An empty file, a stranger's, one from before a reboot."""
    path.write_text(text)
    assert age_of(path) is None


def test_a_shorter_number_leaves_nothing_of_a_longer_one(path: Path, steady: Steady) -> None:
    steady.now = 123456789.5
    Sign(Role.BEAT).leave()
    steady.now = 5.2499996
    Sign(Role.BEAT).leave()
    age = age_of(path)
    assert age is not None, "not even by a rounding is it in the future"
    assert age < 0.001


def test_what_a_stranger_has_left_is_written_over(path: Path) -> None:
    path.write_text("something that is longer than any number of milliseconds\n")
    Sign(Role.BEAT).leave()
    assert age_of(path) is not None


@pytest.mark.parametrize("missing", ["O_NOFOLLOW", "O_CLOEXEC", "pwrite"])
def test_a_system_may_have_fewer_flags(path: Path, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    """As Windows has."""
    monkeypatch.delattr(os, missing)
    Sign(Role.BEAT).leave()
    assert age_of(path) is not None


def test_a_probe_without_django(path: Path) -> None:
    """Nor Celery, nor any settings: that is what makes it cheap."""
    assert probed(path) == (1, f"not alive: no sign of life in {path}\n", False)
    Sign(Role.BEAT).leave()
    code, said, imported = probed(path)
    assert (code, imported) == (0, False)
    assert said.startswith("alive: the last sign of life was left ")


def probed(path: Path) -> tuple[int, str, bool]:
    """Exit code, what was printed, and whether anything large was imported; with no settings to be found."""
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    command = [sys.executable, "-X", "importtime", "-m", "routines_app.sign", str(path), "--max-age", "60"]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, any(name in done.stderr for name in ("django", "celery", "redis"))


def test_a_file_that_cannot_be_written_is_said_once(
    path: Path, steady: Steady, caplog: pytest.LogCaptureFixture
) -> None:
    """And stops no beat. A link is somebody else's."""
    path.symlink_to(path.parent / "elsewhere")
    ours = Sign(Role.BEAT)
    with caplog.at_level(logging.WARNING):
        ours.leave()
        ours.leave()
    assert [record.message for record in caplog.records if "no sign of life can be left" in record.message] != []
    assert len(caplog.records) == 1
    assert not (path.parent / "elsewhere").exists()


def test_a_look_of_a_beat_leaves_one(ledger: None, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    BeatLoop(current_app).tick()
    assert age_of(path) is not None


@pytest.mark.parametrize(("error", "left"), [(OperationalError("gone"), True), (RuntimeError("a bug"), False)])
def test_a_beat_is_well_while_its_database_is_away_and_not_when_it_fails_itself(
    path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, left: bool, transactional_db: None
) -> None:
    """A restart would not bring the database back; of a bug it may be the cure."""
    beat = BeatLoop(current_app)

    def look() -> float:
        raise error

    monkeypatch.setattr(beat, "_look", look)
    beat.tick()
    assert (age_of(path) is not None) is left


def test_a_beat_that_hangs_leaves_none(path: Path, monkeypatch: pytest.MonkeyPatch, transactional_db: None) -> None:
    """The sign is of a look that has ended, not of one that begins."""
    beat = BeatLoop(current_app)
    before: list[float | None] = []
    monkeypatch.setattr(beat, "_look", lambda: before.append(age_of(path)) or 1.0)
    beat.tick()
    assert before == [None]
    assert age_of(path) is not None


def test_a_worker_leaves_them_by_itself(path: Path) -> None:
    """From its first moment: what Celery sends before it looks for its broker, which may be away for long."""
    assert process.leave_signs in [receiver for _, receiver in signals.worker_init.receivers]
    process.leave_signs()
    wait_for(lambda: age_of(path.with_suffix(".worker")) is not None, 10, "no sign")
