"""Schedules and times in words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from routines_app.admin import phrases

NOW = datetime(2027, 10, 25, 0, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "cron", "interval", "words"),
    [
        ("CRON", "0 9 * * 1-5", None, "At 09:00, Monday to Friday, Europe/Paris"),
        ("CRON", "@hourly", None, "Every hour, Europe/Paris"),
        ("CRON", "30 0 9 * * *", None, "At 09:00:30, Europe/Paris"),
        ("INTERVAL", "", 600_000, "Every 10 minutes"),
        ("INTERVAL", "", 3_600_000, "Every hour"),
        ("INTERVAL", "", 5_400_000, "Every 90 minutes"),
        ("INTERVAL", "", 1_500, "Every 1s 500ms"),
        ("MANUAL", "", None, "Only when asked"),
    ],
)
def test_a_schedule_reads_as_a_sentence(kind: str, cron: str, interval: int | None, words: str) -> None:
    """What the list shows instead of five cryptic fields."""
    assert phrases.schedule_in_words(kind, cron, interval, "Europe/Paris") == words


def test_an_expression_that_cannot_be_described_stands_for_itself() -> None:
    """A corrupt row does not break the page that should show it."""
    assert phrases.cron_in_words("not a cron") == "not a cron"


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0 s"), (0.35, "350 ms"), (1.44, "1.4 s"), (725, "12m 5s"), (12_000, "3h 20m")]
)
def test_lengths_of_time_have_few_figures(seconds: float, words: str) -> None:
    """Three figures tell a person enough."""
    assert phrases.seconds_in_words(seconds) == words


@pytest.mark.parametrize(
    ("away", "words"), [(300, "in 5 min"), (-3 * 3600, "3 h ago"), (0.4, "now"), (-86_400 * 400, "1 y ago")]
)
def test_times_are_told_from_now(away: float, words: str) -> None:
    """The largest unit is enough; the exact time is a hover away."""
    assert phrases.ago_or_in(NOW + timedelta(seconds=away), NOW) == words


def test_a_clock_time_names_its_zone() -> None:
    """The same wall time happens twice on this day: the zone's name tells which."""
    berlin = ZoneInfo("Europe/Berlin")
    assert phrases.clock_time(datetime(2027, 10, 31, 0, 30, tzinfo=UTC), berlin) == "Sun 31 Oct 2027, 02:30:00 CEST"
    assert phrases.clock_time(datetime(2027, 10, 31, 1, 30, tzinfo=UTC), berlin) == "Sun 31 Oct 2027, 02:30:00 CET"


def test_every_source_has_words() -> None:
    """No code is shown to a person without saying what it means."""
    assert set(phrases.SOURCE_WORDS) == set(phrases.Source)
