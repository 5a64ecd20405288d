"""Moments as people type them."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routines_app.core.errors import InvalidValue
from routines_app.core.typed_moment import read_moment

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 18, 2, 10, tzinfo=UTC)  # a Wednesday, 03:10 in Berlin
ZONES = st.sampled_from([BERLIN, ZoneInfo("America/New_York"), ZoneInfo("Asia/Kathmandu"), UTC])
MOMENTS = st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))


def read(text: str, now: datetime = NOW) -> datetime:
    return read_moment("slot", text, now=now, zone=BERLIN)


@pytest.mark.parametrize(
    ("text", "local"),
    [
        ("03:00 yesterday", "2026-11-17 03:00"),
        ("yesterday 14:00", "2026-11-17 14:00"),
        ("Yesterday at 3 pm", "2026-11-17 15:00"),
        ("yesterday, 03:00:30", "2026-11-17 03:00:30"),
        ("noon yesterday", "2026-11-17 12:00"),
        ("yesterday", "2026-11-17 00:00"),
        ("today", "2026-11-18 00:00"),
        ("midnight", "2026-11-18 00:00"),
        ("12am", "2026-11-18 00:00"),
        ("12pm yesterday", "2026-11-17 12:00"),
        ("3:00", "2026-11-18 03:00"),
        ("23:30", "2026-11-17 23:30"),
        ("monday 03:00", "2026-11-16 03:00"),
        ("wed 03:00", "2026-11-18 03:00"),
        ("wednesday 23:00", "2026-11-11 23:00"),
        ("fri", "2026-11-13 00:00"),
        ("2026-11-17 03:00", "2026-11-17 03:00"),
        ("2026-11-17T03:00:05", "2026-11-17 03:00:05"),
        ("2026-11-17", "2026-11-17 00:00"),
    ],
)
def test_days_and_times_are_the_readers_own(text: str, local: str) -> None:
    """In the timezone that the page shows; what stands alone has passed already."""
    assert read(text) == datetime.fromisoformat(local).replace(tzinfo=BERLIN)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", NOW),
        ("2 h ago", NOW - timedelta(hours=2)),
        ("1h30m ago", NOW - timedelta(minutes=90)),
        ("2026-11-17T03:00Z", datetime(2026, 11, 17, 3, tzinfo=UTC)),
        ("2026-11-17T03:00:00+05:45", datetime(2026, 11, 16, 21, 15, tzinfo=UTC)),
    ],
)
def test_what_needs_no_timezone_has_none(text: str, expected: datetime) -> None:
    """A length of time, and text with an offset."""
    assert read(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "7", "25:00", "3:60", "13pm", "0am", "soon", "ago", "2 ago", "yesterday today", "2026-13-01", "at"),
        *("0001-01-01", "9999-12-31", "101 years ago", "03:00 yesterday " * 9, "3" * 4_000),
    ],
)
def test_what_is_no_moment_is_told_what_would_be(text: str) -> None:
    """Field, value and an example."""
    with pytest.raises(InvalidValue, match=r"slot: .*03:00 yesterday"):
        read(text)


def test_clocks_that_change_leave_no_time_out() -> None:
    """In the gap of spring as if they had not changed yet; of two times in autumn the first."""
    later = datetime(2027, 11, 1, tzinfo=UTC)
    assert read("2027-03-28 02:30", later) == datetime(2027, 3, 28, 1, 30, tzinfo=UTC)
    assert read("2027-10-31 02:30", later) == datetime(2027, 10, 31, 0, 30, tzinfo=UTC)


@given(now=MOMENTS, zone=ZONES, hour=st.integers(0, 23), minute=st.integers(0, 59))
def test_a_time_alone_is_the_last_one(now: datetime, zone: ZoneInfo, hour: int, minute: int) -> None:
    """Never in the future, and at most a day and a change of the clocks ago."""
    found = read_moment("slot", f"{hour:02}:{minute:02}", now=now, zone=zone)
    assert timedelta(0) <= now - found <= timedelta(hours=25)


@given(now=MOMENTS, zone=ZONES, at=MOMENTS)
def test_what_is_written_in_iso_is_read_back(now: datetime, zone: ZoneInfo, at: datetime) -> None:
    """With its offset exactly, and without in the zone."""
    assert read_moment("slot", at.isoformat(), now=now, zone=zone) == at
    local = at.astimezone(zone).replace(second=0, microsecond=0, fold=0)
    assert read_moment("slot", f"{local:%Y-%m-%d %H:%M}", now=now, zone=zone) == local.astimezone(UTC)


@given(text=st.text(max_size=80), now=MOMENTS, zone=ZONES)
def test_any_text_is_read_or_refused(text: str, now: datetime, zone: ZoneInfo) -> None:
    """Nothing else is raised."""
    with suppress(InvalidValue):
        assert read_moment("slot", text, now=now, zone=zone).tzinfo is not None
