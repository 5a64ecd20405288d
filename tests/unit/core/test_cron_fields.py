"""What a cron expression may say, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from routines_app.core.cron import next_fire, parse_cron
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
        "5-1 * * * *",
        "* 22-2 * * *",
        "* * * * FRI-MON",
        "1- * * * *",
        "-1 * * * *",
        "1,,2 * * * *",
        ", * * * *",
        "*/ * * * *",
        "1/2/3 * * * *",
        "** * * * *",
        "? * * * *",
        "* * ? * *",
        "R * * * *",
        "H * * * *",
        "H(0-5) * * * *",
        "R/5 * * * *",
        "* * LW * *",
        "* * 15W * *",
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
    """Garbage, hashed and random forms, other scripts' digits and Quartz signs all raise the same error."""
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


def test_a_range_over_every_hour_is_a_wildcard() -> None:
    """`0-23` means each hour, so it follows elapsed time through the autumn repeat as `*` does."""
    second_pass = datetime(2024, 10, 27, 1, tzinfo=UTC)  # 02:00 in Berlin for the second time
    assert next_fire("0 0-23 * * *", "Europe/Berlin", second_pass - timedelta(hours=1)) == second_pass
