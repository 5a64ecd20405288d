"""The plot: rate by N and lateness over time, in one picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

from benchmarks.figures import Series

mpl.use("Agg")  # a file, no window

TITLES = {
    "rate": ("Burst: messages per second, by how many are due at once", "due at once", "per second"),
    "lateness": ("Steady, 100 due per second: lateness of each message", "seconds", "ms after its slot"),
}


def draw(series: Sequence[Series], path: Path) -> None:
    """Only the plots that there is something for."""
    from matplotlib import pyplot

    plots = [plot for plot in TITLES if any(line.plot == plot for line in series)]
    if not plots:
        return
    figure, axes = pyplot.subplots(len(plots), 1, figsize=(10, 5 * len(plots)), squeeze=False, layout="constrained")
    for axis, plot in zip(axes[:, 0], plots, strict=True):
        draw_lines(axis, plot, [line for line in series if line.plot == plot])
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def draw_lines(axis: Any, plot: str, lines: Sequence[Series]) -> None:
    title, across, up = TITLES[plot]
    for line in lines:
        places, values = zip(*line.points, strict=True) if line.points else ((), ())
        axis.plot(places, values, ".", label=line.label, markersize=3) if plot == "lateness" else axis.plot(
            places, values, "o-", label=line.label
        )
    if plot == "rate":
        axis.set_xscale("log")
    axis.set(title=title, xlabel=across, ylabel=up, yscale="log")
    axis.grid(visible=True, which="both", alpha=0.2)
    axis.legend()
