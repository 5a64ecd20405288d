"""The timeline of a routine: a bar for each run from start to end, retries linked, skips marked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from routines_app.admin.charts.axes import TimeAxis
from routines_app.admin.charts.svg import chart, element, linked, text
from routines_app.admin.charts.widths import WIDE, Width

LEFT = 10
LANE, BAR_HEIGHT, TOP, FOOT = 20, 14, 6, 22
MOST_LANES = 12
SMALLEST = 3.0  # pixels: a run of a millisecond can still be seen and clicked


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineSpan:
    """One run. `start` and `end` bound what is drawn: the body, the wait, or the slot of a skip."""

    key: str
    outcome: str
    start: datetime
    end: datetime
    label: str
    href: str | None = None
    retry_of: str | None = None

    @property
    def is_mark(self) -> bool:
        """Runs that never had a body are marks on the line, not bars."""
        return self.start == self.end


@dataclass(frozen=True, slots=True)
class _Placed:
    span: TimelineSpan
    lane: int
    x: float
    width: float

    @property
    def middle(self) -> float:
        return TOP + self.lane * LANE + BAR_HEIGHT / 2


def timeline(
    spans: Sequence[TimelineSpan], *, start: datetime, end: datetime, zone: tzinfo, width: Width = WIDE
) -> SafeString:
    """A gantt of the spans; runs that overlap get lanes of their own."""
    axis = TimeAxis(start=start, end=end, left=LEFT, right=width.right, zone=zone, most_ticks=width.most_ticks)
    placed = _place(spans, axis)
    lanes = max((one.lane for one in placed), default=0) + 1
    bottom = TOP + lanes * LANE
    drawn = [*axis.drawn(0, bottom), *_now_line(axis, bottom), *_links(placed), *(_bar(one) for one in placed)]
    said = ngettext("Timeline of {count} runs", "Timeline of {count} runs", len(spans))
    label = said.format(count=len(spans)) if spans else _("No runs in this window")
    if not spans:
        drawn.append(text(width.middle, TOP + BAR_HEIGHT, label, class_="rt-empty", anchor="middle"))
    return chart(width.pixels, bottom + FOOT, label, *drawn, class_=f"rt-timeline {width.class_}", links=True)


def _place(spans: Sequence[TimelineSpan], axis: TimeAxis) -> list[_Placed]:
    """Greedy lanes: each span takes the first lane that is free where it begins."""
    free_from = [0.0] * MOST_LANES
    placed = []
    for span in sorted(spans, key=lambda span: (span.start, span.key)):
        x = axis.x(span.start)
        width = max(axis.x(span.end) - x, SMALLEST)
        lane = next((lane for lane, free in enumerate(free_from) if free <= x), MOST_LANES - 1)
        free_from[lane] = x + width + 1
        placed.append(_Placed(span, lane, x, width))
    return placed


def _bar(one: _Placed) -> SafeString:
    title = element("title", one.span.label)
    shape = _mark(one, title) if one.span.is_mark else _block(one, title)
    return linked(one.span.href, one.span.label, shape)


def _block(one: _Placed, title: str) -> SafeString:
    return element(
        "rect",
        title,
        x=one.x,
        y=one.middle - BAR_HEIGHT / 2,
        width=one.width,
        height=BAR_HEIGHT,
        rx=min(3.0, one.width / 2),
        class_=f"rt-bar rt-{one.span.outcome.lower()}",
    )


def _mark(one: _Placed, title: str) -> SafeString:
    diamond = f"M{one.x:.1f} {one.middle - 5:.1f}l5 5l-5 5l-5 -5z"
    return element("path", title, d=diamond, class_=f"rt-mark rt-{one.span.outcome.lower()}")


def _links(placed: Iterable[_Placed]) -> list[SafeString]:
    """A curve from the end of each attempt to the beginning of its retry."""
    by_key = {one.span.key: one for one in placed}
    curves = []
    for one in by_key.values():
        before = by_key.get(one.span.retry_of or "")
        if before is not None:
            x, y = before.x + before.width, before.middle
            bend = max((one.x - x) / 2, 8.0)
            reach = f"C{x + bend:.1f} {y:.1f} {one.x - bend:.1f} {one.middle:.1f} {one.x:.1f} {one.middle:.1f}"
            path = f"M{x:.1f} {y:.1f}{reach}"
            curves.append(element("path", class_="rt-link", d=path))
    return curves


def _now_line(axis: TimeAxis, bottom: float) -> list[SafeString]:
    return [element("path", class_="rt-now", d=f"M{axis.right:.1f} 0V{bottom:.1f}")]
