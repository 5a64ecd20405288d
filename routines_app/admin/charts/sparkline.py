"""The last slots of a routine in the space of a word: height is duration, colour is outcome, a foot is a retry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import median

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from routines_app.admin.charts.outcome_words import counted
from routines_app.admin.charts.svg import chart, element
from routines_app.admin.phrases import seconds_in_words

SLOTS = 30
STEP, BAR_WIDTH, HEIGHT = 4, 3, 24
LOWEST = 3  # a run that took no time is still a run
FOOT = 3  # beneath slots that needed more than one attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One slot: the `outcome` of its last attempt, and in `seconds` how long its body took (None: it never ran)."""

    outcome: str
    seconds: float | None = None
    attempts: int = 1


def sparkline(bars: Sequence[Bar]) -> SafeString:
    """The newest 30 of `bars` (oldest first), drawn from the right so that rows of a list line up."""
    shown = bars[-SLOTS:]
    longest = max((bar.seconds or 0.0 for bar in shown), default=0.0)
    first = SLOTS - len(shown)
    paths: dict[str, list[str]] = {}
    for place, bar in enumerate(shown, start=first):
        paths.setdefault(bar.outcome, []).append(_column(place, _height(bar, longest)))
    drawn = [element("path", class_=f"rt-{outcome.lower()}", d="".join(parts)) for outcome, parts in paths.items()]
    if feet := [_column(place, FOOT) for place, bar in enumerate(shown, start=first) if bar.attempts > 1]:
        drawn.append(element("path", class_="rt-retried", d="".join(feet)))
    baseline = element("path", class_="rt-baseline", d=f"M0 {HEIGHT - 0.5}H{SLOTS * STEP}")
    return chart(SLOTS * STEP, HEIGHT, describe(shown), baseline, *drawn, class_="rt-spark")


def describe(bars: Sequence[Bar]) -> str:
    """The same in words, for the tooltip and the screen reader."""
    if not bars:
        return _("No runs yet")
    counts = Counter(bar.outcome.lower() for bar in bars)
    words = ", ".join(counted(outcome, count) for outcome, count in counts.most_common())
    slots = ngettext("Last slot: {outcomes}", "Last {count} slots: {outcomes}", len(bars))
    said = [slots.format(count=len(bars), outcomes=words)]
    if retried := sum(bar.attempts > 1 for bar in bars):
        said.append(ngettext("{count} needed retries", "{count} needed retries", retried).format(count=retried))
    if lengths := [bar.seconds for bar in bars if bar.seconds is not None]:
        said.append(_("median {length}").format(length=seconds_in_words(median(lengths))))
    return "; ".join(said)


def _height(bar: Bar, longest: float) -> float:
    lowest = LOWEST + FOOT if bar.attempts > 1 else LOWEST  # the foot hides no outcome
    if bar.seconds is None or longest <= 0:
        return float(lowest)
    # The square root keeps short runs visible beside one that took a hundred times longer.
    return lowest + (HEIGHT - lowest) * sqrt(bar.seconds / longest)


def _column(place: int, height: float) -> str:
    return f"M{place * STEP} {HEIGHT}v-{height:.1f}h{BAR_WIDTH}v{height:.1f}z"
