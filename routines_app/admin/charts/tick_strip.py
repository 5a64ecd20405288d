"""The last ticks of a rotation: a bar for each, which says by colour and height what became of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from routines_app.admin.charts.outcome_words import counted
from routines_app.admin.charts.svg import chart, element, linked

SLOTS = 60
STEP, BAR_WIDTH, HEIGHT = 16, 13, 30
HEIGHTS = {"picked": 1.0, "full": 0.66, "failed": 1.0}
LOWEST = 0.33  # of idle ticks, and of those that were missed


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """`outcome` is `picked`, `full`, `idle`, `failed` or `other`."""

    outcome: str
    label: str
    href: str | None = None


def tick_strip(ticks: Sequence[Tick]) -> SafeString:
    """The newest 60 of `ticks` (oldest first), drawn from the right: what is newest stands at the end."""
    shown = ticks[-SLOTS:]
    first = SLOTS - len(shown)
    bars = [_bar(tick, place) for place, tick in enumerate(shown, start=first)]
    baseline = element("path", class_="rt-baseline", d=f"M0 {HEIGHT - 0.5}H{SLOTS * STEP}")
    return chart(SLOTS * STEP, HEIGHT, describe(shown), baseline, *bars, class_="rt-ticks", links=True)


def describe(ticks: Sequence[Tick]) -> str:
    """The same in words."""
    if not ticks:
        return _("No ticks yet")
    counts = Counter(tick.outcome for tick in ticks)
    outcomes = ", ".join(counted(outcome, count) for outcome, count in counts.most_common())
    said = ngettext("The last tick: {outcomes}", "The last {count} ticks: {outcomes}", len(ticks))
    return said.format(count=len(ticks), outcomes=outcomes)


def _bar(tick: Tick, place: int) -> SafeString:
    height = HEIGHT * HEIGHTS.get(tick.outcome, LOWEST)
    shape = element(
        "rect",
        element("title", tick.label),
        x=place * STEP + (STEP - BAR_WIDTH) / 2,
        y=HEIGHT - height,
        width=BAR_WIDTH,
        height=height,
        rx=2,
        class_=f"rt-bar rt-tick-{tick.outcome}",
    )
    return linked(tick.href, tick.label, shape)
