"""Server-rendered SVG charts, one kind in each module: pure functions from values to markup.

No models, no requests, no clock: who calls brings the values, the bounds and the timezone.

Colours come from CSS classes (`rt-success`, `rt-failed` …) and geometry from SVG attributes, so the pages need
neither inline styles nor scripts and work under a strict Content-Security-Policy, in dark and in light.
"""

from routines_app.admin.charts.amounts import COUNTS, SECONDS
from routines_app.admin.charts.bands import Band, bands
from routines_app.admin.charts.column_chart import Column, column_chart
from routines_app.admin.charts.lines import Sample, lines
from routines_app.admin.charts.meter import meter
from routines_app.admin.charts.pace import Change, Step, pace
from routines_app.admin.charts.phase_strip import PhaseStep, phase_strip
from routines_app.admin.charts.scatter import Point, scatter
from routines_app.admin.charts.shares import Share, shares
from routines_app.admin.charts.sparkline import Bar, sparkline
from routines_app.admin.charts.stacks import Stack, stacks
from routines_app.admin.charts.tick_strip import Tick, tick_strip
from routines_app.admin.charts.timeline import TimelineSpan, timeline
from routines_app.admin.charts.waterfall import Stage, waterfall

__all__ = ["COUNTS", "SECONDS", "Band", "Bar", "Change", "Column", "PhaseStep", "Point", "Sample", "Share"]
__all__ += ["Stack", "Stage", "Step", "Tick", "TimelineSpan"]
__all__ += [
    "bands",
    "column_chart",
    "lines",
    "meter",
    "pace",
    "phase_strip",
    "scatter",
    "shares",
    "sparkline",
    "tick_strip",
]
__all__ += ["stacks", "timeline", "waterfall"]
