"""Reconcile: what was lost on the way is found again.

Every beat watches the heartbeats of running runs, because an orphan is only what a beat has itself seen silent for
long enough. The rest is done by whichever beat gets the turn, on start-up and every few seconds: lost messages, rows
whose wake-up never came, old history. Everything is a compare-and-set, so two beats doing it at once is harmless.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime

from django.db import Error
from django.db.models import F, Value
from django.db.models.functions import Greatest

from routines_app.conf import get_settings
from routines_app.coordination.turns import take_turn
from routines_app.core.words import RunStatus
from routines_app.models import RoutineRun
from routines_app.protocol.end.catch_up import between_chains, continue_after
from routines_app.protocol.ledger.cancel_statements import leaving
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.database_errors import is_outage, retrying_conflicts
from routines_app.protocol.ledger.locks import update_free
from routines_app.protocol.ledger.said_once import SaidOnce
from routines_app.protocol.ledger.timeouts import bounded
from routines_app.protocol.plan.held import HELD_BY_STATUS
from routines_app.protocol.upkeep import lifetimes, nodes, orphans, prune
from routines_app.protocol.upkeep.archived import cancel_archived
from routines_app.protocol.upkeep.emptied_batches import close_emptied
from routines_app.protocol.upkeep.locked import tell_locked
from routines_app.protocol.upkeep.lost_messages import republish_lost
from routines_app.protocol.upkeep.sampled import Sampling
from routines_app.protocol.upkeep.unplanned import cancel_unreadable, park_unplanned
from routines_app.protocol.upkeep.unpooled import take_unpooled
from routines_app.protocol.upkeep.unsettled import settle_forgotten
from routines_app.protocol.upkeep.untold import tell_untold

logger = logging.getLogger(__name__)

REPAIRED_AT_ONCE = 1_000


@dataclass(slots=True, kw_only=True)
class Report:
    """What one pass did; all zero means that there was nothing to do."""

    orphaned: int = 0
    republished: int = 0
    released: int = 0
    continued: int = 0
    told: int = 0
    parked: int = 0
    cancelled: int = 0
    pruned: int = 0
    gone_nodes: int = 0

    def __bool__(self) -> bool:
        return any(asdict(self).values())


_said = SaidOnce(logger)
_sweep = prune.Sweep()
_sampling = Sampling()


def reconcile_once(now: datetime, observer: orphans.Observer, monotonic: float) -> Report:
    """One pass. `observer` is this process's memory of the heartbeats it has seen, `monotonic` its own clock."""
    report = Report(orphaned=_apart("orphaned", lambda: orphans.orphan_silent(observer, now, monotonic)))
    if has_turn():
        report.republished = _apart("republished", lambda: republish_lost(now))
        report.released = _apart("released", lambda: release_forgotten(now))
        report.continued = _apart("continued", lambda: continue_forgotten(now))
        report.continued += _apart("settled", lambda: settle_forgotten(now))
        report.told = _apart("told", lambda: tell_untold(now))
        report.parked = _apart("parked", lambda: park_unplanned(now))
        report.cancelled = _apart("cancelled", lambda: cancel_unreadable(now))
        report.cancelled += _apart("archived", lambda: cancel_archived(now))
        _apart("unpooled", take_unpooled)
        _apart("batches", lambda: close_emptied(now))
        report.gone_nodes = _apart("gone_nodes", lambda: nodes.forget_gone(now))
        report.pruned = _apart("pruned", lambda: _sweep.once(now) or 0)
        report.pruned += _apart("old fires", lambda: prune.forget_old_fires(now))
        _apart("lifetimes", lambda: lifetimes.forget_old(now))
        _apart("sampled", lambda: _sampling.once(now))
        _apart("locked", lambda: tell_locked(now))
    if report:
        logger.info("reconciled: %s", ", ".join(f"{what} {count}" for what, count in asdict(report).items() if count))
    return report


def _apart(what: str, act: Callable[[], int]) -> int:
    """One part of the pass that fails harms neither the others nor the count of silent runs; only an outage ends it.

    A process that cancels its statements in order to leave begins no further part: nobody would cancel that one.
    """
    if leaving.is_set():
        return 0
    try:
        done = retrying_conflicts(act)
    except Exception as error:
        if isinstance(error, Error) and is_outage(error):
            raise
        _said.warn(what, f"a part of the upkeep ({what}) failed and is tried again in its turn: {error!r}")
        return 0
    if _said.over(what):
        logger.warning("the part of the upkeep that had failed (%s) works again", what)
    return done


def has_turn() -> bool:
    """Whether this beat does the pass. Without Redis every beat does, which costs work and breaks nothing."""
    return take_turn("turn", seconds=get_settings().reconcile_seconds * 0.9)


def release_forgotten(now: datetime) -> int:
    """Waiting rows that wait for an event which never comes: neither a pool nor a pause holds them."""
    runs = RoutineRun.objects.using(ledger_alias())
    forgotten = (
        runs.filter(status=RunStatus.PENDING, dispatched_at=None, publish_after=None, pool=None)
        .exclude(HELD_BY_STATUS)
        .values_list("id", flat=True)[:REPAIRED_AT_ONCE]
    )
    with bounded():
        ids = list(forgotten)
    if not ids:
        return 0
    still = runs.filter(id__in=ids, status=RunStatus.PENDING, dispatched_at=None, publish_after=None)
    with bounded():
        return update_free(still, publish_after=Greatest(F("eligible_at"), Value(now)))


def continue_forgotten(now: datetime) -> int:
    """ALL catch-ups whose chain ended without anybody telling them."""
    # Those with an active run are not even read: a thousand of them must not hide the one that is forgotten.
    with bounded():
        ids = list(between_chains().order_by("pk").values_list("pk", flat=True)[:REPAIRED_AT_ONCE])
    return continue_after(ids, now) if ids else 0
