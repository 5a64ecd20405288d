"""Lists inside of sentences, said so that another language can put its own word between the things."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from routines_app.core.said import Said, said, together


def listed(names: Iterable[str]) -> Said:
    """`a, b, c`, or that there is none."""
    return together(", ", names) or said("none")


def either(things: Sequence[str]) -> Said:
    """`a`, `a or b`, `a or b or c`: any of them would do."""
    if len(things) == 1:
        return together("", things)
    return said("{one} or {other}", one=things[0], other=either(things[1:]))
