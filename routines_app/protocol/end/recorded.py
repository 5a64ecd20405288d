"""What the end of a run came to: known to who wrote it, or read back from the rows by who tells it later."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from routines_app.core.words import RunStatus, Source
from routines_app.models import ChangeKind, RoutineRun, RoutineState, ScheduleChange


@dataclass(frozen=True, kw_only=True, slots=True)
class Recorded:
    """What the ledger says of a run that this call has ended."""

    status: RunStatus
    reason: str
    retry_id: UUID | None = None
    exhausted: bool = False
    parked: str = ""
    """Why the routine was parked by this end; empty when it was not."""
    mirrored: bool = field(default=False, compare=False)
    """The record of django-celery-results is written already."""
    recovered: bool = False
    """The first success after failures."""
    catching_up: bool = False
    pooled: bool = False
    """It had a place in a pool, perhaps only since it ran: the default pool takes such runs in."""

    @property
    def told(self) -> dict[str, Any]:
        """What the signals of the end tell besides the run itself."""
        return {"will_retry": self.retry_id is not None, "exhausted": self.exhausted, "parked": self.parked}


def read_back(alias: str, run: RoutineRun) -> Recorded:
    """The same, of a run that ended some time ago."""
    status = RunStatus(run.status)
    retries = RoutineRun.objects.using(alias).filter(chain=run.chain_id, attempt=run.attempt + 1, retry_of_id=run.id)
    retry_id = retries.values_list("id", flat=True).first()
    exhausted = status == RunStatus.FAILED and retry_id is None
    return Recorded(
        status=status,
        reason=run.reason,
        retry_id=retry_id,
        exhausted=exhausted,
        parked=_why_parked(alias, run) if exhausted else "",
        recovered=status == RunStatus.SUCCESS,
        pooled=run.pool_id is not None,
        catching_up=RoutineState.objects.using(alias)
        .filter(pk=run.routine_id, next_source=Source.CATCHING_UP)
        .exists(),
    )


def _why_parked(alias: str, run: RoutineRun) -> str:
    """The routine was parked by this end: in the same transaction, at the same time."""
    parked = ScheduleChange.objects.using(alias).filter(routine_id=run.routine_id, kind=ChangeKind.PARKED)
    if run.completed_at is None:
        return ""
    return parked.filter(at=run.completed_at).values_list("reason", flat=True).first() or ""
