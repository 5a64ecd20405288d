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


@pytest.mark.parametrize(
    ("moment", "timezone", "words"),
    [
        ("2027-03-12T02:00:00+00:00", "Europe/Paris", "Once, on 12 Mar 2027 at 03:00, Europe/Paris"),
        ("2027-07-01T00:00:30.250+00:00", "UTC", "Once, on 1 Jul 2027 at 00:00:30, UTC"),
        ("2027-03-12T02:00:00+00:00", "Nowhere/Land", "Once, on 12 Mar 2027 at 02:00, UTC"),
        ("2027-03-12T02:00:00+00:00", "", "Once, on 12 Mar 2027 at 02:00, UTC"),
        ("9999-12-31T23:00:00+00:00", "Asia/Tokyo", "Once, on 31 Dec 9999 at 23:00, UTC"),
    ],
)
def test_one_moment_reads_as_a_date(moment: str, timezone: str, words: str) -> None:
    """In the routine's own timezone, if it is one."""
    assert phrases.schedule_in_words("ONCE", "", None, timezone, datetime.fromisoformat(moment)) == words


@pytest.mark.parametrize(("factor", "words"), [(5, "5 times slower"), (0.5, "2 times faster"), (1, "as usual")])
def test_a_factor_says_which_way_it_goes(factor: float, words: str) -> None:
    """More is slower."""
    assert phrases.factor_in_words(factor) == words


@pytest.mark.parametrize(("ms", "words"), [(None, "the task's own, else 5m"), (0, "none"), (90_000, "1m 30s")])
def test_a_time_out_says_whose_it_is(ms: int | None, words: str) -> None:
    """Unset is not none: the task's own limits hold then."""
    assert phrases.time_out_in_words(ms) == words


@pytest.mark.parametrize(
    ("cron", "words"),
    [
        ("0 22-4 * * *", "Every hour, between 22:00 and 04:59"),
        ("*/10 22-4 * * *", "Every 10 minutes, between 22:00 and 04:59"),
        ("0 22-4/2 * * *", "Every 2 hours, between 22:00 and 04:59"),
        ("5 22-4 * * *", "At 5 minutes past the hour, between 22:00 and 04:59"),
        ("0 9-9 * * *", "At 09:00"),
        ("0 9-9/2 * * *", "At 09:00"),
        ("0 0 * * fri-mon", "At 00:00, Friday to Monday"),
        ("0 0 * * 7-2", "At 00:00, Sunday to Tuesday"),
        ("0 0 1 NOV-FEB *", "At 00:00, on day 1 of the month, November to February"),
        ("0 9 ? * MON", "At 09:00, only on Monday"),
        ("0 9 15W * *", "At 09:00, on the weekday nearest day 15 of the month"),
        ("0 9 1W * *", "At 09:00, on the first weekday of the month"),
        ("0 9 LW * ?", "At 09:00, on the last weekday of the month"),
        ("0 9 L-3 * *", "At 09:00, 3 days before the last day of the month"),
        ("0 9 L-1 * *", "At 09:00, 1 day before the last day of the month"),
        ("0 9 25-L * *", "At 09:00, between day 25 and 31 of the month"),
        ("0 9 * * 5L", "At 09:00, on the last Friday of the month"),
        ("0 9 * * FRI#2", "At 09:00, on the second Friday of the month"),
        ("0 9 */2 * MON", "At 09:00, every 2 days, only on Monday"),
        ("0 9 13 * FRI", "At 09:00, on day 13 of the month; also at 09:00, only on Friday"),
        ("0 9 L * FRI#1", "At 09:00, on the last day of the month; also at 09:00, on the first Friday of the month"),
        ("30 0 9 * * *", "At 09:00:30"),
    ],
)  # fmt: skip
def test_a_cron_is_told_as_what_it_says(cron: str, words: str) -> None:
    """Ranges that wrap, and days as people count them; where either day field matches, the sentence says both."""
    assert phrases.cron_in_words(cron) == words


@pytest.mark.parametrize(
    "cron",
    [
        "not a cron",
        "0 99 * * *",
        "0 9 * * MON-FRI#1",
        "0 9 * * 5#2,1#1",
        "0 9 * * 1,5#2",
        "0 9 * * 5L,1L",
        "0 9 1W,15W * *",
        "0 9 1,L * *",
        "0 9 15W,LW * *",
        "0 9 L-3,L * *",
        "0 9 25-L/2,1 * *",
        "0 9-12,14 * * *",
        "10,20-30/5 1 * * *",
        "0 0 * * 0-7",
    ],
)
def test_an_expression_that_cannot_be_described_stands_for_itself(cron: str) -> None:
    """Better than a wrong sentence; and a corrupt row does not break the page that should show it."""
    assert phrases.cron_in_words(cron) == cron


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
