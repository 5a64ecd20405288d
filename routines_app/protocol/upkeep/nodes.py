"""Nodes: beats and workers report themselves, and are gone after three reports that did not come."""

from __future__ import annotations

import os
import platform
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from importlib import metadata
from typing import Any

import psutil
from django.db.models import Q

from routines_app.conf import get_settings
from routines_app.coordination.redis_client import RedisAway, asking, key, problem
from routines_app.models import Node, Role
from routines_app.models.node import CLOCK_AHEAD, PROBLEMS
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.locks import skipping_locked
from routines_app.protocol.ledger.moments import unreadable
from routines_app.protocol.ledger.timeouts import bounded
from routines_app.protocol.upkeep import lifetimes, neighbours

GONE_AT_LEAST = timedelta(minutes=3)
REPORTS_MISSED = 3  # so many in a row, and the process is gone
PACKAGES = (
    "django-celery-routines",
    "celery",
    "kombu",
    "django",
    "redis",
    "psycopg",
    "psycopg2",
    "mysqlclient",
    "pymysql",
)


@dataclass(frozen=True, kw_only=True)
class NodeReport:
    """What a process knows about itself; the machine's numbers are added when it is written."""

    role: Role
    queues: Sequence[str] = ()
    tasks: Sequence[str] = ()
    declares: str = ""
    running_runs: int = 0
    draining: bool = False
    problems: Sequence[str] = ()
    pid: int = field(default_factory=os.getpid)

    @property
    def name(self) -> str:
        return f"{self.role}@{socket.gethostname()}:{self.pid}"


def report_node(report: NodeReport) -> None:
    """Write or renew this process's row. Raises `django.db.Error` when the database is away."""
    now = clock.now()
    nodes = Node.objects.using(ledger_alias())
    values = _values(report, now)
    with bounded():
        if not nodes.filter(name=report.name).update(**values):
            nodes.bulk_create([Node(name=report.name, started_at=now, **values)], ignore_conflicts=True)
        lifetimes.go_on(report.name, values, now)


def report_beat(declares: str, *problems: str) -> None:
    """This process is a beat that imports the schedule of the Celery app of that name, and has found this wrong."""
    report_node(NodeReport(role=Role.BEAT, declares=declares, problems=[*problems, neighbours.mark_prefix()]))


def forget_node(report: NodeReport) -> None:
    """Take the row away: the process ends in order."""
    Node.objects.using(ledger_alias()).filter(name=report.name).delete()
    lifetimes.end(report.name, clock.now())


def leave_as_beat() -> None:
    """This process was a beat, and ends in order. Its row stays until it is missed, as that of any other."""
    with bounded():
        lifetimes.end(NodeReport(role=Role.BEAT).name, clock.now())


def gone_after() -> timedelta:
    """How long a process may be silent before its row is taken away: no report that still counts is lost."""
    return max(GONE_AT_LEAST, timedelta(seconds=REPORTS_MISSED * get_settings().node_seconds))


def forget_gone(now: datetime) -> int:
    """Take away the rows of processes that have been silent for too long."""
    # A time that nobody can read is no sign of life: whoever lives reports itself again.
    gone = Q(seen_at__lt=now - gone_after()) | unreadable("seen_at") | unreadable("started_at")
    with bounded():
        nodes = Node.objects.using(ledger_alias()).filter(gone).order_by("pk")
        names = list(skipping_locked(nodes).values_list("pk", flat=True))
        return Node.objects.using(ledger_alias()).filter(pk__in=names).delete()[0]


def _values(report: NodeReport, now: datetime) -> dict[str, Any]:
    problems = [text for text in (_redis_problem(), *report.problems) if text]
    return {
        "role": report.role,
        "host": socket.gethostname(),
        "pid": report.pid,
        "versions": versions() | {PROBLEMS: problems, CLOCK_AHEAD: round(clock.wall_ahead_seconds(), 3)},
        "queues": sorted(report.queues),
        "tasks": sorted(report.tasks),
        "declares": report.declares,
        "load": psutil.getloadavg()[0],
        "memory_bytes": _memory_bytes(report.pid),
        "running_runs": report.running_runs,
        "draining": report.draining,
        "seen_at": now,
    }


def _redis_problem() -> str:
    """Redis is asked now: the main process of a worker has no other use for it, and its children have."""
    try:
        with asking(courtesy=True) as client:
            client.exists(key("turn"))
    except RedisAway:
        pass
    return problem()


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """What this process runs: Python, this package, and what it stands on."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def _memory_bytes(pid: int) -> int | None:
    """Of the process and its children."""
    try:
        process = psutil.Process(pid)
        members = [process, *process.children(recursive=True)]
        return sum(member.memory_info().rss for member in members)
    except psutil.Error:
        return None
