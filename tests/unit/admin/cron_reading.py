"""The sentences about cron expressions, read back as a person would: which local times do these words promise?

It knows nothing of cron and nothing of how the sentences are made; a sentence that it cannot read is an error.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from datetime import datetime, timedelta

Promise = Callable[[datetime], bool]
"""Whether the words promise a fire at this local time."""

MONTHS = {name: number for number, name in enumerate(calendar.month_name) if name}
WEEKDAYS = {name: number for number, name in enumerate(calendar.day_name)}  # Monday is 0
WHICH = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5}
_MONTH, _WEEKDAY = "|".join(MONTHS), "|".join(WEEKDAYS)
_SENTENCE = re.compile(
    rf"(?P<clock>(?:Every|At) .+?)(?:, (?P<days>(?:on the|every|{_WEEKDAY})\b.+?))?"
    rf"(?:, (?P<months>(?:in|from) (?:{_MONTH})\b.*))?"
)
_CLOCK = re.compile(
    r"(?:(?:Every(?: (?P<step>\d+))? (?P<unit>second|minute|hour)s?)|At (?P<named>second|minute)s? (?P<values>.+?)"
    r"|At (?P<times>\d\d:.+))"
    r"(?: of every minute)?(?:, in minutes? (?P<minutes>.+?))?(?: of every hour)?(?:, in hours? (?P<hours>.+?))?"
    r"(?:, (?:between|from) (?P<first>\d\d):00 (?:and|to) (?P<last>\d\d):(?:59|00))?"
)


def promised_by(words: str) -> Promise:
    """What a sentence promises."""
    parts = _matched(_SENTENCE, words)
    clock, days, months = _clock(parts["clock"]), _days(parts["days"]), _months(parts["months"])
    return lambda local: clock(local) and days(local) and months(local)


def _matched(pattern: re.Pattern[str], words: str) -> dict[str, str]:
    found = pattern.fullmatch(words)
    assert found, f"nobody can read {words!r}"
    return {name: value or "" for name, value in found.groupdict().items()}


def _clock(words: str) -> Promise:
    said = _matched(_CLOCK, words)
    if said["times"]:
        times = {time if len(time) == 8 else f"{time}:00" for time in _pieces(said["times"])}
        return lambda local: f"{local:%H:%M:%S}" in times
    finest = said["unit"] or said["named"]
    step = int(said["step"] or 1)
    kept = (24 if finest == "hour" else 60) % step == 0 or ", from " in words
    assert kept, f"{words!r} promises a distance that the next hour or day does not keep"
    anchor = int(said["first"] or 0) if finest == "hour" else 0
    allowed = {
        "second": set(range(60)) if finest == "second" else {0},
        "minute": {0} if finest == "hour" else set(range(60)),
        "hour": _hours(said),
    }
    allowed[finest] &= (
        _numbers(said["values"]) if said["values"] else {n for n in range(60) if (n - anchor) % step == 0}
    )
    if said["minutes"]:
        allowed["minute"] &= _numbers(said["minutes"])
    return lambda local: (
        local.second in allowed["second"] and local.minute in allowed["minute"] and local.hour in allowed["hour"]
    )


def _hours(said: dict[str, str]) -> set[int]:
    if said["hours"]:
        return _numbers(said["hours"])
    return _around(int(said["first"]), int(said["last"]), 0, 24) if said["first"] else set(range(24))


def _around(first: int, last: int, low: int, size: int) -> set[int]:
    """The values from the first to the last, across the end if need be."""
    return {low + (first - low + n) % size for n in range((last - first) % size + 1)}


def _pieces(words: str) -> list[str]:
    return re.split(r", | and | or ", words)


def _numbers(words: str) -> set[int]:
    """`0, 7 to 9 and 21`, `0, 2, 4 … 22`, with or without `the` and `st`, `nd`, `rd`, `th`."""
    plain = re.sub(r"(?<=\d)(?:st|nd|rd|th)\b|\bthe ", "", words)
    if steps := re.fullmatch(r"(\d+), (\d+), \d+ … (\d+)", plain):
        first, second, last = map(int, steps.groups())
        return set(range(first, last + 1, second - first))
    found: set[int] = set()
    for piece in _pieces(plain):
        low, _, high = piece.partition(" to ")
        found.update(range(int(low), int(high or low) + 1))
    return found


def _months(words: str) -> Promise:
    if span := re.fullmatch(r"from (\w+) to (\w+)", words):
        allowed = _around(MONTHS[span[1]], MONTHS[span[2]], 1, 12)
    else:
        allowed = {MONTHS[name] for name in _pieces(words.removeprefix("in "))} if words else set(range(1, 13))
    return lambda local: local.month in allowed


def _days(words: str) -> Promise:
    dates, narrows, weekdays = words.partition(", but only if it is ")
    if narrows:
        by_date, by_weekday = _any_day(dates), _any_day(weekdays)
        return lambda local: by_date(local) and by_weekday(local)
    return _any_day(words) if words else lambda _: True


def _any_day(words: str) -> Promise:
    """Any of the listed days: `on the 1st, 15th to 20th and every Monday and on the second Friday of the month`."""
    words = re.sub(r"\b(?:on|every) ", "", words)
    if steps := re.match(r"the \d+\w\w, \d+\w\w, \d+\w\w … \d+\w\w", words):
        dates, rest = _numbers(steps[0]), re.sub(r"^(?:, | and )", "", words[steps.end() :])
        others = _any_day(rest) if rest else (lambda _: False)
        return lambda local: local.day in dates or others(local)
    promises = [_day(piece) for piece in re.split(r", | and | or (?!the end)", words)]
    return lambda local: any(promise(local) for promise in promises)


def _day(piece: str) -> Promise:
    if found := re.fullmatch(rf"(?:a )?({_WEEKDAY})(?: to ({_WEEKDAY}))?", piece):
        allowed = _around(WEEKDAYS[found[1]], WEEKDAYS[found[2] or found[1]], 0, 7)
        return lambda local: local.weekday() in allowed
    if found := re.fullmatch(rf"the (\w+) ({_WEEKDAY}) of the month", piece):
        return _numbered(found[1], WEEKDAYS[found[2]])
    if found := re.fullmatch(r"the (first|last) working day of the month", piece):
        place = 0 if found[1] == "first" else -1
        return lambda local: local.day == _working_days(local)[place]
    if found := re.fullmatch(r"the working day nearest the (\d+)\w\w( or the end of a shorter month)?", piece):
        date = int(found[1])
        return lambda local: (
            local.day == min(_working_days(local), key=lambda day: abs(day - min(date, _length(local))))
        )
    if found := re.fullmatch(r"the (?:last day of the month|(?:(\d+)\w\w )?(day) before the month's last)", piece):
        before = int(found[1] or 1) if found[2] else 0
        return lambda local: local.day == _length(local) - before
    dates = _numbers(piece)
    return lambda local: local.day in dates


def _numbered(which: str, weekday: int) -> Promise:
    if which == "last":
        return lambda local: local.weekday() == weekday and (local + timedelta(days=7)).month != local.month
    return lambda local: local.weekday() == weekday and (local.day + 6) // 7 == WHICH[which]


def _length(local: datetime) -> int:
    return calendar.monthrange(local.year, local.month)[1]


def _working_days(local: datetime) -> list[int]:
    return [day for day in range(1, _length(local) + 1) if local.replace(day=day).weekday() < 5]
