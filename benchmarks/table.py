"""The table: on the terminal, and as Markdown in a file."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import psutil

from benchmarks.figures import Figure

HEADINGS = ("figure", "ours", "peer", "against", "ratio", "bar", "")
VERDICTS = {True: "pass", False: "FAIL", None: ""}
PACKAGES = ("celery", "kombu", "django", "django-celery-beat", "celery-redbeat", "django-celery-results")


def as_text(figures: Sequence[Figure]) -> str:
    rows = [HEADINGS, *(cells(figure) for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    lines = ["  ".join(aligned(row, widths)).rstrip() for row in rows]
    return "\n".join([lines[0], "─" * len(max(lines, key=len)), *lines[1:]])


def aligned(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Words to the left, numbers to the right."""
    numbers = {"ours", "peer", "ratio", "bar"}
    return [
        cell.rjust(width) if heading in numbers else cell.ljust(width)
        for cell, width, heading in zip(row, widths, HEADINGS, strict=True)
    ]


def write_markdown(figures: Sequence[Figure], path: Path, title: str) -> None:
    lines = [f"# {title}", "", conditions(), "", row_of(HEADINGS), row_of(["---"] * len(HEADINGS))]
    lines += [row_of(cells(figure)) for figure in figures]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def row_of(row: Sequence[str]) -> str:
    return f"| {' | '.join(row)} |"


def conditions() -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    memory = psutil.virtual_memory().total / 2**30
    return f"{psutil.cpu_count()} cores, {memory:.0f} GiB, Python {platform.python_version()}, {packages}."


def cells(figure: Figure) -> tuple[str, ...]:
    return (
        figure.name,
        amount(figure.ours, figure.unit),
        "" if figure.peer is None else amount(figure.peer, figure.unit),
        figure.against,
        "" if figure.ratio is None else f"{figure.ratio:.3g}x" if figure.ratio < 100 else f"{figure.ratio:,.0f}x",
        "" if figure.bar is None else figure.bar.text(figure.unit),
        VERDICTS[figure.passed],
    )


def amount(value: float, unit: str) -> str:
    number = f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
    return f"{number}{unit}" if unit.startswith("/") else f"{number} {unit}".rstrip()
