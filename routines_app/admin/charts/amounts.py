"""Numbers on axes, as people read them: `6k` and `1.5M`, `500 ms`, `2 min` and `1.5 h`."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log10
from typing import NamedTuple

from routines_app.admin.phrases import UNITS, in_figures, in_unit

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86_400, 365 * 86_400
THOUSANDS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
# What the highest amount of an axis may be, in its unit: half of it is a number that people name, too.
OF_A_UNIT = ((MINUTE, (1, 2, 4, 6, 10, 20, 40)), (HOUR, (1, 2, 4, 6, 12)), (DAY, (1, 2, 4, 6, 10, 20, 60, 180)))


class Unit(NamedTuple):
    """How amounts of a kind are written, and which round amount an axis ends with."""

    label: Callable[[float], str]
    round_up: Callable[[float], float]


def count_in_short(amount: float) -> str:
    """`0`, `2.5`, `150`, `6k`, `1.5M`: three figures at most."""
    for size, sign in THOUSANDS:
        if round(amount) >= size:
            return f"{_three_figures(amount / size)}{sign}"
    return _three_figures(amount)


def seconds_in_short(seconds: float) -> str:
    """`0`, `500 ms`, `1.5 s`, `2 min`, `1.5 h`, `3 d`: one unit, three figures at most."""
    if seconds <= 0:
        return "0"
    for size in UNITS:
        if seconds >= size:
            return in_unit(size, seconds / size, _three_figures(seconds / size))
    return f"{_three_figures(seconds * 1000)} ms"


def round_up(amount: float) -> float:
    """The next of 1, 2, 4, 6, 10 times a power of ten: halves stay readable."""
    if amount <= 0:
        return 1.0
    power = 10.0 ** ceil(log10(amount) - 1)
    return next(base * power for base in (1, 2, 4, 6, 10, 20) if base * power >= amount * (1 - 1e-9))


def round_up_seconds(seconds: float) -> float:
    """The same for lengths of time: in whole minutes, hours and days where they are longer than a minute."""
    if seconds <= MINUTE * 2 / 3:
        return round_up(seconds)
    for unit, bases in OF_A_UNIT:
        for base in bases:
            if base * unit >= seconds:
                return float(base * unit)
    return round_up(seconds / YEAR) * YEAR


def _three_figures(amount: float) -> str:
    """Never `6e+03`, and no zeros behind the point."""
    places = 0 if amount >= 100 else 1 if amount >= 10 else 2
    shown = f"{amount:.{places}f}"
    return in_figures(shown.rstrip("0").rstrip(".") if "." in shown else shown, grouped=True)


COUNTS = Unit(count_in_short, round_up)
SECONDS = Unit(seconds_in_short, round_up_seconds)
