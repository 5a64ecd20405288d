"""The audit: recompute what should have fired, and compare it with the ledger.

Two questions about each routine, over a window of time. *Coverage*: each slot of its cron, by the schedule that held at
that time, is in exactly one row or one counted span (`audit_slots.py`). *Continuity*: each row and each change of the
schedule says which slot was planned next, and that slot has a row too, unless a later change took it back in time
(`audit_thread.py`). An interval moves with hints, clamps and failures, so continuity is what can be asked of it.

Members of rotations have no schedule: their runs are asked for by the ticks of their rotation, and each tick and each
run say the same of that (`audit_rotations.py`).

A ledger that balances can still tell of bad times: what it says of these are warnings (`audit_warnings.py`). Nothing is
written here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from routines_app.core.durations import parse_duration
from routines_app.protocol.ledger import clock
from routines_app.verbs.audit_reading import Story, count_routines, read_stories
from routines_app.verbs.audit_rotations import Finding, Rotations
from routines_app.verbs.audit_slots import check_coverage
from routines_app.verbs.audit_thread import follow
from routines_app.verbs.audit_warnings import Warned, Watch
from routines_app.verbs.prune_runs import pruned_before

UNCLAIMED = timedelta(seconds=60)  # a slot that became due less than this ago may still be without a row
LATE = "60s"


@dataclass(frozen=True, slots=True)
class Imbalance:
    """One thing that does not balance."""

    routine: str
    slot: datetime
    what: str

    def __str__(self) -> str:
        return f"{self.routine}: {self.slot.isoformat()} {self.what}"


@dataclass(frozen=True, slots=True)
class Unjudged:
    """A time whose slots were not compared with the rows, because its cron has too many before it."""

    routine: str
    after: datetime
    until: datetime

    @property
    def what(self) -> str:
        return (
            f"was the last slot that was compared, of those until {self.until.isoformat(sep=' ', timespec='seconds')}"
        )


@dataclass(kw_only=True)
class Audit:
    """What the audit looked at and what it found."""

    since: datetime
    until: datetime
    routines: int = 0
    slots: int = 0
    imbalances: list[Imbalance] = field(default_factory=list)
    warnings: list[Warned] = field(default_factory=list)
    unjudged: list[Unjudged] = field(default_factory=list)
    pruned: bool = False
    """More was asked for than the ledger keeps: `since` is where that begins."""

    @property
    def balances(self) -> bool:
        return not self.imbalances


def audit(
    since: datetime | timedelta | str = "24h",
    *,
    late: timedelta | str = LATE,
    now: datetime | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Audit:
    """Audit every routine from `since`, a moment or how far to look back, to a minute ago.

    A start that comes more than `late` after its time is worth a warning. `progress` is told how many routines of how
    many have been looked at.
    """
    now = now or clock.now()
    late = timedelta(milliseconds=parse_duration(late, field="late"))
    if not isinstance(since, datetime):
        since = now - timedelta(milliseconds=parse_duration(since, field="since"))
    kept = max(since, pruned_before(now))
    found = Audit(since=kept, until=now - UNCLAIMED, pruned=kept > since)
    watch, rotations = Watch(late=late), Rotations(since=found.since)
    of = count_routines() if progress is not None else 0
    for story in read_stories(found.since, found.until, now):
        found.routines += 1
        found.slots += sum(row.occurrences for row in story.rows if row.last > story.since)
        _judge(found, story)
        _add(found, rotations.look_at(story))
        watch.look_at(story)
        if progress is not None:
            progress(found.routines, of)
    _add(found, rotations.rest())
    found.warnings = watch.warnings()
    return found


def _judge(found: Audit, story: Story) -> None:
    name, thread = story.routine.name, follow(story)
    coverage = check_coverage(story, thread)
    wrong: dict[datetime, str] = {}
    for slot, what in [*coverage.wrong, *thread.torn]:
        wrong.setdefault(slot, what)  # one finding per slot says enough
    found.imbalances += [Imbalance(name, slot, wrong[slot]) for slot in sorted(wrong)]
    found.unjudged += [Unjudged(name, after, until) for after, until in coverage.unjudged]


def _add(found: Audit, findings: Iterable[Finding]) -> None:
    found.imbalances += [Imbalance(name, row.scheduled_for, what) for name, row, what in findings]
