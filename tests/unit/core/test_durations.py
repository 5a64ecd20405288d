"""Durations as people write them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routines_app.core.durations import MAX_DURATION_MS, SPELLED, UNIT_MS, format_duration, parse_duration
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
        ("10min", 600_000),
        ("2 hr", 7_200_000),
        ("1day", 86_400_000),
        ("2days", 172_800_000),
        ("30sec", 30_000),
        ("5 minutes", 300_000),
        ("1 week", 604_800_000),
        ("1 Hour  30 minutes", 5_400_000),
        ("1d2hrs3mins4secs5msecs", 93_784_005),
        ("250 milliseconds", 250),
        ("2\N{NO-BREAK SPACE}h", 7_200_000),
        (timedelta(minutes=2), 120_000),
        (timedelta(milliseconds=1), 1),
    ],
)
def test_each_way_of_writing_a_duration_gives_its_milliseconds(written: timedelta | str, ms: int) -> None:
    """Text carries units; a timedelta is what it is."""
    assert parse_duration(written) == ms


@given(st.integers(0, MAX_DURATION_MS))
def test_a_number_means_milliseconds_where_the_name_says_so(ms: int) -> None:
    """`timeout_ms=5000` is what is stored."""
    assert parse_duration(ms, field="timeout_ms") == parse_duration(float(ms), field="timeout_ms") == ms


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_elsewhere_a_bare_number_is_refused(number: float) -> None:
    """Celery's are seconds, and others' milliseconds: who means either is asked to say so."""
    for given_ in (number, str(number)):
        with pytest.raises(InvalidValue) as refused:
            parse_duration(given_)
        assert len(str(refused.value)) < 500


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (3600, "say '3600s', '1h' or a timedelta"),
        ("3600", "say '3600s' or '1h'"),
        (90, "say '90s', '1m 30s' or a timedelta"),
        (30, "say '30s' or a timedelta"),
        ("30", "say '30s'"),
        (0.5, "say '0.5s', '500ms' or a timedelta"),
        (0, "say '30s', '1h' or a timedelta"),
        (-5, "say '30s', '1h' or a timedelta"),
        (1e300, "say '30s', '1h' or a timedelta"),
        (10**400, "say '30s', '1h' or a timedelta"),
        (0.0001, "say '30s', '1h' or a timedelta"),
    ],
)
def test_who_gives_a_bare_number_is_told_how_to_write_it(number: float | str, expected: str) -> None:
    """As if it were seconds: that is what Celery's users mean."""
    with pytest.raises(InvalidValue) as refused:
        parse_duration(number)
    assert refused.value.expected == expected


@given(st.sampled_from(sorted(SPELLED)), st.data())
def test_a_unit_means_the_same_however_it_is_spelled(unit: str, data: st.DataObject) -> None:
    """Upper case and blanks do not matter."""
    word, blanks = data.draw(st.sampled_from(SPELLED[unit])), data.draw(st.sampled_from(["", " ", "  ", "\t"]))
    amount = data.draw(st.integers(0, 999))
    for spelled in (word, word.upper(), word.title()):
        assert parse_duration(f"{amount}{blanks}{spelled}") == amount * UNIT_MS[unit]


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        " ",
        "s",
        "1.s",
        "-5s",
        "1,5h",
        "٣s",
        "5 s s",
        "1y",
        "1mo",
        "1 month",
        "1hm",
        "5 m in",
        "10 000 ms",
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
        parse_duration(wrong, field="timeout_ms")  # type: ignore[arg-type]
    assert refused.value.field == "timeout_ms"
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
