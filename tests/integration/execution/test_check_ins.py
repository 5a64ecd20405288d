"""Check-ins of Sentry Crons: for which runs, with which schedule; the SDK itself is in tests/acceptance/tools."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from celery.app.task import Context

from routines_app.core.keys import manual_key, slot_key
from routines_app.execution.check_ins import Schedule, begin, monitor_config
from routines_app.execution.tracing import _request
from routines_app.protocol.ledger import clock
from routines_app.protocol.record.facts import RunFacts, load
from tests.acceptance.ringing import ring, routine

pytestmark = pytest.mark.django_db

CRONTAB = {"type": "crontab", "value": "30 2 * * *"}


@pytest.mark.parametrize(
    ("cron", "schedule"),
    [
        ("30 2 * * *", CRONTAB),
        ("0 30 2 * * *", CRONTAB),
        ("15 30 2 * * *", None),
        ("*/10 * * * * *", None),
        ("@hourly", {"type": "crontab", "value": "@hourly"}),
    ],
)
def test_a_cron_in_sentrys_words(cron: str, schedule: dict[str, Any] | None) -> None:
    """It has five fields there: seconds are left out where they are none, and nothing is watched where they count."""
    config = monitor_config(Schedule("CRON", cron, None, "Europe/Berlin"))
    assert config == (schedule and {"schedule": schedule, "timezone": "Europe/Berlin"})


@pytest.mark.parametrize(
    ("seconds", "value", "unit"),
    [(60, 1, "minute"), (90 * 60, 90, "minute"), (7200, 2, "hour"), (172_800, 2, "day"), (30, 0, ""), (90, 0, "")],
)
def test_an_interval_in_sentrys_words(seconds: int, value: int, unit: str) -> None:
    config = monitor_config(Schedule("INTERVAL", "", seconds * 1000, "UTC"))
    assert config == (
        {"schedule": {"type": "interval", "value": value, "unit": unit}, "timezone": "UTC"} if unit else None
    )


class Sdk(SimpleNamespace):
    """Sentry's, as far as it is asked; notes check-ins."""

    def __init__(self, **options: Any) -> None:
        integration = SimpleNamespace(**{"monitor_beat_tasks": True, "exclude_beat_tasks": None} | options)
        super().__init__(
            begun=[],
            get_client=lambda: SimpleNamespace(get_integration={"celery": integration}.get),
            utils=SimpleNamespace(match_regex_list=lambda item, patterns: item in (patterns or [])),
            MonitorStatus=SimpleNamespace(IN_PROGRESS="in_progress"),
        )

    def capture_checkin(self, **facts: Any) -> str:
        self.begun.append(facts)
        return "c1"


def use(monkeypatch: pytest.MonkeyPatch, sdk: Any) -> None:
    monkeypatch.setitem(sys.modules, "sentry_sdk", sdk)
    monkeypatch.setitem(sys.modules, "sentry_sdk.crons", sdk)


def facts_of(key: str = "s") -> RunFacts:
    made = routine("nightly", trigger_kind="CRON", cron="30 2 * * *")
    keys = {"s": slot_key(made.pk, clock.now(), 1), "m": manual_key(made.pk, "x", 1)}
    found = load(ring(made, send=False, idempotency_key=keys[key]).id)
    assert found is not None
    return found


def test_a_scheduled_run_checks_in(monkeypatch: pytest.MonkeyPatch) -> None:
    sdk = Sdk()
    use(monkeypatch, sdk)
    headers = begin(facts_of())
    config = {"schedule": CRONTAB, "timezone": "UTC"}
    assert sdk.begun == [{"monitor_slug": "nightly", "monitor_config": config, "status": "in_progress"}]
    assert float(headers.pop("sentry-monitor-start-timestamp-s")) > 0
    assert headers == {
        "sentry-monitor-slug": "nightly",
        "sentry-monitor-config": config,
        "sentry-monitor-check-in-id": "c1",
    }


@pytest.mark.parametrize("given", [{"tenant": "a"}, {"tenant": "b", "headers": {"tenant": "a"}}])
def test_a_check_in_takes_no_headers_away(given: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The task sees its routine's own, and Sentry finds what it looks for among them."""
    use(monkeypatch, Sdk())
    headers = Context(_request(facts_of(), {"lang": "py", **given}, eager=False)).headers
    assert (headers["tenant"], headers["sentry-monitor-slug"]) == ("a", "nightly")


@pytest.mark.parametrize(
    ("options", "key"), [({"monitor_beat_tasks": False}, "s"), ({"exclude_beat_tasks": ["nightly"]}, "s"), ({}, "m")]
)
def test_what_is_not_to_be_watched_does_not(options: dict[str, Any], key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the SDK's options; and a run by hand comes when Sentry expects none."""
    sdk = Sdk(**options)
    use(monkeypatch, sdk)
    assert begin(facts_of(key)) == {}
    assert sdk.begun == []


def test_a_process_without_sentry_asks_nothing(monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any) -> None:
    facts = facts_of()
    monkeypatch.delitem(sys.modules, "sentry_sdk", raising=False)
    with django_assert_num_queries(0):
        assert begin(facts) == {}


def test_an_sdk_that_fails_is_not_the_runs_business(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    use(monkeypatch, SimpleNamespace())
    assert begin(facts_of()) == {}
    assert "no check-in for run" in caplog.text
