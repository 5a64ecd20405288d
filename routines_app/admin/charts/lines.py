"""Lengths of time over time, as lines: how stale the stalest member of a rotation is, and the one in the middle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from itertools import pairwise
from math import ceil

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from routines_app.admin.charts.amounts import seconds_in_short
from routines_app.admin.charts.axes import LENGTHS, AmountAxis, TimeAxis
from routines_app.admin.charts.svg import chart, element, text
from routines_app.admin.phrases import seconds_in_words

WIDTH, HEIGHT = 1000, 220
LEFT, RIGHT, TOP, BOTTOM = 64, 990, 12, 196
MOST_STEPS = 4
KINDS = ("stalest", "median")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Both lengths at one moment; None where there was nothing to measure."""

    at: datetime
    stalest: float | None
    median: float | None
    label: str

    def of(self, kind: str) -> float | None:
        return self.stalest if kind == "stalest" else self.median


def lines(
    samples: Sequence[Sample], *, start: datetime, end: datetime, zone: tzinfo, limit: float | None = None
) -> SafeString:
    """A line for each kind, in the order of time; `limit` draws a line across, for example how long one is fresh."""
    most = max((value for one in samples if (value := one.stalest) is not None), default=0.0)
    step = _step(most)
    highest = step * max(1, ceil(most / step))
    times = TimeAxis(start=start, end=end, left=LEFT, right=RIGHT, zone=zone)
    lengths = AmountAxis(highest=highest, top=TOP, bottom=BOTTOM, label=seconds_in_short)
    drawn = [*times.drawn(TOP, BOTTOM), *_grid(lengths, step), *_limit(limit, lengths)]
    drawn += [part for kind in KINDS for part in _line(samples, kind, times, lengths)]
    drawn += _hits(samples, times)
    if not samples:
        words = _("Nothing was measured in this window yet: the first samples come within ten minutes")
        drawn.append(text((LEFT + RIGHT) / 2, (TOP + BOTTOM) / 2, words, "rt-empty", "middle"))
    count = len(samples)
    label = ngettext("Staleness over time: {count} moments", "Staleness over time: {count} moments", count)
    label = label.format(count=count)
    return chart(WIDTH, HEIGHT, label, element("desc", describe(samples)), *drawn, class_="rt-lines")


def describe(samples: Sequence[Sample]) -> str:
    """The same in words, for whoever cannot see it."""
    return "; ".join(_said(kind, [v for one in samples if (v := one.of(kind)) is not None]) for kind in KINDS)


def _said(kind: str, values: Sequence[float]) -> str:
    if not values:
        return _("stalest: not measured") if kind == "stalest" else _("median: not measured")
    least, most, last = (seconds_in_words(value) for value in (min(values), max(values), values[-1]))
    if kind == "stalest":
        said = _("stalest: between {least} and {most}, {last} at last")
    else:
        said = _("median: between {least} and {most}, {last} at last")
    return said.format(least=least, most=most, last=last)


def _step(most: float) -> float:
    """A length that people name, of which a few make up the highest."""
    return next((length for length in LENGTHS if most / length <= MOST_STEPS), LENGTHS[-1])


def _grid(lengths: AmountAxis, step: float) -> list[SafeString]:
    parts = []
    for place in range(round(lengths.highest / step) + 1):
        y = lengths.y(place * step)
        parts.append(element("path", class_="rt-grid", d=f"M{LEFT} {y:.1f}H{RIGHT}"))
        parts.append(text(LEFT - 6, y + 3.5, lengths.label(place * step), anchor="end"))
    return parts


def _limit(limit: float | None, lengths: AmountAxis) -> list[SafeString]:
    if limit is None or not 0 < limit <= lengths.highest:
        return []
    return [element("path", class_="rt-limit", d=f"M{LEFT} {lengths.y(limit):.1f}H{RIGHT}")]


def _line(samples: Sequence[Sample], kind: str, times: TimeAxis, lengths: AmountAxis) -> list[SafeString]:
    """One path; it is broken where nothing was measured. A moment that stands alone is a dot."""
    parts, begun = [], False
    for sample in samples:
        value = sample.of(kind)
        if value is None:
            begun = False
            continue
        command = "L" if begun else "M"
        parts.append(f"{command}{times.x(sample.at):.1f} {lengths.y(value):.1f}")
        parts += [] if begun else ["h.01"]
        begun = True
    return [element("path", d="".join(parts), class_=f"rt-line-of rt-line-{kind}")] if parts else []


def _hits(samples: Sequence[Sample], times: TimeAxis) -> list[SafeString]:
    """Unseen columns that tell the values of their moment to whoever points at them."""
    xs = [times.x(sample.at) for sample in samples]
    edges = [LEFT, *((one + two) / 2 for one, two in pairwise(xs)), RIGHT]
    return [
        element(
            "rect",
            element("title", one.label),
            x=x,
            y=TOP,
            width=max(end - x, 0.5),
            height=BOTTOM - TOP,
            class_="rt-hit",
        )
        for one, x, end in zip(samples, edges, edges[1:], strict=False)
    ]
