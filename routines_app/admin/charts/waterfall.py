"""Steps that follow each other, each a bar on a line of its own: what took how much of the whole.

The bars stand in the rows of a table, whose words say the same: the picture is for the eye alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.safestring import SafeString

from routines_app.admin.charts.svg import element

WIDTH, HEIGHT = 1000, 12
SMALLEST = 6.0  # a millisecond beside an hour can still be seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    start: datetime
    end: datetime
    kind: str
    """Part of the class that gives it its colour."""


def waterfall(stages: Sequence[Stage]) -> list[SafeString]:
    """A bar for each stage, on one scale from the first start to the last end."""
    if not stages:
        return []
    first, last = min(stage.start for stage in stages), max(stage.end for stage in stages)
    whole = (last - first).total_seconds() or 1.0
    return [_bar(stage, (stage.start - first).total_seconds() / whole, whole) for stage in stages]


def _bar(stage: Stage, begins: float, whole: float) -> SafeString:
    width = max((stage.end - stage.start).total_seconds() / whole * WIDTH, SMALLEST)
    x = min(begins * WIDTH, WIDTH - width)
    track = element("rect", width=WIDTH, height=HEIGHT, class_="rt-track")
    bar = element("rect", x=x, width=width, height=HEIGHT, class_=f"rt-stage-{stage.kind}")
    return element(
        "svg",
        track,
        bar,
        class_="rt-waterfall",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        preserveAspectRatio="none",
        aria_hidden="true",
    )
