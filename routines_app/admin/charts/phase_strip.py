"""Where a member of a rotation is in its cycle: a small step for each phase."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy

from routines_app.admin.charts.svg import chart, element

WIDTH, HEIGHT = 96.0, 12.0
GAP, WIDEST = 3.0, 30.0
WORDS = {
    "done": pgettext_lazy("a phase", "done"),
    "running": pgettext_lazy("a phase", "running"),
    "next": pgettext_lazy("a phase", "next"),
    "failed": pgettext_lazy("a phase", "failed"),
    "later": pgettext_lazy("a phase", "to come"),
}


@dataclass(frozen=True, slots=True)
class PhaseStep:
    """One phase; `state` is `done`, `running`, `next`, `failed` or `later`."""

    name: str
    state: str

    @property
    def label(self) -> str:
        return f"{self.name or _('the whole cycle')}: {WORDS[self.state]}"


def phase_strip(steps: Sequence[PhaseStep]) -> SafeString:
    """Steps from left to right, all in the same room whatever their number, so that rows of a table line up."""
    width = min(WIDEST, (WIDTH + GAP) / max(len(steps), 1) - GAP)
    drawn = [_step(step, place * (width + GAP), width) for place, step in enumerate(steps)]
    return chart(WIDTH, HEIGHT, describe(steps), *drawn, class_="rt-phases")


def describe(steps: Sequence[PhaseStep]) -> str:
    """The same in words, for whoever cannot see it."""
    return ", ".join(step.label for step in steps) or _("No phases")


def _step(step: PhaseStep, x: float, width: float) -> SafeString:
    inset = 0.75  # half of the line around it
    return element(
        "rect",
        element("title", step.label),
        x=x + inset,
        y=inset,
        width=max(width - 2 * inset, 1.0),
        height=HEIGHT - 2 * inset,
        rx=2.5,
        class_=f"rt-phase rt-phase-{step.state}",
    )
