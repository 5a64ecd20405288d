"""Heartbeats: the running runs of one worker, in one statement per round, and what they are told in return.

A heartbeat waits for nobody: one run whose row a stranger has locked must not silence the others. Whether a run is lost
is read without a lock, so that a locked row is not taken for a lost one.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from routines_app.conf import get_settings
from routines_app.core.words import RunStatus
from routines_app.models import RoutineRun, RunLog
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import is_postgresql, ledger_alias, sql
from routines_app.protocol.ledger.locks import lock_runs, skipping_locked
from routines_app.protocol.ledger.prepared import run_statement


@dataclass(frozen=True, slots=True)
class Pulse:
    """What the ledger says about a run that is still RUNNING."""

    fence: int | None
    stop_reason: str
    """Why it was asked to stop; empty when it was not."""
    stamped: bool = False
    """False: it was only read, because that was all that was asked for, or somebody else has locked its row."""


def beat_heart(runs: Mapping[UUID, dict[str, Any] | None]) -> dict[UUID, Pulse]:
    """Stamp these runs as alive, with their progress where it changed. A run that is missing in the answer is lost."""
    alias = ledger_alias()
    return _beat_in_one_statement(alias, runs) if is_postgresql(alias) else _beat_portably(alias, runs)


def _beat_in_one_statement(alias: str, runs: Mapping[UUID, dict[str, Any] | None]) -> dict[UUID, Pulse]:
    progress = [None if value is None else json.dumps(value) for value in runs.values()]
    rows = run_statement(alias, sql("run/heartbeat"), {"runs": list(runs), "progress": progress})
    return {row[0]: _pulse(*row[1:]) for row in rows}


def _beat_portably(alias: str, runs: Mapping[UUID, dict[str, Any] | None]) -> dict[UUID, Pulse]:
    rows = RoutineRun.objects.using(alias)
    with transaction.atomic(using=alias):
        # By their ids alone: MariaDB locks what it reads on the way, and by way of the status that is an index which
        # the end of a run wants in the other order.
        found = skipping_locked(rows.filter(id__in=list(runs)).order_by("id"), keys=False).values_list("id", "status")
        free = {run_id for run_id, status in found if status == RunStatus.RUNNING}
        rows.filter(id__in=free).update(heartbeat_at=clock.now())
        for run_id, progress in runs.items():
            if progress is not None and run_id in free:
                rows.filter(id=run_id).update(progress=progress)
    return {run_id: replace(pulse, stamped=run_id in free) for run_id, pulse in look(list(runs)).items()}


def look(run_ids: Collection[UUID]) -> dict[UUID, Pulse]:
    """Read the stop requests of these runs without stamping them."""
    rows = RoutineRun.objects.using(ledger_alias()).filter(id__in=run_ids, status=RunStatus.RUNNING)
    return {row[0]: _pulse(*row[1:]) for row in rows.values_list("id", "fence", "stop_requested_at", "stop_reason")}


def _pulse(fence: int | None, stop_requested_at: datetime | None, stop_reason: str, stamped: bool = False) -> Pulse:
    return Pulse(fence, (stop_reason or RunStatus.CANCELLED.lower()) if stop_requested_at else "", stamped)


def write_log(run_id: UUID, fence: int | None, lines: list[tuple[datetime, str]], *, wait: bool = True) -> bool:
    """Append log lines to a run that is still RUNNING and ours, and keep the newest; False when it is lost.

    Without `wait` also when somebody else has locked its row: then the next time is soon enough.
    """
    alias = ledger_alias()
    with transaction.atomic(using=alias):
        ours = RoutineRun.objects.using(alias).filter(status=RunStatus.RUNNING, fence=fence)
        if not (lock_runs(ours, [run_id]) if wait else skipping_locked(ours.filter(id=run_id), keys=False)):
            return False
        logs = RunLog.objects.using(alias)
        logs.bulk_create([RunLog(run_id=run_id, at=at, line=line) for at, line in lines])
        _keep_newest(alias, run_id)
    return True


def _keep_newest(alias: str, run_id: UUID) -> None:
    logs = RunLog.objects.using(alias).filter(run_id=run_id).order_by("-id")
    oldest_kept = logs.values_list("id", flat=True)[get_settings().max_log_lines : get_settings().max_log_lines + 1]
    too_old = list(oldest_kept)
    if too_old:
        RunLog.objects.using(alias).filter(run_id=run_id, id__lte=too_old[0]).delete()
