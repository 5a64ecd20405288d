"""Old history goes, a small batch at a time, so that no statement is ever long."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from routines_app.conf import get_settings
from routines_app.core.keys import EPOCH, epoch_ms, uuid7_int
from routines_app.core.transitions import TERMINAL
from routines_app.models import RoutineRun, RunLog
from routines_app.protocol.ledger.database import ledger_alias


def prune_once(now: datetime, keep_days: float | None = None) -> int:
    """Delete one batch of ended runs that are older than the setting says; how many."""
    days = get_settings().keep_runs_days if keep_days is None else keep_days
    # 0 keeps everything. Ids count from 1970, so none is older: a time before it would look like the far future.
    if not 0 < days < (now - EPOCH) / timedelta(days=1):
        return 0
    alias = ledger_alias()
    # Ids are ordered by the time of their creation, so old rows are found at the start of the primary key.
    oldest_kept = UUID(int=uuid7_int(epoch_ms(now - timedelta(days=days)), 0))
    runs = RoutineRun.objects.using(alias)
    old = list(
        runs.filter(id__lt=oldest_kept, status__in=sorted(TERMINAL))
        .order_by("id")
        .values_list("id", flat=True)[: get_settings().prune_batch]
    )
    if not old:
        return 0
    RunLog.objects.using(alias).filter(run_id__in=old).delete()
    # `_raw_delete` skips collecting related rows: log lines are gone, and retries keep no constraint on their first.
    return runs.filter(id__in=old)._raw_delete(alias)
