"""Amounts over time, a dot for each run: durations and lateness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from routines_app.admin.charts.amounts import SECONDS
from routines_app.admin.charts.axes import AmountAxis, TimeAxis
from routines_app.admin.charts.svg import chart, element, linked, text

WIDTH, HEIGHT = 500, 170
LEFT, RIGHT, TOP, BOTTOM = 56, 490, 10, 146


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    at: datetime
    seconds: float
    outcome: str
    label: str
    href: str | None = None


def scatter(
    points: Sequence[Point], *, start: datetime, end: datetime, zone: tzinfo, label: str, limit: float | None = None
) -> SafeString:
    """Dots for the points; `limit` draws a line, for example the time-out."""
    most = max((point.seconds for point in points), default=0.0)
    amounts = AmountAxis.covering(most * 1.05, top=TOP, bottom=BOTTOM, unit=SECONDS)
    times = TimeAxis(start=start, end=end, left=LEFT, right=RIGHT, zone=zone)
    drawn = [*amounts.drawn(LEFT, RIGHT), *limit_line(limit, amounts), *(_dot(p, times, amounts) for p in points)]
    drawn += time_labels(times)
    if not points:
        drawn.append(text((LEFT + RIGHT) / 2, (TOP + BOTTOM) / 2, _("Nothing in this window"), "rt-empty", "middle"))
    said = ngettext("{label}: {count} runs", "{label}: {count} runs", len(points))
    return chart(WIDTH, HEIGHT, said.format(label=label, count=len(points)), *drawn, class_="rt-scatter", links=True)


def _dot(point: Point, times: TimeAxis, amounts: AmountAxis) -> SafeString:
    place = {"cx": times.x(point.at), "cy": amounts.y(point.seconds)}
    title = element("title", point.label)
    dot = element("circle", title, r=3, class_=f"rt-dot rt-{point.outcome.lower()}", **place)
    return linked(point.href, point.label, dot)


def limit_line(limit: float | None, amounts: AmountAxis) -> list[SafeString]:
    """Where it is in sight: far above all others it would flatten the picture."""
    if limit is None or limit > amounts.highest:
        return []
    return [element("path", class_="rt-limit", d=f"M{LEFT} {amounts.y(limit):.1f}H{RIGHT}")]


def time_labels(times: TimeAxis) -> list[SafeString]:
    """Half as many as beneath the wide timeline: this chart is half as wide."""
    return [text(x, BOTTOM + 16, words, anchor="middle") for x, words in list(times.ticks())[::2]]
