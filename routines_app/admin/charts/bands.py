"""Lengths of time where runs are too many for dots: of each bucket the middle one, and what 95 % stay within."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from routines_app.admin.charts.amounts import SECONDS
from routines_app.admin.charts.axes import AmountAxis, TimeAxis
from routines_app.admin.charts.scatter import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, limit_line, time_labels
from routines_app.admin.charts.svg import chart, element, linked, text


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """One bucket that measured something: half of it took at most `middle` seconds, 95 % at most `high`."""

    begin: datetime
    end: datetime
    middle: float
    high: float
    label: str
    href: str | None = None


def bands(
    measured: Sequence[Band], *, start: datetime, end: datetime, zone: tzinfo, label: str, limit: float | None = None
) -> SafeString:
    """A bar from the middle to the high one of each; `limit` draws a line, for example the time-out."""
    most = max((band.high for band in measured), default=0.0)
    amounts = AmountAxis.covering(most * 1.05, top=TOP, bottom=BOTTOM, unit=SECONDS)
    times = TimeAxis(start=start, end=end, left=LEFT, right=RIGHT, zone=zone)
    drawn = [*amounts.drawn(LEFT, RIGHT), *limit_line(limit, amounts), *time_labels(times)]
    drawn += [_band(band, times, amounts) for band in measured]
    if not measured:
        drawn.append(text((LEFT + RIGHT) / 2, (TOP + BOTTOM) / 2, _("Nothing in this window"), "rt-empty", "middle"))
    return chart(
        WIDTH, HEIGHT, _("{label}: median and 95 %").format(label=label), *drawn, class_="rt-scatter", links=True
    )


def _band(band: Band, times: TimeAxis, amounts: AmountAxis) -> SafeString:
    x, end = times.x(band.begin), times.x(band.end)
    middle, high = amounts.y(band.middle), amounts.y(band.high)
    width = max(end - x - 1, 1.5)
    shapes = [
        element("rect", x=x, y=TOP, width=end - x, height=BOTTOM - TOP, class_="rt-hit"),
        element("rect", x=x, y=high, width=width, height=max(BOTTOM - high, 0.5), class_="rt-band-high"),
        element("rect", x=x, y=middle - 1, width=width, height=2, class_="rt-band-middle"),
    ]
    return linked(band.href, band.label, element("g", element("title", band.label), *shapes, class_="rt-stack"))
