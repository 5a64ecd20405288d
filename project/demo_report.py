"""What the demo prints at its end: for each routine whether it should have run, and what the ledger says."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TextIO

from django.db.models import Q

from routines_app import service
from routines_app.core.rotation import TICK_TASK
from routines_app.core.words import RoutineStatus, RunStatus
from routines_app.models import Rotation, Routine, RoutineRun

# A slot this close to the end may still be on its way to a worker that is being stopped.
MARGIN = timedelta(seconds=10)
HEADINGS = ("routine", "schedule", "expected", "runs", "last outcome", "next fire")


@dataclass(frozen=True, kw_only=True)
class Promise:
    """When a routine is to fire next, as it stood before anything was started."""

    due: datetime | None
    """When it runs at the latest: its next fire with all its jitter, or a request that already waits."""
    missed: bool
    """The slot was over before the demo began: its catch-up policy may skip it."""


class Report:
    """Made before the processes start, shown after they have stopped."""

    def __init__(self) -> None:
        self.started = self.working_since = service.now()
        routines = Routine.objects.filter(status=RoutineStatus.ACTIVE).select_related("state")
        self.promises = {routine.pk: self.promise(routine) for routine in routines}

    def promise(self, routine: Routine) -> Promise:
        if routine.runs.filter(status=RunStatus.PENDING).exists():
            return Promise(due=self.started, missed=False)
        due = routine.state.next_run_at
        missed = due is not None and due < self.started
        return Promise(due=due and due + timedelta(milliseconds=routine.jitter_ms), missed=missed)

    def show(self, output: TextIO) -> bool:
        """Print the table; False when a routine that should have run did not."""
        self.working_since = self.first_start() or self.started
        ended = service.now()
        routines = list(Routine.objects.filter(rotation=None).select_related("state"))
        late = [routine.name for routine in routines if self.expected(routine, ended) and not self.ran(routine)]
        print_table([HEADINGS, *(self.row(routine, ended) for routine in routines)], output)
        for rotation in service.list_rotations():
            output.write(f"\n{told(rotation)}\n")
        seconds = (ended - self.started).total_seconds()
        if late:
            output.write(f"\nIn {seconds:.0f} s these should have run and did not: {', '.join(late)}\n")
        else:
            output.write(f"\nIn {seconds:.0f} s every routine that should have run did.\n")
        return not late

    def expected(self, routine: Routine, ended: datetime) -> bool:
        promise = self.promises.get(routine.pk)
        if promise is None or promise.due is None:
            return False
        return max(promise.due, self.working_since) <= ended - MARGIN

    def first_start(self) -> datetime | None:
        """When the first body started: from then on beat and worker were up, however slow the machine is."""
        runs = RoutineRun.objects.filter(started_at__gte=self.started).exclude(task=TICK_TASK)  # a beat alone ticks
        return runs.order_by("started_at").values_list("started_at", flat=True).first()

    def ran(self, routine: Routine) -> bool:
        """A body started or, for a slot that was over before the start, the ledger says why not."""
        runs = RoutineRun.objects.filter(Q(routine=routine) | Q(rotation_id=routine.pk)).exclude(task=TICK_TASK)
        if runs.filter(started_at__gte=self.started).exists():
            return True
        accounted = runs.filter(status=RunStatus.SKIPPED, completed_at__gte=self.started).exists()
        return self.promises[routine.pk].missed and accounted

    def row(self, routine: Routine, ended: datetime) -> tuple[str, ...]:
        runs = list(RoutineRun.objects.filter(routine=routine, rotation=None).order_by("id"))  # ticks without seedings
        counts = Counter(run.status for run in runs)
        return (
            routine.name,
            schedule(routine),
            "yes" if self.expected(routine, ended) else "no",
            counted(counts) or "none",
            outcome(runs[-1]) if runs else "",
            next_fire(routine, ended),
        )


def told(rotation: Rotation) -> str:
    """What a rotation did, in its members' runs: `shops: 8 members (3 owed, …); plan: 8 SUCCESS; build: …`."""
    status = service.rotation_status(rotation)
    standing = f"{status.owed} owed, {status.in_flight} in flight, {status.fresh} fresh, {status.failing} failing"
    runs = RoutineRun.objects.filter(rotation=rotation).order_by("id").values_list("phase", "status")
    phases: dict[str, Counter[str]] = {}
    for phase, outcome in runs:
        phases.setdefault(phase, Counter())[outcome] += 1
    parts = [f"{phase}: {counted(counts)}" for phase, counts in phases.items()]
    return "; ".join([f"rotation {rotation.name}: {status.members} members ({standing})", *parts])


def counted(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {status}" for status, count in counts.most_common())


def schedule(routine: Routine) -> str:
    if routine.interval_ms:
        return f"every {routine.interval_ms / 1000:g} s"
    return routine.cron or "manual"


def outcome(run: RoutineRun) -> str:
    return f"{run.status} ({run.reason})" if run.reason else run.status


def next_fire(routine: Routine, now: datetime) -> str:
    if routine.status != RoutineStatus.ACTIVE:
        return routine.status
    at = routine.state.next_run_at
    if at is None:
        return routine.state.next_source
    seconds = (at - now).total_seconds()
    if seconds <= 0:
        return "due"
    return f"in {seconds:.0f} s" if seconds < 600 else f"{at:%Y-%m-%d %H:%M} UTC"


def print_table(rows: list[tuple[str, ...]], output: TextIO) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    for number, row in enumerate(rows):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        output.write(f"{line.rstrip()}\n" + ("" if number else "  ".join("-" * width for width in widths) + "\n"))
