"""Schedules and times in words."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
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
        ("0 0 13 * FRI", "At 00:00, on the 13th and every Friday"),
        ("*/40 * * * *", "At minutes 0 and 40 of every hour"),
        ("0 */7 * * *", "At 00:00, 07:00, 14:00 and 21:00"),
        ("*/15 * * * *", "Every 15 minutes"),
        ("0 */6 * * *", "Every 6 hours"),
        ("0 1/2 * * *", "Every 2 hours, from 01:00 to 23:00"),
        ("0 22-4 * * *", "Every hour, between 22:00 and 04:59"),
        ("*/10 22-4 * * *", "Every 10 minutes, between 22:00 and 04:59"),
        ("0 22-4/2 * * *", "At 00:00, 02:00, 04:00 and 22:00"),
        ("5 22-4 * * *", "At minute 5, between 22:00 and 04:59"),
        ("5 */2 * * *", "At minute 5, in hours 0, 2, 4 … 22"),
        ("0 9-12,14,17,20 * * *", "At minute 0, in hours 9 to 12, 14, 17 and 20"),
        ("*/30 * * * * *", "Every 30 seconds"),
        ("5 * * * * *", "At second 5 of every minute"),
        ("5 5/10 * * * *", "At second 5, in minutes 5, 15, 25 … 55 of every hour"),
        ("30 0 9 * * *", "At 09:00:30"),
        ("0 9-9/2 * * *", "At 09:00"),
        ("0 0 * * fri-mon", "At 00:00, Friday to Monday"),
        ("0 0 * * 0-7", "At 00:00"),
        ("0 0 1 NOV-FEB *", "At 00:00, on the 1st, from November to February"),
        ("0 0 29 2 *", "At 00:00, on the 29th, in February"),
        ("0 9 ? * MON", "At 09:00, every Monday"),
        ("0 9 15W * *", "At 09:00, on the working day nearest the 15th"),
        ("0 9 30W * *", "At 09:00, on the working day nearest the 30th or the end of a shorter month"),
        ("0 9 1W,LW * ?", "At 09:00, on the first working day of the month and the last working day of the month"),
        ("0 9 L-3,L-1 * *", "At 09:00, on the day before the month's last and the 3rd day before the month's last"),
        ("0 9 25-L * *", "At 09:00, on the 25th to 31st"),
        ("0 9 * * 5L", "At 09:00, on the last Friday of the month"),
        ("0 9 * * 1,5#2", "At 09:00, every Monday and on the second Friday of the month"),
        ("0 9 13 * MON-FRI", "At 09:00, on the 13th and every Monday to Friday"),
        ("0 9 */2 * MON", "At 09:00, on the 1st, 3rd, 5th … 31st, but only if it is a Monday"),
        ("0 9 28,*/12 * 0-6", "At 09:00"),
    ],
)  # fmt: skip
def test_a_cron_is_told_as_what_it_says(cron: str, words: str) -> None:
    """By the values that it fires at: steps that do not go on across the hour or the day are no distance."""
    assert phrases.cron_in_words(cron) == words


def test_the_documentation_tells_schedules_as_the_admin_does() -> None:
    """Its table of words is what people learn them from."""
    section = Path("docs/cron.md").read_text().split("## In words")[1].split("## One moment")[0]
    told = dict(re.findall(r"^\| `(.+?)` \| (.+?) \|$", section, re.MULTILINE))
    assert len(told) == 7
    assert {cron: phrases.cron_in_words(cron) for cron in told} == told


@pytest.mark.parametrize(
    "cron", ["not a cron", "0 99 * * *", "0 9 * * MON-FRI#1", "1,3,8,9,12,14,20,22,27,31,33,41,47,50,54,59 1,9 1 * 1,4"]
)
def test_an_expression_that_needs_many_words_stands_for_itself(cron: str) -> None:
    """Fields are read faster than a long list; and a corrupt row does not break the page that should show it."""
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


@pytest.mark.parametrize(
    ("at", "zone", "words"),
    [
        ("2027-10-25T00:40:00.25+00:00", "UTC", "00:40:00"),
        ("2027-10-24T23:40:00+00:00", "Europe/Berlin", "01:40:00"),
        ("2027-10-24T21:40:00+00:00", "Europe/Berlin", "24 Oct, 23:40:00"),
        ("2028-02-29T00:00:00+00:00", "UTC", "29 Feb 2028, 00:00:00"),
        ("2027-10-31T00:30:00+00:00", "Europe/Berlin", "31 Oct, 02:30:00 CEST"),
        ("2027-10-31T01:30:00+00:00", "Europe/Berlin", "31 Oct, 02:30:00 CET"),
        ("9999-12-31T23:00:00+00:00", "Asia/Tokyo", "31 Dec 9999, 23:00:00"),
    ],
)
def test_a_short_time_leaves_out_what_is_plain(at: str, zone: str, words: str) -> None:
    """Today's date and this year; of an hour that comes twice it says which one."""
    assert phrases.short_time(datetime.fromisoformat(at), NOW, ZoneInfo(zone)) == words


def test_times_that_are_compared_have_milliseconds() -> None:
    """Cut, not rounded: what came before stays before."""
    assert phrases.short_time(NOW.replace(microsecond=999_999), NOW, UTC, exactly=True) == "00:30:00.999"


def test_every_source_has_words() -> None:
    """No code is shown to a person without saying what it means."""
    assert set(phrases.SOURCE_WORDS) == set(phrases.Source)
