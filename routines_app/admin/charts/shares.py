"""What a whole is made of: one bar with a part for each kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from routines_app.admin.charts.svg import chart, element

WIDTH, HEIGHT = 1000, 14
SMALLEST = 6.0  # one of 50,000 can still be seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    kind: str
    """Part of the class that gives it its colour."""
    label: str
    """With its number: `12 owed`."""
    count: int


def shares(parts: Sequence[Share]) -> SafeString:
    """The parts side by side, as long as they are many; a part that is nothing is not drawn."""
    there = [part for part in parts if part.count > 0]
    said = ", ".join(part.label for part in there) or _("nothing")
    track = element("rect", width=WIDTH, height=HEIGHT, class_="rt-track")
    return chart(WIDTH, HEIGHT, said, track, *_drawn(there), class_="rt-shares", stretch=True)


def _drawn(parts: Sequence[Share]) -> list[SafeString]:
    total, x, drawn = sum(part.count for part in parts), 0.0, []
    room = WIDTH - SMALLEST * len(parts)
    for part in parts:
        width = SMALLEST + room * part.count / total
        title = element("title", part.label)
        drawn.append(element("rect", title, x=x, width=width, height=HEIGHT, class_=f"rt-share-{part.kind}"))
        x += width
    return drawn
