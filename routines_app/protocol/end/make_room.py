"""REPLACE makes room: what runs is asked to stop, what waits is cancelled, and what outlived its grace is ended."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from routines_app.coordination import wakeups
from routines_app.core.words import Reason
from routines_app.protocol.end.finish import close_run
from routines_app.protocol.end.overlap import Takers, request_stop
from routines_app.protocol.end.unstarted import replace_pending
from routines_app.protocol.ledger.database import on_commit
from routines_app.protocol.record.outcome import cancelled


def make_room(
    now: datetime, *, stop: Collection[UUID], cancel: Collection[UUID], force: Collection[UUID] = (), by: Takers
) -> None:
    """Act on a `Replace` decision: `by` says whom each makes room for. The states are locked by the caller."""
    if stop:
        request_stop(stop, Reason.REPLACED, now, by)
        on_commit(lambda: wakeups.stop_runs(stop))
    if cancel:
        replace_pending(cancel, now, by)
    for run_id in force:
        # Its row ends here, under the state's lock; its body has lost the row, can record nothing, and is stopped by
        # its watchdog.
        close_run(run_id, cancelled(Reason.REPLACED))
