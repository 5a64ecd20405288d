"""The pictures of the documentation: which pages, which part of each, and what a picture must be to be shown."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageStat

WIDTH = 1280
MARGIN = 14  # pixels around the part of a page that is shown
COLOURS = 96  # enough for letters with soft edges; a quarter of the bytes that all colours take
MOST_BYTES = 80_000
LOOKS = ("light", "dark")
MIDDLE_GREY = 128
FLATTEST = 4.0  # standard deviation of the brightness: an empty page, with the admin's header alone, is above it
WRITTEN_TO = "ROUTINES_PICTURES"
"""The variable that names where pictures go. Without it they are taken, judged, and left in the test's directory."""


@dataclass(frozen=True, kw_only=True)
class Shot:
    """A page, from one element of it down to another. `since` empty: from its top; `until`: to the end of that."""

    name: str
    until: str
    since: str = ""
    beside: str = ""
    """What comes by itself a moment later, and belongs into the picture."""


def card(title: str) -> str:
    return f'.rt-card:has(h2:text-is("{title}"))'


SHOTS = (
    Shot(name="routines", until="#result_list"),
    Shot(name="routine", until=card("Interval over time")),
    Shot(name="why", since=card("Why did it run, or not?"), until=card("Why did it run, or not?")),
    Shot(name="run", until=card("Chain")),
    Shot(name="runs", until="#result_list tbody tr:nth-child(16)"),
    Shot(name="errors", until=".rt-card:last-of-type"),
    Shot(name="fleet", until=card("Beats and workers")),
    Shot(name="agenda", until=f"{card('Next fires')} tbody tr:nth-child(10)"),
    Shot(name="batch", until=card("Its routines")),
    Shot(name="form", until="fieldset:has(h2:text-is('When'))", beside="[data-preview] table"),
    Shot(name="rotation", until=card("Staleness over time")),
)


def file_of(shot: Shot, look: str) -> str:
    return f"{shot.name}-{look}.png"


def directory(otherwise: Path) -> Path:
    return Path(os.environ.get(WRITTEN_TO) or otherwise)


def keep(taken: Path, wanted: Path, top: float, bottom: float) -> Image.Image:
    """The part of a page between two heights, in few colours."""
    with Image.open(taken) as page:
        part = page.convert("RGB").crop((0, max(0, int(top)), page.width, min(page.height, int(bottom))))
    few = part.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    wanted.parent.mkdir(parents=True, exist_ok=True)
    few.save(wanted, optimize=True)
    return part


def problems(picture: Image.Image, look: str) -> list[str]:
    """What makes it no picture of a page in that theme."""
    grey = ImageStat.Stat(picture.convert("L"))
    rules: dict[str, Callable[[], bool]] = {
        f"it is {picture.width} pixels wide": lambda: picture.width != WIDTH,
        "nothing is on it": lambda: grey.stddev[0] < FLATTEST,
        f"it is not {look}": lambda: (grey.median[0] > MIDDLE_GREY) != (look == "light"),
    }
    return [said for said, holds in rules.items() if holds()]
