"""Server-rendered SVG charts: pure functions from values to markup.

Colours come from CSS classes (`rt-success`, `rt-failed` …) and geometry from SVG attributes, so the pages need
neither inline styles nor scripts and work under a strict Content-Security-Policy, in dark and in light.
"""

from routines_app.admin.charts.columns import Column, columns
from routines_app.admin.charts.meter import meter
from routines_app.admin.charts.scatter import Point, scatter
from routines_app.admin.charts.sparkline import Bar, sparkline
from routines_app.admin.charts.timeline import Span, timeline

__all__ = ["Bar", "Column", "Point", "Span", "columns", "meter", "scatter", "sparkline", "timeline"]
