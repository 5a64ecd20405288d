"""What the fleet page shows, each fact in one bounded query."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connections
from django.db.models import Count, Exists, Min, OuterRef, Q, QuerySet

from routines_app import service
from routines_app.admin.charts import Column
from routines_app.admin.phrases import seconds_in_words
from routines_app.admin.run_facts import late_seconds, overdue_runs
from routines_app.core.words import RoutineStatus, RunStatus
from routines_app.models import Node, Pool, Routine, RoutineRun, RoutineState, RunLog, ScheduleChange

ROWS = 20
SAMPLE = 5_000  # rows that are looked at for the lateness of the last hour; the newest ones
MINUTES = 60
GONE_AFTER = timedelta(minutes=3)  # three silent reports
LATENESS_FIELDS = ("pk", "started_at", "scheduled_for", "eligible_at", "trigger", "attempt")


def runs() -> QuerySet[RoutineRun]:
    return RoutineRun.objects.using(service.ledger_alias())


def running() -> list[RoutineRun]:
    now_running = runs().filter(status=RunStatus.RUNNING).select_related("routine").defer(*service.LARGE_FIELDS)
    return list(now_running.order_by("id")[:ROWS])


def active_counts() -> dict[str, int]:
    """How many runs are running and how many wait."""
    active = runs().filter(status__in=[RunStatus.PENDING, RunStatus.RUNNING])
    return dict(active.order_by().values_list("status").annotate(Count("pk")))


def waiting() -> list[dict[str, Any]]:
    """Why runs wait: how many for each reason, and since when."""
    held = runs().filter(status=RunStatus.PENDING, dispatched_at__isnull=True)
    sent = runs().filter(status=RunStatus.PENDING, dispatched_at__isnull=False)
    reasons = held.order_by().values("reason").annotate(count=Count("pk"), oldest=Min("eligible_at"))
    found = [{**row, "label": _waits_for(row["reason"])} for row in reasons.order_by("-count")]
    queued = sent.aggregate(count=Count("pk"), oldest=Min("dispatched_at"))
    if queued["count"]:
        found.insert(0, {**queued, "reason": "", "label": "In the broker, for a free worker"})
    return found


def _waits_for(reason: str) -> str:
    return {"": "To be published", "ceiling": "For room in a pool", "not_yet": "For their time (retry, jitter)"}.get(
        reason, reason.replace("_", " ").capitalize()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Lateness:
    """How late the runs of the last hour started, or of the minutes that the newest rows cover."""

    looked_at: int
    count: int
    middle: float
    most: float
    high: float
    columns: list[Column]
    """One for each minute, the oldest first."""

    @property
    def is_cut(self) -> bool:
        return len(self.columns) < MINUTES

    @property
    def window(self) -> str:
        minutes = len(self.columns)
        return f"last {minutes} minute{'' if minutes == 1 else 's'}" if self.is_cut else "last hour"


def lateness(now: datetime) -> Lateness:
    """Read from the newest run backwards: ids carry the time of creation, so no other index is needed.

    A condition on the start would make the database walk on through all that never started: it is left to Python.
    """
    hour_ago = now - timedelta(hours=1)
    newest = runs().filter(pk__gte=service.oldest_run_id(now - timedelta(days=1))).order_by("-pk")
    rows = list(newest.values_list(*LATENESS_FIELDS)[:SAMPLE])
    by_minute: dict[int, list[float]] = defaultdict(list)
    for _, started_at, *facts in rows:
        late = late_seconds(started_at, *facts)
        if late is not None and started_at >= hour_ago:
            by_minute[int((now - started_at).total_seconds() // 60)].append(late)
    every = sorted(late for minute in by_minute.values() for late in minute)
    return Lateness(
        looked_at=len(rows),
        count=len(every),
        middle=_quantile(every, 0.5),
        high=_quantile(every, 0.95),
        most=every[-1] if every else 0.0,
        columns=[_minute(by_minute.get(ago, []), ago, now) for ago in reversed(range(_minutes_covered(rows, now)))],
    )


def _minutes_covered(rows: list[Any], now: datetime) -> int:
    """The whole minutes since the oldest row was created: what started before may have rows that were not read."""
    if len(rows) < SAMPLE:
        return MINUTES
    covered = now - service.run_created_at(rows[-1][0])
    return min(MINUTES, max(1, covered // timedelta(minutes=1)))


def _minute(late: list[float], ago: int, now: datetime) -> Column:
    at = now - timedelta(minutes=ago)
    high = _quantile(sorted(late), 0.95)
    tick = f"{ago} min ago" if ago and ago % 15 == 0 and ago < MINUTES else ""
    return Column(
        amount=high, label=f"{at:%H:%M} UTC: 95 % within {seconds_in_words(high)}, {len(late)} runs", tick=tick
    )


def _quantile(ordered: list[float], share: float) -> float:
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else 0.0


def pools() -> list[tuple[Pool, int]]:
    used = service.pool_use()
    return [(pool, used.get(pool.pk, 0)) for pool in service.list_pools(limit=100)]


def nodes(now: datetime) -> list[dict[str, Any]]:
    """Beats and workers that reported within the last hour; the silent ones are marked."""
    seen = Node.objects.using(service.ledger_alias()).filter(seen_at__gte=now - timedelta(hours=1))
    return [{"node": node, "gone": now - node.seen_at > GONE_AFTER} for node in seen[:100]]


def parked() -> list[Routine]:
    found = Routine.objects.using(service.ledger_alias()).filter(status=RoutineStatus.PARKED)
    return list(found.select_related("state").order_by("-updated_at")[:ROWS])


def failing() -> list[RoutineState]:
    """Routines with a body that cannot be stopped, then those whose last chains were exhausted, the worst first."""
    overdue = Exists(overdue_runs().filter(routine_id=OuterRef("pk")))
    states = RoutineState.objects.using(service.ledger_alias()).annotate(overdue=overdue)
    active = states.filter(routine__status__in=[RoutineStatus.ACTIVE, RoutineStatus.PAUSED])
    bad = active.filter(Q(failure_count__gt=0) | Q(pk__in=overdue_runs().values("routine_id")))
    return list(bad.select_related("routine").order_by("-overdue", "-failure_count")[:ROWS])


def storage() -> list[tuple[str, int]]:
    """Bytes per table where the database can tell, else of the whole file."""
    connection = connections[service.ledger_alias()]
    tables = [m._meta.db_table for m in (RoutineRun, RunLog, Routine, RoutineState, ScheduleChange, Node)]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT t, pg_total_relation_size(t::regclass) FROM unnest(%s::text[]) AS t", [tables])
            return [(table.removeprefix("routines_"), size) for table, size in cursor.fetchall()]
        if connection.vendor == "mysql":
            cursor.execute(
                "SELECT table_name, data_length + index_length FROM information_schema.tables "
                "WHERE table_schema = DATABASE() AND table_name IN %s",
                [tuple(tables)],
            )
            return [(table.removeprefix("routines_"), size) for table, size in cursor.fetchall()]
        cursor.execute("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()")
        return [("the whole file", cursor.fetchone()[0])]
