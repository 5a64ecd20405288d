"""Old history goes, a small batch at a time, so that no statement is ever long.

A project's own rows may refer to runs, and its constraints forbid to delete those. Such runs are kept, and the sweep
goes on behind them; when it has come to the end it begins anew, after a while if some were kept.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db import Error
from django.db.models import Exists, OuterRef

from routines_app.conf import get_settings
from routines_app.core.keys import EPOCH, epoch_ms, uuid7_int
from routines_app.core.transitions import TERMINAL
from routines_app.models import OldFire, RoutineRun, RunLog
from routines_app.protocol.ledger.apart import each_apart
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.database_errors import Trouble, is_outage, trouble_of
from routines_app.protocol.ledger.locks import skipping_locked
from routines_app.protocol.ledger.said_once import SaidOnce
from routines_app.protocol.ledger.timeouts import QUICK_LOCK_MS, bounded

logger = logging.getLogger(__name__)

REST_SECONDS = 600.0  # before runs that could not be deleted are tried again


class Sweep:
    """One way through the old history, from its beginning; it remembers how far it has come."""

    def __init__(self) -> None:
        self._behind: UUID | None = None
        self._kept = 0
        self._rests_until = 0.0
        self._said = SaidOnce(logger)

    def once(self, now: datetime, keep_days: float | None = None) -> int | None:
        """Delete one batch of ended runs that are older than the setting says; how many. None: there is no more."""
        if time.monotonic() < self._rests_until:
            return None
        old = _old(now, keep_days, self._behind)
        if not old:
            self._end()
            return None
        self._behind = old[-1]
        try:
            return _delete(old)
        except Error as error:
            if is_outage(error):
                raise
            return self._delete_apart(old)

    def _delete_apart(self, old: Sequence[UUID]) -> int:
        deleted = 0

        def delete(some: Sequence[UUID]) -> None:
            nonlocal deleted
            deleted += _delete(some, QUICK_LOCK_MS)

        apart = each_apart(delete, old)
        if tried := set(old) - set(apart.left):
            self._behind = max(tried)  # the next batch begins with what there was no time for
        for _, error in apart.failed:
            self._kept += 1
            if isinstance(error, Error) and trouble_of(error) is Trouble.STATEMENT:
                self._said.warn("kept", f"old runs that other rows refer to are kept: {_first_line(error)}")
        return deleted

    def _end(self) -> None:
        if self._kept:
            self._rests_until = time.monotonic() + REST_SECONDS
        elif self._behind is not None:
            self._said.over("kept")
        self._behind, self._kept = None, 0


def forget_old_fires(now: datetime) -> int:
    """Delete one batch of what old schedulers fired before the time whose runs are kept; how many.

    The last fire of each entry stays: a switch-over goes on from it, however long ago it was.
    """
    days = get_settings().keep_runs_days
    if not 0 < days < (now - EPOCH) / timedelta(days=1):
        return 0
    fires = OldFire.objects.using(ledger_alias())
    later = fires.filter(scheduler=OuterRef("scheduler"), key=OuterRef("key"), fired_at__gt=OuterRef("fired_at"))
    old = fires.filter(Exists(later), fired_at__lt=now - timedelta(days=days)).order_by("fired_at")
    with bounded():
        ids = list(old.values_list("pk", flat=True)[: get_settings().prune_batch])
        return fires.filter(pk__in=ids).delete()[0] if ids else 0


def _first_line(error: Error) -> str:
    return str(error).partition("\n")[0]


def _old(now: datetime, keep_days: float | None, behind: UUID | None) -> list[UUID]:
    days = get_settings().keep_runs_days if keep_days is None else keep_days
    # 0 keeps everything. Ids count from 1970, so none is older: a time before it would look like the far future.
    if not 0 < days < (now - EPOCH) / timedelta(days=1):
        return []
    # Ids are ordered by the time of their creation, so old rows are found at the start of the primary key.
    oldest_kept = UUID(int=uuid7_int(epoch_ms(now - timedelta(days=days)), 0))
    runs = RoutineRun.objects.using(ledger_alias()).filter(id__lt=oldest_kept, status__in=sorted(TERMINAL))
    if behind is not None:
        runs = runs.filter(id__gt=behind)
    with bounded():
        return list(runs.order_by("id").values_list("id", flat=True)[: get_settings().prune_batch])


def _delete(run_ids: Sequence[UUID], lock_ms: int | None = None) -> int:
    alias = ledger_alias()
    runs = RoutineRun.objects.using(alias)
    with bounded() if lock_ms is None else bounded(lock_ms=lock_ms):
        ids = list(skipping_locked(runs.filter(id__in=run_ids).order_by("id")).values_list("id", flat=True))
        RunLog.objects.using(alias).filter(run_id__in=ids).delete()
        # `_raw_delete` collects no related rows: log lines are gone, and retries have no constraint on their first.
        return runs.filter(id__in=ids)._raw_delete(alias)
