"""The widths that a picture over time is drawn in: one for a page, one for a telephone; the style shows one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from django.utils.safestring import SafeString


class Width(NamedTuple):
    pixels: int
    most_ticks: int
    class_: str

    @property
    def right(self) -> int:
        return self.pixels - 10

    @property
    def middle(self) -> float:
        return self.pixels / 2


WIDE = Width(1000, 9, "rt-wide")
SLIM = Width(400, 4, "rt-slim")


def in_each_width(draw: Callable[[Width], SafeString]) -> SafeString:
    """Letters that shrink with the picture cannot be read: each width has its own picture."""
    return draw(WIDE) + draw(SLIM)
