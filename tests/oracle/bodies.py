"""What the bodies wrote themselves: no row's body twice, no two exclusive ones at once, no pool above its ceiling."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Protocol

from tests.oracle.facts import History, Run
from tests.oracle.verdict import Verdict


class Body(Protocol):
    """One line of a body log with its end, if it came to one."""

    @property
    def run(self) -> str | None: ...
    @property
    def started(self) -> float: ...
    @property
    def started_at(self) -> float: ...
    @property
    def ended(self) -> float | None: ...


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """How long a body counts: until its own end or that of its row, whichever came first."""

    run: Run
    begin: float
    end: float


def check_bodies(
    histories: list[History], bodies: Iterable[Body], ceilings: dict[int, int], now: datetime, verdict: Verdict
) -> None:
    runs = {str(run.id): run for history in histories for run in history.runs}
    names = {history.definition["id"]: history.name for history in histories}
    bodies = [body for body in bodies if body.run is not None]
    for run_id, starts in Counter(body.run for body in bodies).items():
        if starts > 1:
            verdict.duplicates.append(f"the body of {run_id} started {starts} times")
        if run_id not in runs or runs[run_id].started_at is None:
            verdict.unexpected.append(f"a body ran for {run_id}, which the ledger says never started")
    known = [(body, stretch_of(body, runs[body.run], now)) for body in bodies if body.run in runs]
    stretches = [stretch for _, stretch in known]
    verdict.outlived += [
        f"{names[stretch.run.routine_id]} {stretch.run.id}"
        for body, stretch in known
        if body.ended is not None and wall_end(body, now) > stretch.end + 1.0
    ]
    check_exclusive(histories, stretches, verdict)
    check_ceilings(stretches, ceilings, verdict)


def stretch_of(body: Body, run: Run, now: datetime) -> Stretch:
    row_end = now.timestamp() if run.completed_at is None else run.completed_at.timestamp()
    end = min(wall_end(body, now), row_end)
    return Stretch(run=run, begin=body.started_at, end=max(end, body.started_at))


def wall_end(body: Body, now: datetime) -> float:
    return now.timestamp() if body.ended is None else body.started_at + (body.ended - body.started)


def check_exclusive(histories: list[History], stretches: list[Stretch], verdict: Verdict) -> None:
    by_routine: dict[int, list[Stretch]] = defaultdict(list)
    for stretch in stretches:
        by_routine[stretch.run.routine_id].append(stretch)
    for history in histories:
        if history.definition["concurrency_policy"] == "ALLOW":
            continue
        ordered = sorted(by_routine[history.definition["id"]], key=lambda stretch: stretch.begin)
        for one, other in pairwise(ordered):
            if other.begin < one.end:
                verdict.overlaps.append(f"{history.name}: {one.run.id} and {other.run.id}")


def check_ceilings(stretches: list[Stretch], ceilings: dict[int, int], verdict: Verdict) -> None:
    for pool_id, ceiling in ceilings.items():
        edges = [(s.begin, 1) for s in stretches if s.run.pool_id == pool_id]
        edges += [(s.end, -1) for s in stretches if s.run.pool_id == pool_id]
        together = most = 0
        for _, step in sorted(edges):
            together += step
            most = max(most, together)
        if most > ceiling:
            verdict.ceilings.append(f"pool {pool_id}: {most} at once, at most {ceiling} allowed")


def check_success(histories: list[History], bodies: Iterable[Body], verdict: Verdict) -> None:
    """A success that no body can confirm was never one. Only judged where bodies write: the file may be missing."""
    seen = {body.run for body in bodies if body.ended is not None}
    if not seen:
        return
    for history in histories:
        for run in history.runs:
            if run.status == "SUCCESS" and not run.has_no_body and str(run.id) not in seen:
                verdict.unexpected.append(f"{history.name}: {run.id} is a success that no body reported")
