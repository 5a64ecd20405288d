"""The pictures of the documentation: which pages, which part of each, and what a picture must be to be shown."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from operator import sub
from pathlib import Path
from typing import Any

from PIL import Image, ImageStat

WIDTH = 1280
MARGIN = 14  # pixels around the part of a page that is shown
COLOURS = 128  # with letters that have soft edges; a third of the bytes of all colours
APART = 7  # levels of a channel between two of them: nearer ones would be taken for each other
MOST_BYTES = 80_000
LOOKS = ("light", "dark")
MIDDLE_GREY = 128
FLATTEST = 4.0  # standard deviation of the brightness; the emptiest of these pages has more than five times as much
WRITTEN_TO = "ROUTINES_PICTURES"
"""The variable that names where pictures go. Without it they are taken, judged, and left in the test's directory."""


@dataclass(frozen=True, kw_only=True)
class Shot:
    """A page down to the end of an element; with `since`, the window as it is when scrolled to that one."""

    name: str
    until: str
    since: str = ""
    below: int = MARGIN
    beside: str = ""
    """What comes by itself a moment later, and belongs into the picture."""


def card(title: str) -> str:
    return f'.rt-card:has(h2:text-is("{title}"))'


def part(title: str) -> str:
    return f'fieldset:has(h2:text-is("{title}"))'


PREVIEW = "[data-preview] table"
SHOTS = (
    Shot(name="routines", until="#result_list"),
    Shot(name="routine", until=card("Interval over time")),
    Shot(name="why", since=card("Why did it run, or not?"), until=card("Why did it run, or not?")),
    Shot(name="run", until=card("Chain")),
    Shot(name="runs", until="#result_list tbody tr:nth-child(16)", below=0),
    Shot(name="errors", until=".rt-card:last-of-type"),
    Shot(name="fleet", until=card("Beats and workers")),
    Shot(name="agenda", until=f"{card('Next fires')} tbody tr:nth-child(10)", below=0),
    Shot(name="batch", until=card("Its routines")),
    Shot(name="form", since=part("When"), until=part("When runs meet, and when slots are missed"), beside=PREVIEW),
    Shot(name="rotation", until=card("Ticks")),
)


def file_of(shot: Shot, look: str) -> str:
    return f"{shot.name}-{look}.png"


def directory(otherwise: Path) -> Path:
    return Path(os.environ.get(WRITTEN_TO) or otherwise)


def keep(taken: Path, wanted: Path, top: float, bottom: float) -> Image.Image:
    """The part of a page between two heights, in few colours."""
    with Image.open(taken) as page:
        part = page.convert("RGB").crop((0, max(0, int(top)), page.width, min(page.height, int(bottom))))
    few = part.quantize(palette=_palette(part), dither=Image.Dither.NONE)
    wanted.parent.mkdir(parents=True, exist_ok=True)
    few.save(wanted, optimize=True)
    return part


def _palette(picture: Image.Image) -> Image.Image:
    """The most frequent colours as they are, so that no surface gets a tint; what is near one of them goes with it."""
    counted: list[tuple[int, Any]] = sorted(picture.getcolors(picture.width * picture.height) or [], reverse=True)
    chosen: list[tuple[int, ...]] = []
    for _, colour in counted:
        if all(max(map(abs, map(sub, colour, other))) >= APART for other in chosen):
            chosen.append(colour)
        if len(chosen) == COLOURS:
            break
    palette = Image.new("P", (1, 1))
    palette.putpalette([level for colour in chosen for level in colour])
    return palette


def problems(picture: Image.Image, look: str) -> list[str]:
    """What makes it no picture of a page in that theme."""
    grey = ImageStat.Stat(picture.convert("L"))
    rules: dict[str, Callable[[], bool]] = {
        f"it is {picture.width} pixels wide": lambda: picture.width != WIDTH,
        "nothing is on it": lambda: grey.stddev[0] < FLATTEST,
        f"it is not {look}": lambda: (grey.median[0] > MIDDLE_GREY) != (look == "light"),
    }
    return [said for said, holds in rules.items() if holds()]
