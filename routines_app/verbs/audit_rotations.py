"""Rotations in the audit: their ticks by what they picked, their members' runs by their links, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from routines_app.core.rotation import SEEDING, TICK_TASK
from routines_app.core.words import RunTrigger
from routines_app.verbs.audit_members import check_links
from routines_app.verbs.audit_reading import Row, Story
from routines_app.verbs.audit_ticks import check_ticks

BATCH = 200  # ticks, or runs, that a statement asks about

Finding = tuple[str, Row, str]
"""The routine's name, the row, and what is wrong with it."""


@dataclass(kw_only=True)
class Rotations:
    """Looks at one routine after another. Whoever is no rotation's business costs nothing here."""

    since: datetime
    """Rows from before it may be gone."""
    _fired: list[tuple[str, Row]] = field(default_factory=list)

    def look_at(self, story: Story) -> Iterator[Finding]:
        name, runs = story.routine.name, [run for run in story.runs if run.last > story.since]
        if story.routine.task == TICK_TASK:
            ticks = [run for run in runs if run.attempt == 1 and run.phase != SEEDING]
            for start in range(0, len(ticks), BATCH):
                yield from ((name, row, what) for row, what in check_ticks(ticks[start : start + BATCH]))
        for run in runs:
            if run.trigger == RunTrigger.ROTATION:
                self._fired.append((name, run))
                if len(self._fired) >= BATCH:
                    yield from self.rest()

    def rest(self) -> Iterator[Finding]:
        """What is left of the last batch."""
        fired, self._fired = self._fired, []
        names = {run.id: name for name, run in fired}
        if fired:
            yield from ((names[row.id], row, what) for row, what in check_links([run for _, run in fired], self.since))
