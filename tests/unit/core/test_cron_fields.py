"""What a cron expression may say, and what is refused."""

from __future__ import annotations

from calendar import monthrange
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routines_app.core.cron import next_fire, parse_cron
from routines_app.core.cron_fields import read_fields
from routines_app.core.errors import InvalidValue

NEW_YEAR = datetime(2024, 1, 1, tzinfo=UTC)  # a Monday


def fires(expression: str, count: int, timezone: str = "UTC") -> list[str]:
    found, at = [], NEW_YEAR - timedelta(seconds=1)
    for _ in range(count):
        fire = next_fire(expression, timezone, at)
        assert fire is not None
        found.append(f"{fire:%m-%d %H:%M:%S}")
        at = fire
    return found


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("*/20 * * * *", ["01-01 00:00:00", "01-01 00:20:00", "01-01 00:40:00", "01-01 01:00:00"]),
        ("*/20 * * * * *", ["01-01 00:00:00", "01-01 00:00:20", "01-01 00:00:40", "01-01 00:01:00"]),
        ("30 5 9 * * *", ["01-01 09:05:30", "01-02 09:05:30"]),
        ("5/25 1 * * *", ["01-01 01:05:00", "01-01 01:30:00", "01-01 01:55:00", "01-02 01:05:00"]),
        ("0 10-20/5,23 * * *", ["01-01 10:00:00", "01-01 15:00:00", "01-01 20:00:00", "01-01 23:00:00"]),
        ("0 0 * feb-MAR/1 *", ["02-01 00:00:00", "02-02 00:00:00"]),
        ("0 0 * * sat-sun", ["01-06 00:00:00", "01-07 00:00:00", "01-13 00:00:00"]),
        ("0 0 * * 5-7", ["01-05 00:00:00", "01-06 00:00:00", "01-07 00:00:00", "01-12 00:00:00"]),
        ("0 0 * * SUN-TUE", ["01-01 00:00:00", "01-02 00:00:00", "01-07 00:00:00"]),
        ("0 0 * * 0-0", ["01-07 00:00:00", "01-14 00:00:00"]),
        ("0 0 * * */3", ["01-03 00:00:00", "01-06 00:00:00", "01-07 00:00:00"]),
        ("0 0 L * *", ["01-31 00:00:00", "02-29 00:00:00", "03-31 00:00:00"]),
        ("0 0 15,L 2 *", ["02-15 00:00:00", "02-29 00:00:00"]),
        ("0 0 * * 5#2", ["01-12 00:00:00", "02-09 00:00:00"]),
        ("0 0 * * fri#5", ["03-29 00:00:00", "05-31 00:00:00"]),
        ("0 0 * * 5L", ["01-26 00:00:00", "02-23 00:00:00"]),
        ("0 0 * * 7#1,3", ["01-03 00:00:00", "01-07 00:00:00", "01-10 00:00:00"]),
        ("0 0 13 * FRI", ["01-05 00:00:00", "01-12 00:00:00", "01-13 00:00:00", "01-19 00:00:00"]),
        ("0 0 */10 * FRI", ["03-01 00:00:00", "05-31 00:00:00"]),
        ("0 22-1 * * *", ["01-01 00:00:00", "01-01 01:00:00", "01-01 22:00:00", "01-01 23:00:00", "01-02 00:00:00"]),
        ("0 22-4/3 * * *", ["01-01 01:00:00", "01-01 04:00:00", "01-01 22:00:00", "01-02 01:00:00"]),
        ("58-1 0 * * *", ["01-01 00:00:00", "01-01 00:01:00", "01-01 00:58:00", "01-01 00:59:00"]),
        ("50-10/15 * * * *", ["01-01 00:05:00", "01-01 00:50:00", "01-01 01:05:00"]),
        ("59-0 0 0 * * *", ["01-01 00:00:00", "01-01 00:00:59"]),
        ("0 0 30-2 * *", ["01-01 00:00:00", "01-02 00:00:00", "01-30 00:00:00", "01-31 00:00:00", "02-01 00:00:00"]),
        ("0 0 1 NOV-FEB *", ["01-01 00:00:00", "02-01 00:00:00", "11-01 00:00:00", "12-01 00:00:00"]),
        ("0 0 1 11-3/2 *", ["01-01 00:00:00", "03-01 00:00:00", "11-01 00:00:00"]),
        ("0 0 * * FRI-MON", ["01-01 00:00:00", "01-05 00:00:00", "01-06 00:00:00", "01-07 00:00:00"]),
        ("0 0 * * SAT-TUE/2", ["01-01 00:00:00", "01-06 00:00:00", "01-08 00:00:00"]),
        ("0 0 * * 7-2", ["01-01 00:00:00", "01-02 00:00:00", "01-07 00:00:00"]),
        ("0 0 * * 7-7", ["01-07 00:00:00", "01-14 00:00:00"]),
        ("0 0 * * 7/3", ["01-03 00:00:00", "01-06 00:00:00", "01-07 00:00:00"]),
        ("0 0 * * 0-7", ["01-01 00:00:00", "01-02 00:00:00", "01-03 00:00:00"]),
        ("0 9-9 * * *", ["01-01 09:00:00", "01-02 09:00:00"]),
        ("0 0 ? * MON", ["01-01 00:00:00", "01-08 00:00:00"]),
        ("0 0 13 * ?", ["01-13 00:00:00", "02-13 00:00:00"]),
        ("0 0 ? * ?", ["01-01 00:00:00", "01-02 00:00:00"]),
        ("0 0 13W * *", ["01-12 00:00:00", "02-13 00:00:00", "03-13 00:00:00", "04-12 00:00:00", "05-13 00:00:00"]),
        ("0 0 14w 1,4 *", ["01-15 00:00:00", "04-15 00:00:00"]),
        ("0 0 1W 6,9 *", ["06-03 00:00:00", "09-02 00:00:00"]),
        ("0 0 31W 3,6,8 *", ["03-29 00:00:00", "06-28 00:00:00", "08-30 00:00:00"]),
        ("0 0 1W,15W * *", ["01-01 00:00:00", "01-15 00:00:00", "02-01 00:00:00", "02-15 00:00:00", "03-01 00:00:00"]),
        ("0 0 LW * *", ["01-31 00:00:00", "02-29 00:00:00", "03-29 00:00:00", "04-30 00:00:00"]),
        ("0 0 L-3 * *", ["01-28 00:00:00", "02-26 00:00:00", "03-28 00:00:00", "04-27 00:00:00"]),
        ("0 0 L-30 * *", ["01-01 00:00:00", "03-01 00:00:00", "05-01 00:00:00"]),
        ("0 0 L-1,L 2 *", ["02-28 00:00:00", "02-29 00:00:00"]),
        ("0 0 28-L 2 *", ["02-28 00:00:00", "02-29 00:00:00"]),
        ("0 0 27-L/2 * *", ["01-27 00:00:00", "01-29 00:00:00", "01-31 00:00:00", "02-27 00:00:00", "02-29 00:00:00"]),
        ("0 0 * * MON-WED#1", ["01-01 00:00:00", "01-02 00:00:00", "01-03 00:00:00", "02-05 00:00:00"]),
        ("0 0 * * sat-mon#2", ["01-08 00:00:00", "01-13 00:00:00", "01-14 00:00:00", "02-10 00:00:00"]),
        ("0 0 * * FRIL,1#1", ["01-01 00:00:00", "01-26 00:00:00", "02-05 00:00:00"]),
        ("0 0 15W * MON#1", ["01-01 00:00:00", "01-15 00:00:00", "02-05 00:00:00", "02-15 00:00:00"]),
        ("0 0 */2 * MON", ["01-01 00:00:00", "01-15 00:00:00", "01-29 00:00:00", "02-05 00:00:00"]),
        ("@yearly", ["01-01 00:00:00", "01-01 00:00:00"]),
        ("@annually", ["01-01 00:00:00"]),
        ("@monthly", ["01-01 00:00:00", "02-01 00:00:00"]),
        ("@Weekly", ["01-07 00:00:00", "01-14 00:00:00"]),
        ("@daily", ["01-01 00:00:00", "01-02 00:00:00"]),
        ("@midnight", ["01-01 00:00:00", "01-02 00:00:00"]),
        (" @hourly ", ["01-01 00:00:00", "01-01 01:00:00"]),
    ],
)
def test_an_expression_fires_when_it_says(expression: str, expected: list[str]) -> None:
    """Each form of the language, by its first fires of a leap year that begins on a Monday."""
    assert fires(expression, len(expected)) == expected


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "* * * *",
        "* * * * * * *",
        "@reboot",
        "@",
        "@daily *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * 32 * *",
        "* * * 0 *",
        "* * * 13 *",
        "* * * * 8",
        "60 * * * * *",
        "*/0 * * * *",
        "*/60 * * * *",
        "1- * * * *",
        "-1 * * * *",
        "1,,2 * * * *",
        ", * * * *",
        "*/ * * * *",
        "1/2/3 * * * *",
        "** * * * *",
        "? * * * *",
        "R * * * *",
        "H * * * *",
        "H(0-5) * * * *",
        "R/5 * * * *",
        "* ? * * *",
        "* * ?,1 * *",
        "* * ?/2 * *",
        "* * * ? *",
        "? * * * * *",
        "* * 0W * *",
        "* * 32W * *",
        "* * W * *",
        "* * W15 * *",
        "* * 1-5W * *",
        "* * 15W/2 * *",
        "* * L-0 * *",
        "* * L-31 * *",
        "* * L-3W * *",
        "* * L-L * *",
        "* * 32-L * *",
        "* * 0-L * *",
        "* * LL * *",
        "0 0 * * 15W",
        "0 0 * * LW",
        "* * * * L",
        "* * * * L-3",
        "* * * * MON-FRIL",
        "* * * * MON-#1",
        "* * * * MON-FRI#6",
        "* * * * MON-FRI/2#1",
        "* * * * 1#1#2",
        "* * * * 8L",
        "* * * * 1-8#1",
        "0~30 * * * *",
        "H/15 * * * *",
        "R(0-29) * * * *",
        "0 H * * *",
        "0 0 1 1 * 2030",
        "0 0 0 1 1 ? 2030",
        "* * * * 5#6",
        "* * * * 5#0",
        "* * * * XYZ#1",
        "* * * * XYZL",
        "* * * * L5",
        "* * * MON *",
        "JAN * * * *",
        "٣ * * * *",
        "* * * * \uff11",
        "0 0 1 1 *\x00",
        "1.5 * * * *",
        "000 * * * *",
        "L * * * *",
        "* * L/2 * *",
        "* * * L *",
        "0 " * 200,
    ],
)
def test_what_is_no_cron_expression_is_refused(wrong: str) -> None:
    """Garbage, hashed and random forms, other scripts' digits and years all raise the same error."""
    with pytest.raises(InvalidValue) as refused:
        parse_cron(wrong)
    assert refused.value.field == "cron"
    assert refused.value.expected


