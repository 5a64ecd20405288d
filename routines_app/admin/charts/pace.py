"""The path that a routine's interval took: how far each slot is from the one before it, and what changed it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from itertools import pairwise

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from routines_app.admin.charts.axes import LengthAxis, TimeAxis
from routines_app.admin.charts.outcome_words import counted
from routines_app.admin.charts.svg import chart, element, linked
from routines_app.admin.phrases import seconds_in_words

WIDTH, HEIGHT = 1000, 200
LEFT, RIGHT, TOP, BOTTOM = 64, 990, 24, 176
FEWEST_SLOTS = 3  # two slots are one distance, and one distance is no path
FLAG = 5  # half the width of the mark of a change


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The distance between two slots that follow each other."""

    start: datetime
    end: datetime
    seconds: float
    """How far apart; less than the whole where one row stands for many slots."""
    kind: str
    """`baseline`, `hint`, `clamped` or `back-off`: why the later slot was chosen."""
    label: str
    href: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Something that somebody did to the schedule."""

    at: datetime
    label: str


def pace(steps: Sequence[Step], changes: Sequence[Change], *, zone: tzinfo) -> SafeString | None:
    """A step for each distance, in the order of time, and a flag for each change; None when there is no path yet."""
    if len(steps) < FEWEST_SLOTS - 1:
        return None
    shown = [change for change in changes if change.at >= steps[0].start]
    end = max([steps[-1].end, *(change.at for change in shown)])
    times = TimeAxis(start=steps[0].start, end=end, left=LEFT, right=RIGHT, zone=zone)
    lengths = LengthAxis.covering([step.seconds for step in steps], top=TOP, bottom=BOTTOM)
    drawn = [*times.drawn(TOP, BOTTOM), *lengths.drawn(LEFT, RIGHT), *_risers(steps, times, lengths)]
    drawn += [_tread(step, times, lengths) for step in steps]
    drawn += [_flag(change, times) for change in shown]
    label = _("Interval over time: {count} distances between slots").format(count=len(steps))
    says = element("desc", describe(steps, shown))
    return chart(WIDTH, HEIGHT, label, says, *drawn, class_="rt-pace", links=True)


def describe(steps: Sequence[Step], changes: Sequence[Change]) -> str:
    """The same in words, for whoever cannot see it."""
    lengths = [step.seconds for step in steps]
    counts = Counter(step.kind for step in steps)
    kinds = ", ".join(counted(kind, count) for kind, count in counts.most_common())
    least, most = seconds_in_words(min(lengths)), seconds_in_words(max(lengths))
    between = _("between {least} and {most}").format(least=least, most=most)
    changed = ngettext("{count} change of the schedule", "{count} changes of the schedule", len(changes))
    return f"{between}; {kinds}; {changed.format(count=len(changes))}"


def _tread(step: Step, times: TimeAxis, lengths: LengthAxis) -> SafeString:
    x, end, y = times.x(step.start), times.x(step.end), lengths.y(step.seconds)
    title = element("title", step.label)
    path = element("path", title, d=f"M{x:.1f} {y:.1f}H{max(end, x + 1):.1f}", class_=f"rt-step rt-by-{step.kind}")
    return linked(step.href, step.label, path)


def _risers(steps: Sequence[Step], times: TimeAxis, lengths: LengthAxis) -> list[SafeString]:
    """The thin lines between steps of different heights, as one path."""
    paths = []
    for one, two in pairwise(steps):
        here, there = lengths.y(one.seconds), lengths.y(two.seconds)
        if abs(here - there) >= 1:
            paths.append(f"M{times.x(two.start):.1f} {here:.1f}V{there:.1f}")
    return [element("path", d="".join(paths), class_="rt-riser")] if paths else []


def _flag(change: Change, times: TimeAxis) -> SafeString:
    x = times.x(change.at)
    line = element("path", d=f"M{x:.1f} {TOP - 8}V{BOTTOM}", class_="rt-change-line")
    mark = element("path", d=f"M{x - FLAG:.1f} {TOP - 18}h{2 * FLAG}l-{FLAG} 10z", class_="rt-change")
    return element("g", element("title", change.label), line, mark)
