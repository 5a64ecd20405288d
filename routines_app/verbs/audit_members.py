"""Members' runs: each links to a tick of its own rotation that picked, and has a phase that its member had then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from routines_app.core.rotation import SEEDING
from routines_app.core.words import RoutineStatus, RunStatus
from routines_app.models import Rotation, Routine, RoutineRun, ScheduleChange
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.audit_reading import Row
from routines_app.verbs.reading import run_created_at

# A change and a tick may be under way together; which of them came first only the database knows.
TOGETHER = timedelta(minutes=1)


class _Linked(NamedTuple):
    """What a run's link leads to."""

    routine_id: int
    status: str
    reason: str
    phase: str


def check_links(runs: Sequence[Row], pruned_before: datetime) -> Iterator[tuple[Row, str]]:
    """What is wrong with these runs that a rotation has fired, one sentence for each."""
    ticks = _ticks({run.tick for run in runs if run.tick is not None})
    living, phases = _living(runs), _Phases(runs)
    for run in runs:
        what = _wrong_link(run, ticks, living, pruned_before) or phases.wrong(run)
        if what is not None:
            yield run, what


def _ticks(ids: set[UUID]) -> dict[UUID, _Linked]:
    found = RoutineRun.objects.using(ledger_alias()).filter(pk__in=ids)
    return {row[0]: _Linked(*row[1:]) for row in found.values_list("pk", *_Linked._fields)}


def _living(runs: Sequence[Row]) -> frozenset[int]:
    """Rotations whose ticks are there: one that is deleted took them along, one that is archived may be about to."""
    named = {run.rotation_id for run in runs if run.rotation_id is not None}
    routines = Routine.objects.using(ledger_alias()).filter(pk__in=named).exclude(status=RoutineStatus.ARCHIVED)
    return frozenset(routines.values_list("pk", flat=True))


def _wrong_link(run: Row, ticks: Mapping[UUID, _Linked], living: frozenset[int], pruned_before: datetime) -> str | None:
    if run.rotation_id is None:
        return "has a run that a rotation fired, and it names none"
    if run.tick is None:
        return "has a run that a rotation fired, and it names no tick"
    tick = ticks.get(run.tick)
    if tick is None:
        may_be_gone = run.rotation_id not in living or run_created_at(run.tick) < pruned_before
        return None if may_be_gone else f"has a run whose tick ({run.tick}) has no row"
    if tick.routine_id != run.rotation_id or tick.phase == SEEDING:
        return f"has a run whose tick ({run.tick}) is none of its rotation's"
    if run.routine_id != run.rotation_id and tick.status != RunStatus.SUCCESS:
        return f"has a run whose tick picked nobody ({tick.reason or tick.status})"
    return None


class _Phases:
    """Which phases members had at some time: as they are now, and where that is not enough, as they were."""

    def __init__(self, runs: Sequence[Row]) -> None:
        alias = ledger_alias()
        routines = {run.routine_id for run in runs}
        rotations = {run.rotation_id for run in runs if run.rotation_id is not None}
        self._own = dict(Routine.objects.using(alias).filter(pk__in=routines).values_list("pk", "phases"))
        self._rotations = dict(Rotation.objects.using(alias).filter(pk__in=rotations).values_list("pk", "phases"))

    def wrong(self, run: Row) -> str | None:
        if run.rotation_id == run.routine_id:
            return None if run.phase == SEEDING else f"has a run of the rotation's own in a phase ({run.phase!r})"
        if run.rotation_id is None or run.rotation_id not in self._rotations:
            return None  # deleted since
        own, common = self._own.get(run.routine_id), self._rotations[run.rotation_id]
        if run.phase in _names(own or common):
            return None
        at = run.scheduled_for  # when its tick picked it
        owns, commons = _held(run.routine_id, own, at), _held(run.rotation_id, common, at)
        if any(run.phase in _names(mine or all_) for mine in owns for all_ in commons):
            return None
        return f"has a run in a phase ({run.phase!r}) that it did not have then"


def _held(routine_id: int, phases: Any, at: datetime) -> list[Any]:
    """The lists that held about then, walking back from the present one through what was written down."""
    changes = ScheduleChange.objects.using(ledger_alias()).filter(routine_id=routine_id, at__gt=at - TOGETHER)
    held = [phases]
    for changed_at, before in changes.order_by("-id").values_list("at", "before"):
        if "phases" in before:
            if changed_at > at + TOGETHER:
                held.clear()
            held.append(before["phases"])
    return held


def _names(phases: Any) -> set[str]:
    """None: one, without a name."""
    return {str(phase.get("name")) for phase in phases if isinstance(phase, dict)} if phases else {""}
