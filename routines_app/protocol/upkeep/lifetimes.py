"""Nodes' lifetimes: a process goes on with its own while it reports itself, and begins another one after a silence.

A node's row is there while the process is, and says nothing about yesterday. Its lifetime stays for a month, so that
somebody can still be told that no beat was there at three in the morning.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from routines_app.conf import get_settings
from routines_app.models import NodeLifetime
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.timeouts import bounded

KEPT = timedelta(days=30)
REPORTS_MISSED = 2  # so many in a row, and nobody can say that it was there meanwhile

_own: dict[str, int] = {}  # by the node's name, of this process: another one may have had that name before


def go_on(name: str, values: dict[str, Any], now: datetime) -> None:
    """Note that the process is (still) there, as it reports itself. In the transaction of the report."""
    silence = timedelta(seconds=REPORTS_MISSED * get_settings().node_seconds)
    unbroken = _lifetimes().filter(pk=_own.get(name), name=name, ended_at=None, seen_at__gte=now - silence)
    if unbroken.update(seen_at=now, queues=values["queues"]):
        return
    kept = {field: values[field] for field in ("role", "host", "pid", "queues")}
    _own[name] = _lifetimes().create(name=name, started_at=now, seen_at=now, **kept).pk


def end(name: str, now: datetime) -> None:
    """The process ends in order."""
    own = _own.pop(name, None)
    if own is not None:
        _lifetimes().filter(pk=own, name=name).update(seen_at=now, ended_at=now)


def forget_old(now: datetime) -> int:
    """Delete one batch of those that ended long ago; how many."""
    with bounded():
        old = _lifetimes().filter(seen_at__lt=now - KEPT).order_by("pk").values_list("pk", flat=True)
        ids = list(old[: get_settings().prune_batch])
        return _lifetimes().filter(pk__in=ids).delete()[0] if ids else 0


def _lifetimes() -> Any:
    return NodeLifetime.objects.using(ledger_alias())