@pytest.mark.parametrize("wrong", [None, 5, ["* * * * *"], b"* * * * *"])
def test_what_is_no_text_is_refused_as_cron(wrong: object) -> None:
    """Input of any type gets the same kind of answer."""
    with pytest.raises(InvalidValue, match=r"^cron: "):
        parse_cron(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "never", ["0 0 31 4 *", "0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 */31 * FRI#5", "0 0 30-31 FEB */2"]
)
def test_a_day_that_never_comes_is_refused(never: str) -> None:
    """An expression that can never fire is refused when it is read, not discovered years later."""
    with pytest.raises(InvalidValue, match="never comes"):
        parse_cron(never)


def test_the_error_names_the_field_that_is_wrong() -> None:
    """A person sees which of the five fields to mend, and how."""
    with pytest.raises(InvalidValue, match="'24' is wrong: the hour field takes 0-23"):
        parse_cron("0 24 * * *")
    with pytest.raises(InvalidValue, match="the month field takes 1-12 or JAN-DEC"):
        parse_cron("0 0 1 FOO *")


def test_a_leap_day_on_a_weekday_waits_up_to_forty_years() -> None:
    """The rarest expressions still fire, across a century that has no leap day."""
    fire = next_fire("0 0 29 2 */6", "UTC", datetime(2098, 1, 1, tzinfo=UTC))
    assert fire == datetime(2116, 2, 29, tzinfo=UTC)


