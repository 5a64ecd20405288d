"""Columns side by side: fires per hour, lateness per minute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString

from routines_app.admin.charts.amounts import Unit
from routines_app.admin.charts.axes import AmountAxis
from routines_app.admin.charts.svg import chart, element, text
from routines_app.admin.charts.widths import Width

HEIGHT, LEFT, TOP, BOTTOM = 150, 56, 10, 126
HALF = Width(500, 5, "")  # of a page: beside another one


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column; `tick` is written beneath it, `label` is its tooltip, `kind` part of the class of its colour."""

    amount: float
    label: str
    tick: str = ""
    kind: str = "plain"


def column_chart(
    bars: Sequence[Column], *, label: str, unit: Unit, limit: float | None = None, width: Width = HALF
) -> SafeString:
    """`limit` draws a line across that is always in sight, for example a ceiling."""
    most = max((bar.amount for bar in bars), default=0.0)
    amounts = AmountAxis.covering(max(most, limit or 0.0), top=TOP, bottom=BOTTOM, unit=unit)
    step = (width.right - LEFT) / max(len(bars), 1)
    drawn: list[SafeString] = amounts.drawn(LEFT, width.right)
    for place, bar in enumerate(bars):
        x = LEFT + place * step
        drawn += _column(bar, x, step, amounts)
    if limit is not None:
        drawn.append(element("path", class_="rt-limit", d=f"M{LEFT} {amounts.y(limit):.1f}H{width.right}"))
    return chart(width.pixels, HEIGHT, label, *drawn, class_=f"rt-columns {width.class_}".rstrip())


def _column(bar: Column, x: float, step: float, amounts: AmountAxis) -> list[SafeString]:
    y = amounts.y(bar.amount)
    gap = min(2.0, step * 0.2)
    title = element("title", bar.label)
    shape = element(
        "rect", title, x=x + gap / 2, y=y, width=step - gap, height=BOTTOM - y, rx=1.5, class_=f"rt-{bar.kind}"
    )
    label = [text(x + step / 2, BOTTOM + 15, bar.tick, anchor="middle")] if bar.tick else []
    return [shape, *label]
