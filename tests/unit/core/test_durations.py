"""Durations as people write them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routines_app.core.durations import MAX_DURATION_MS, format_duration, parse_duration
from routines_app.core.errors import InvalidValue


@pytest.mark.parametrize(
    ("written", "ms"),
    [
        ("30s", 30_000),
        ("10m", 600_000),
        ("1.5h", 5_400_000),
        ("1d", 86_400_000),
        ("500ms", 500),
        ("2w", 1_209_600_000),
        ("1h30m", 5_400_000),
        (" 1H 30M ", 5_400_000),
        ("0.1s", 100),
        ("0s", 0),
        (250, 250),
        (250.0, 250),
        (timedelta(minutes=2), 120_000),
        (timedelta(milliseconds=1), 1),
    ],
)
def test_each_way_of_writing_a_duration_gives_its_milliseconds(written: int | str, ms: int) -> None:
    """Numbers are milliseconds; text carries units; a timedelta is what it is."""
    assert parse_duration(written) == ms


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        " ",
        "5",
        "s",
        "1.s",
        "-5s",
        "1,5h",
        "٣s",
        "5 s s",
        "1y",
        "9" * 5000 + "s",
        "1s" * 33,
        " " * 65,
        None,
        True,
        [],
        b"5s",
        float("nan"),
        float("inf"),
        -1,
        timedelta(seconds=-1),
        10**400,
        "1000000w",
        1.5,
        "0.0001ms",
        timedelta(microseconds=1),
    ],
)
def test_what_is_no_duration_is_refused_with_its_field(wrong: object) -> None:
    """The error names the field, shows the value and says what would be right."""
    with pytest.raises(InvalidValue) as refused:
        parse_duration(wrong, field="timeout")  # type: ignore[arg-type]
    assert refused.value.field == "timeout"
    assert refused.value.value is wrong
    assert refused.value.expected.startswith("give ")


@pytest.mark.parametrize(
    ("ms", "text"),
    [(0, "0s"), (500, "500ms"), (5_400_000, "1h 30m"), (86_400_000, "1d"), (90_061_001, "1d 1h 1m 1s 1ms")],
)
def test_a_duration_is_shown_in_its_largest_units(ms: int, text: str) -> None:
    """People read `1h 30m`, not 5400000."""
    assert format_duration(ms) == text


@given(st.integers(0, MAX_DURATION_MS))
def test_what_is_shown_can_be_read_back(ms: int) -> None:
    """A shown duration pasted into a form means the same again."""
    assert parse_duration(format_duration(ms)) == ms


def test_megabytes_are_refused_unread() -> None:
    """A pattern over 2.4 MB took ten seconds; the length alone tells that this is no duration."""

    class Unread(str):
        def strip(self, *_: object) -> str:
            raise AssertionError("it was read")

    with pytest.raises(InvalidValue, match="at most 64 characters") as caught:
        parse_duration(Unread("1s" * 1_200_000))
    assert len(str(caught.value)) < 500