def test_equal_texts_are_parsed_once() -> None:
    """The cache is what makes one fire cheap."""
    assert parse_cron("0 9 * * 1-5") is parse_cron("0 9 * * 1-5")


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("H * * * *", "spread runs by jitter_ms"),
        ("0~59 * * * *", "spread runs by jitter_ms"),
        ("0 0 0 1 1 ? 2030", "leave the year out"),
        ("0 ? * * *", "write `[*]` elsewhere"),
        ("0 0 L5 * *", "day-of-month field takes 1-31, with lists, ranges and steps; L, L-3, 25-L, 15W and LW too"),
        ("0 0 * * L5", "FRI#2, MON-FRI#1 and 5L"),
        ("0 0 32-L * *", "'32-L' is wrong"),
        ("@reboot", "one of @yearly"),
        ("\uff11 * * * *", "plain ASCII"),
    ],
)
def test_a_refusal_says_what_would_be_right(wrong: str, right: str) -> None:
    """Also for forms that other tools know: the error tells the way to say it here."""
    with pytest.raises(InvalidValue, match=right):
        parse_cron(wrong)


@pytest.mark.parametrize("never", ["0 0 L-30 2 *", "0 0 L-29 FEB ?"])
def test_a_day_before_the_months_first_never_comes(never: str) -> None:
    """February has no 31 days to count back from."""
    with pytest.raises(InvalidValue, match="never comes"):
        parse_cron(never)


