"""Moments as people type them."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routines_app.core.errors import InvalidValue
from routines_app.core.typed_moment import parse_moment

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 17, 11, 30, tzinfo=UTC)  # a Tuesday, 12:30 in Berlin


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("03:00", "2026-11-17T03:00:00+01:00"),
        ("3:00", "2026-11-17T03:00:00+01:00"),
        ("12:30", "2026-11-17T12:30:00+01:00"),
        ("13:00", "2026-11-16T13:00:00+01:00"),
        ("03:00:30 yesterday", "2026-11-16T03:00:30+01:00"),
        ("  Yesterday   03:00 ", "2026-11-16T03:00:00+01:00"),
        ("today 13:00", "2026-11-17T13:00:00+01:00"),
        ("tomorrow 03:00", "2026-11-18T03:00:00+01:00"),
        ("monday 03:00", "2026-11-16T03:00:00+01:00"),
        ("tue 03:00", "2026-11-17T03:00:00+01:00"),
        ("tuesday 13:00", "2026-11-10T13:00:00+01:00"),
        ("03:00 wed", "2026-11-11T03:00:00+01:00"),
        ("2026-11-17 03:00", "2026-11-17T03:00:00+01:00"),
        ("2026-11-17", "2026-11-17T00:00:00+01:00"),
        ("2026-11-17T03:00:00Z", "2026-11-17T03:00:00+00:00"),
        ("2026-11-17t03:00:00.5+05:30", "2026-11-17T03:00:00.500000+05:30"),
        ("2 h ago", "2026-11-17T09:30:00+00:00"),
        ("1.5h ago", "2026-11-17T10:00:00+00:00"),
        ("3 days ago", "2026-11-14T11:30:00+00:00"),
        ("1 week ago", "2026-11-10T11:30:00+00:00"),
        ("now", "2026-11-17T11:30:00+00:00"),
        ("2026-07-01 03:00", "2026-07-01T03:00:00+02:00"),
        ("2026-03-29 02:30", "2026-03-29T01:30:00+00:00"),  # the clock skips it
        ("2026-10-25 02:30", "2026-10-25T00:30:00+00:00"),  # it comes twice
    ],
)
def test_what_is_meant(text: str, meant: str) -> None:
    found = parse_moment(text, NOW, BERLIN)
    assert found == datetime.fromisoformat(meant)
    assert found.tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        "",
        "noon",
        "25:00",
        "03:60",
        "yesterday",
        "03:00 someday",
        "2026-13-01",
        "999999999 weeks ago",
        "\u0660\u0663:\u0660\u0660",
        "x" * 999,
    ],
)
def test_what_means_nothing_says_what_would_be_right(text: str) -> None:
    with pytest.raises(InvalidValue, match="yesterday 03:00") as refused:
        parse_moment(text, NOW, BERLIN)
    assert refused.value.field == "at"


@given(text=st.text(max_size=80))
def test_whatever_is_typed_is_a_moment_or_refused(text: str) -> None:
    with suppress(InvalidValue):
        assert parse_moment(text, NOW, BERLIN).tzinfo is UTC


@given(
    now=st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),
    hour=st.integers(0, 23),
    minute=st.integers(0, 59),
)
def test_a_time_alone_is_its_last_one(now: datetime, hour: int, minute: int) -> None:
    """Not to come, not older than a day; an hour more or less where the clock was changed."""
    found = parse_moment(f"{hour:02}:{minute:02}", now, BERLIN)
    assert timedelta(hours=-1) <= now - found <= timedelta(hours=25)
