"""What became of the runs of each bucket of a time: a column for each, with a part for each outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from routines_app.admin.charts.amounts import COUNTS
from routines_app.admin.charts.axes import AmountAxis, TimeAxis
from routines_app.admin.charts.svg import chart, element, linked, text
from routines_app.admin.charts.widths import Width

HEIGHT, LEFT, TOP, BOTTOM = 150, 44, 8, 126
SMALLEST = 1.5  # pixels: one failure among thousands can still be seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """One bucket: how many of each kind, the lowest first; a kind is part of the class that gives it its colour."""

    begin: datetime
    end: datetime
    parts: Sequence[tuple[str, int]]
    label: str
    href: str | None = None

    @property
    def total(self) -> int:
        return sum(amount for _kind, amount in self.parts)


def stacks(columns: Sequence[Stack], *, start: datetime, end: datetime, zone: tzinfo, width: Width) -> SafeString:
    """The columns side by side over the whole time; each tells its numbers, and leads to its runs."""
    times = TimeAxis(start=start, end=end, left=LEFT, right=width.right, zone=zone, most_ticks=width.most_ticks)
    most = max((column.total for column in columns), default=0)
    amounts = AmountAxis.covering(most, top=TOP, bottom=BOTTOM, unit=COUNTS)
    drawn = [*times.drawn(TOP, BOTTOM), *amounts.drawn(LEFT, width.right)]
    drawn += [_column(column, times, amounts) for column in columns if column.total]
    if not most:
        drawn.append(text(width.middle, (TOP + BOTTOM) / 2, _("No runs in this window"), "rt-empty", "middle"))
    label = _("Runs of {count} parts of the window, by outcome").format(count=len(columns))
    return chart(width.pixels, HEIGHT, label, *drawn, class_=f"rt-timeline {width.class_}", links=True)


def _column(column: Stack, times: TimeAxis, amounts: AmountAxis) -> SafeString:
    x, end = times.x(column.begin), times.x(column.end)
    gap = min(1.5, (end - x) * 0.2)
    # The whole height answers the pointer: who looks at a low column need not hit it.
    hit = element("rect", x=x, y=TOP, width=end - x, height=BOTTOM - TOP, class_="rt-hit")
    shapes, y = [hit], float(BOTTOM)
    for kind, amount in column.parts:
        height = max(BOTTOM - amounts.y(amount), SMALLEST) if amount else 0.0
        y = max(y - height, float(TOP))
        if amount:
            shapes.append(element("rect", x=x, y=y, width=end - x - gap, height=height, class_=f"rt-{kind}"))
    group = element("g", element("title", column.label), *shapes, class_="rt-stack")
    return linked(column.href, column.label, group)
