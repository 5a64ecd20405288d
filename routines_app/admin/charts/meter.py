"""How full something is: a pool, a run's progress."""

from __future__ import annotations

from django.utils.safestring import SafeString

from routines_app.admin.charts.svg import chart, element

WIDTH, HEIGHT = 200, 8


def meter(done: float, total: float, *, label: str, class_: str = "rt-running") -> SafeString:
    """A bar that is filled by done/total, never beyond its end."""
    share = min(max(done / total, 0.0), 1.0) if total > 0 else 0.0
    track = element("rect", width=WIDTH, height=HEIGHT, rx=4, class_="rt-track")
    filled = element("rect", width=WIDTH * share, height=HEIGHT, rx=4, class_=class_)
    return chart(WIDTH, HEIGHT, label, track, filled, class_="rt-meter", stretch=True)