@given(st.integers(1995, 2060), st.integers(1, 12), st.integers(1, 31))
def test_the_nearest_working_day_is_the_nearest(year: int, month: int, day: int) -> None:
    """By brute force: no working day of the month is closer, and of two as close there is none."""
    length = monthrange(year, month)[1]
    working = [at for at in range(1, length + 1) if date(year, month, at).weekday() < 5]
    expected = min(working, key=lambda at: abs(at - min(day, length)))
    assert parse_cron(f"0 0 {day}W * *").fields.days.of_month(year, month) == (expected,)
    assert parse_cron("0 0 LW * *").fields.days.of_month(year, month) == (working[-1],)


@given(
    st.sampled_from([(0, 0, 59), (1, 0, 23), (2, 1, 31), (3, 1, 12)]), st.integers(0, 59), st.integers(0, 59), st.data()
)
def test_a_range_walks_from_its_first_to_its_last_value(
    field: tuple[int, int, int], first: int, last: int, data: st.DataObject
) -> None:
    """Step by step on the field's dial, over its end if need be."""
    place, low, high = field
    size = high - low + 1
    first, last, step = low + first % size, low + last % size, data.draw(st.integers(1, high))
    texts = ["0", "0", "*", "*", "*"]
    texts[place] = f"{first}-{last}/{step}"
    at, taken, expected = first, 0, {first}
    while at != last:
        at, taken = low + (at - low + 1) % size, taken + 1
        if taken % step == 0:
            expected.add(at)
    fields = read_fields(" ".join(texts))
    assert [fields.minutes, fields.hours, fields.days.dates, fields.months][place] == (
        frozenset(expected) if place == 2 else tuple(sorted(expected))
    )
