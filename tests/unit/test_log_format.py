"""Log records as JSON: one line, the run's facts, no secrets."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from celery.signals import after_setup_logger
from django.test import override_settings

from routines_app.log_format import RUN_FACTS, JSONFormatter, RunFilter
from routines_app.protocol.run.current import CurrentRun, set_current

FACTS: dict[str, Any] = {
    "routine_name": "report",
    "routine_id": 7,
    "id": "0198",
    "task": "shop.report",
    "scheduled_for": datetime(2026, 3, 2, 10, tzinfo=UTC),
    "attempt": 2,
    "trigger": "retry",
    "source": "baseline-cron",
}
SAID = {
    "routine": "report",
    "routine_id": 7,
    "run_id": "0198",
    "task": "shop.report",
    "slot": "2026-03-02T10:00:00+00:00",
    "attempt": 2,
    "trigger": "retry",
    "source": "baseline-cron",
}


@pytest.fixture
def _in_a_run() -> Iterator[None]:
    live: Any = SimpleNamespace(facts=SimpleNamespace(**FACTS))
    set_current(CurrentRun(live))
    yield
    set_current(None)


def record(message: str = "it is %s", *args: object, **more: Any) -> logging.LogRecord:
    made = logging.LogRecord("shop", logging.INFO, __file__, 1, message, args or ("so",), None)
    made.__dict__.update(more)
    return made


def told(made: logging.LogRecord) -> dict[str, Any]:
    text = JSONFormatter().format(made)
    assert "\n" not in text
    said: dict[str, Any] = json.loads(text)
    return said


def test_a_record_outside_of_a_run() -> None:
    said = told(record())
    assert datetime.fromisoformat(said.pop("time")).tzinfo is not None
    assert said == {"level": "INFO", "logger": "shop", "message": "it is so"}


@pytest.mark.usefixtures("_in_a_run")
def test_a_record_of_a_body_says_which_run_it_is() -> None:
    said = told(record())
    assert {name: said[name] for name in RUN_FACTS} == SAID


@pytest.mark.usefixtures("_in_a_run")
def test_an_event_of_ours_says_whom_it_is_about() -> None:
    """Not the run during which it happened to be written."""
    said = told(record(routine_event={"event": "routine-parked", "routine": "other"}))
    assert (said["event"], said["routine"]) == ("routine-parked", "other")


@pytest.mark.usefixtures("_in_a_run")
def test_what_a_caller_adds_replaces_nothing_of_the_record() -> None:
    own = ("time", "level", "logger", *RUN_FACTS)
    said = told(record(orders=3, **dict.fromkeys(own, "mine")))
    assert "mine" not in said.values()
    assert (said["orders"], said["level"]) == (3, "INFO")


def test_a_traceback_and_line_breaks_stay_on_one_line() -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError:
        made = record("a\nb %s")
        made.exc_info = sys.exc_info()
    said = told(made)
    assert said["message"] == "a\nb so"
    assert said["traceback"].startswith("Traceback (most recent call last)")
    assert said["traceback"].endswith("ValueError: two\nlines")


def test_plain_extras_are_told_and_secrets_are_not() -> None:
    extras = {"orders": 3, "api_token": "s3cret", "data": {"args": "s3cret"}, "share": float("nan"), "odd": "\ud800"}
    said = told(record(**extras))
    assert (said["orders"], said["share"], said["odd"]) == (3, "nan", "\ud800")
    assert "data" not in said
    assert "s3cret" not in json.dumps(said)


@pytest.mark.usefixtures("_in_a_run")
def test_the_filter_puts_the_run_on_a_record_for_any_format() -> None:
    made = record()
    assert RunFilter().filter(made)
    assert logging.Formatter("%(routine)s %(attempt)s: %(message)s").format(made) == "report 2: it is so"


def test_the_filter_leaves_records_outside_of_a_run_readable() -> None:
    made = record(task="somebody's own")
    assert RunFilter().filter(made)
    assert logging.Formatter("[%(run_id)s] %(task)s %(message)s").format(made) == "[] somebody's own it is so"


@pytest.mark.parametrize(("wanted", "is_json"), [("json", True), ("", False)])
def test_celerys_own_handlers_write_json_when_it_is_wanted(wanted: str, is_json: bool) -> None:
    logger = logging.Logger("celery's")
    logger.addHandler(logging.NullHandler())
    with override_settings(ROUTINES={"LOG_FORMAT": wanted}):
        after_setup_logger.send(sender=None, logger=logger, loglevel=20, logfile=None, format="", colorize=False)
    assert isinstance(logger.handlers[0].formatter, JSONFormatter) is is_json


def test_it_may_be_named_in_django_settings() -> None:
    """Which are read before there is any app or model."""
    script = """
import logging
from django.conf import settings
formatter = {"()": "routines_app.log_format.JSONFormatter"}
settings.configure(INSTALLED_APPS=["routines_app"], LOGGING={
    "version": 1, "formatters": {"json": formatter},
    "filters": {"run": {"()": "routines_app.log_format.RunFilter"}},
    "handlers": {"out": {"class": "logging.StreamHandler", "formatter": "json", "filters": ["run"]}},
    "root": {"handlers": ["out"], "level": "INFO"},
})
import django.utils.log
django.utils.log.configure_logging(settings.LOGGING_CONFIG, settings.LOGGING)
logging.getLogger("early").warning("there is %s", "no app yet", extra={"api_token": "s3cret"})
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    said = json.loads(done.stderr)
    assert said["message"] == "there is no app yet"
    assert "s3cret" not in done.stderr
