"""Draining a pool: nothing of it starts, until it is opened again.

Its ceiling becomes 0, and the one that it had is remembered. What was let through and has not begun is taken back into
the pool's queue, so that nothing starts any more whatever is in the broker: a start asks whether its run was let
through, and a message that comes too early does nothing. The pool is locked before its runs, and beats count room under
the same lock: what one of them lets through at that moment is taken back after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import UUID

from routines_app.coordination.wakeups import stop_runs, wake_beats
from routines_app.core.errors import NotAllowed
from routines_app.core.said import said
from routines_app.core.words import Reason, RunStatus
from routines_app.models import Pool, RoutineRun
from routines_app.protocol.end.overlap import request_stop
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias, on_commit
from routines_app.protocol.ledger.locks import lock_runs, update_locked, waiting_locked
from routines_app.protocol.record.waits import because
from routines_app.verbs.checking.lookup import find_pool
from routines_app.verbs.ending import who_and_why
from routines_app.verbs.held_rows import verb_transaction

AT_ONCE = 500  # runs in one transaction


def drain_pool(pool: Pool | int | str) -> Pool:
    """Let nothing of the pool start any more; what runs goes on to its end, and what waits stays waiting.

    `open_pool` gives it its ceiling back. A pool that is drained, or has the ceiling 0, stays as it is.
    """
    found = find_pool(pool)
    with verb_transaction("pool", found.name):
        locked = _locked(found)
        if locked.max_concurrent:
            locked.drained_from, locked.max_concurrent = locked.max_concurrent, 0
            locked.save(using=ledger_alias(), update_fields=["drained_from", "max_concurrent"])
    while _take_back(locked):
        pass
    return locked


def open_pool(pool: Pool | int | str) -> Pool:
    """Give a drained pool its ceiling back; what waits goes on at once. One that is open stays as it is."""
    found = find_pool(pool)
    with verb_transaction("pool", found.name):
        locked = _locked(found)
        if locked.drained_from is not None:
            locked.max_concurrent, locked.drained_from = locked.drained_from, None
            locked.save(using=ledger_alias(), update_fields=["drained_from", "max_concurrent"])
        elif not locked.max_concurrent:
            raise NotAllowed(
                "pool", locked.name, said("its ceiling was set to 0: give it another one, with update_pool")
            )
        on_commit(wake_beats)
    return locked


def stop_pool(
    pool: Pool | int | str,
    *,
    reason: str = "",
    actor: str = "",
    progress: Callable[[int], None] | None = None,
) -> int:
    """Drain a pool and ask all its running runs to stop, as `cancel_run` does; how many were asked now.

    What waits stays waiting. It is done in batches, and after each `progress` is told how many were asked so far; what
    it raises ends the work there, and the same call again goes on.
    """
    told, asked = who_and_why("cancelled", reason, actor), 0
    drained = drain_pool(pool)
    for batch in _running(drained):
        asked += _stop(drained, batch, told)
        if progress is not None:
            progress(asked)
    return asked


def _locked(pool: Pool) -> Pool:
    """As it is behind its lock: nobody counts room in it meanwhile."""
    return waiting_locked(Pool.objects.using(ledger_alias())).get(pk=pool.pk)


def _take_back(pool: Pool) -> int:
    """Take back what was let through and has not begun, some of it; how many were looked at.

    While the pool is closed none comes after these. Somebody may open it meanwhile: what it lets in then stays in. That
    is asked under its lock, as beats count room: else one that was let in at that moment would be taken back.
    """
    runs = RoutineRun.objects.using(ledger_alias())
    sent = runs.filter(pool_id=pool.pk, status=RunStatus.PENDING, admitted_at__isnull=False)
    ids = list(sent.order_by("id").values_list("id", flat=True)[:AT_ONCE])
    with verb_transaction("pool", pool.name):
        if _locked(pool).max_concurrent:
            return 0
        values = because(Reason.CEILING, clock.now()) | {"admitted_at": None, "dispatched_at": None}
        update_locked(lock_runs(sent, ids), **values, publish_after=None)
    return len(ids)  # also of those that began before they were locked: others may come behind them


def _running(pool: Pool) -> Iterator[list[UUID]]:
    """Those that nobody has asked yet, in the order of their ids; none begins meanwhile."""
    running = RoutineRun.objects.using(ledger_alias()).filter(pool_id=pool.pk, status=RunStatus.RUNNING)
    unasked = running.filter(stop_requested_at=None).order_by("id")
    found = list(unasked.values_list("id", flat=True)[:AT_ONCE])
    while found:
        yield found
        found = list(unasked.filter(id__gt=found[-1]).values_list("id", flat=True)[:AT_ONCE])


def _stop(pool: Pool, run_ids: list[UUID], told: str) -> int:
    """The first request counts. One that ends at this moment has simply ended."""
    with verb_transaction("pool", pool.name):
        now = clock.now()
        asked = request_stop(run_ids, Reason.CANCELLED, now)
        if told:
            ours = RoutineRun.objects.using(ledger_alias()).filter(id__in=run_ids, stop_requested_at=now)
            ours.filter(status=RunStatus.RUNNING).update(error=told)
        on_commit(lambda: stop_runs(run_ids))
    return asked
