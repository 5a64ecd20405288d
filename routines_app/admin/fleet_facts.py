"""What the fleet page shows, each fact in one bounded query."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from django.db import connections
from django.db.models import BooleanField, Case, Count, DateTimeField, ExpressionWrapper, Min, Q, QuerySet, Value, When
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy, ngettext

from routines_app import service
from routines_app.admin.charts import Column, meter
from routines_app.admin.due_markup import GRACE
from routines_app.admin.phrases import seconds_in_words
from routines_app.admin.run_facts import due_at, overdue_runs
from routines_app.admin.translating import grouped
from routines_app.core.words import Reason, RoutineStatus, RunStatus
from routines_app.models import Node, Routine, RoutineRun, RoutineState, RunLog, ScheduleChange
from routines_app.models.choices import choices_of

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

ROWS = 20
SAMPLE = 5_000  # rows that are looked at for the lateness of the last hour; the newest ones
MINUTES = 60
HOUR_SECONDS = 3600
STILL_SECONDS = 60.0  # what waits for a moment is everyday
MOST_UNSTOPPED = 1_000  # bodies that will not stop
OVERDUE_READ = 1_000  # routines that are due and not claimed, the first ones
WAITS_FOR: dict[str, _StrPromise] = {
    Reason.NONE: gettext_lazy("To be published"),
    Reason.CEILING: gettext_lazy("For room in a pool"),
    Reason.NOT_YET: gettext_lazy("For their time (retry, jitter)"),
}


def runs() -> QuerySet[RoutineRun]:
    return RoutineRun.objects.using(service.ledger_alias())


@dataclass(frozen=True, slots=True, kw_only=True)
class Active:
    """What has not ended, counted in one query."""

    running: int
    waiting: int
    reasons: list[dict[str, Any]]
    """Why runs wait: how many for each reason, and since when; those in the broker first, then the most."""


def active() -> Active:
    sent = ExpressionWrapper(Q(dispatched_at__isnull=False), output_field=BooleanField())
    unended = runs().filter(service.readable("eligible_at", "dispatched_at"))
    of_each = unended.filter(status__in=[RunStatus.PENDING, RunStatus.RUNNING]).annotate(sent=sent).order_by()
    counted = of_each.values("status", "sent", "reason").annotate(
        count=Count("pk"), oldest=Min("eligible_at"), oldest_sent=Min("dispatched_at")
    )
    groups: list[dict[str, Any]] = [dict(group) for group in counted]
    pending = [group for group in groups if group["status"] == RunStatus.PENDING]
    in_broker = [group for group in pending if group["sent"]]
    held = sorted((group for group in pending if not group["sent"]), key=lambda group: -group["count"])
    return Active(
        running=sum(group["count"] for group in groups) - sum(group["count"] for group in pending),
        waiting=sum(group["count"] for group in pending),
        reasons=_in_broker(in_broker) + [{**group, "label": _waits_for(group["reason"])} for group in held],
    )


def _in_broker(groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was sent waits for a worker, whatever it waited for before."""
    if not groups:
        return []
    oldest = min(group["oldest_sent"] for group in groups)
    count = sum(group["count"] for group in groups)
    return [{"count": count, "oldest": oldest, "label": gettext("In the broker, for a free worker")}]


def _waits_for(reason: str) -> str:
    label = WAITS_FOR.get(reason) or dict(choices_of(Reason)).get(reason)
    return reason.replace("_", " ").capitalize() if label is None else str(label)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lateness:
    """How late the runs of the last hour started, or of the minutes that the newest rows cover, and how late what is
    due and has not started is by now."""

    looked_at: int
    count: int
    unstarted: int
    """How many of them are due and have not started: runs that wait, and routines that no beat has claimed."""
    unstarted_most: float
    middle: float
    most: float
    high: float
    columns: list[Column]
    """One for each minute, the oldest first."""

    @property
    def stands_still(self) -> bool:
        """Something has been due for so long that the usual lateness says nothing."""
        return self.unstarted_most > STILL_SECONDS

    @property
    def is_cut(self) -> bool:
        return len(self.columns) < MINUTES

    @property
    def window(self) -> str:
        minutes = len(self.columns)
        if not self.is_cut:
            return gettext("last hour")
        return ngettext("last {count} minute", "last {count} minutes", minutes).format(count=minutes)


class _Row(NamedTuple):
    """What is read of a run, in seconds: the database subtracts faster than times are read."""

    id: UUID
    status: str
    reason: str
    started_ago: float | None
    started_late: float | None
    eligible_for: float
    late_by_now: float
    """If it started now; below zero: it is not due."""


def lateness(now: datetime) -> Lateness:
    """Read from the newest run backwards: ids carry the time of creation, so no other index is needed.

    A condition on the start would make the database walk on through all that never started: it is left to Python.
    """
    rows = _newest(now)
    by_minute: dict[int, list[float]] = defaultdict(list)
    for row in rows:
        if row.started_ago is not None and row.started_late is not None and row.started_ago <= HOUR_SECONDS:
            by_minute[int(row.started_ago // 60)].append(max(0.0, row.started_late))
    unstarted = [*_late_so_far(rows), *_unclaimed(now)]
    by_minute[0] += unstarted
    every = sorted(late for minute in by_minute.values() for late in minute)
    return Lateness(
        looked_at=len(rows),
        count=len(every),
        unstarted=len(unstarted),
        unstarted_most=max(unstarted, default=0.0),
        middle=_quantile(every, 0.5),
        high=_quantile(every, 0.95),
        most=every[-1] if every else 0.0,
        columns=[_minute(by_minute.get(ago, []), ago, now) for ago in reversed(range(_minutes_covered(rows, now)))],
    )


def _newest(now: datetime) -> list[_Row]:
    newest = runs().filter(pk__gte=service.oldest_run_id(now - timedelta(days=1))).order_by("-pk")
    newest = newest.filter(service.readable("started_at", "scheduled_for", "eligible_at"))  # as good as all of them
    at = Value(now, output_field=DateTimeField())
    rows = newest.values_list(
        "pk",
        "status",
        "reason",
        service.SecondsBetween("started_at", at),
        service.SecondsBetween(due_at(), "started_at"),
        service.SecondsBetween("eligible_at", at),
        service.SecondsBetween(due_at(), at),
    )
    return [_Row._make(row) for row in rows[:SAMPLE]]


def _late_so_far(rows: list[_Row]) -> Iterator[float]:
    """Of runs that are due and wait, for a worker or to be sent; what people have paused is not late."""
    for row in rows:
        if row.status == RunStatus.PENDING and row.eligible_for > 0 and row.reason not in service.HELD_BY_PEOPLE:
            yield max(0.0, row.late_by_now)


def _unclaimed(now: datetime) -> Iterator[float]:
    """Of routines that are due and that no beat has claimed; by the index that claims go by."""
    states = RoutineState.objects.using(service.ledger_alias()).filter(
        service.readable("next_run_at"), next_run_at__lt=now - GRACE
    )
    due = states.order_by("next_run_at").values_list("next_run_at", flat=True)[:OVERDUE_READ]
    yield from ((now - at).total_seconds() for at in due if at is not None)


def _minutes_covered(rows: list[_Row], now: datetime) -> int:
    """The whole minutes since the oldest row was created: what started before may have rows that were not read."""
    if len(rows) < SAMPLE:
        return MINUTES
    covered = now - service.run_created_at(rows[-1].id)
    return min(MINUTES, max(1, covered // timedelta(minutes=1)))


def _minute(late: list[float], ago: int, now: datetime) -> Column:
    at = now - timedelta(minutes=ago)
    high = _quantile(sorted(late), 0.95)
    tick = gettext("{amount} ago").format(amount=f"{ago} min") if ago and ago % 15 == 0 and ago < MINUTES else ""
    local = at.astimezone(timezone.get_current_timezone())
    label = ngettext(
        "{time}: 95 % within {length}, {count} run", "{time}: 95 % within {length}, {count} runs", len(late)
    )
    time = f"{local:%H:%M} {local.tzname()}"
    said = label.format(time=time, length=seconds_in_words(high), count=grouped(len(late)))
    return Column(amount=high, label=said, tick=tick)


def _quantile(ordered: list[float], share: float) -> float:
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else 0.0


def pool_meter(pool: Any) -> SafeString:
    """How full a pool is, from `list_pools`; a full one has another colour, and the words say so."""
    full = "rt-failed" if pool.in_flight >= pool.max_concurrent else "rt-running"
    words = (
        gettext("{count} of {all} in flight") if pool.max_concurrent else gettext("nothing starts, {count} in flight")
    )
    label = words.format(count=grouped(pool.in_flight), all=grouped(pool.max_concurrent))
    return meter(pool.in_flight, pool.max_concurrent, label=label, class_=full)


def nodes(now: datetime) -> list[dict[str, Any]]:
    """Beats and workers, each with whether it is still there by its last report. A beat takes those that are gone away:
    without one they stay, however long they are silent."""
    seen = Node.objects.using(service.ledger_alias()).filter(service.readable("seen_at"))
    return [{"node": node, "presence": service.presence(node.seen_at, now)} for node in seen[:100]]


def parked() -> list[Routine]:
    found = Routine.objects.using(service.ledger_alias()).filter(status=RoutineStatus.PARKED)
    return list(found.select_related("state").order_by("-updated_at")[:ROWS])


def failing() -> list[RoutineState]:
    """Routines with a body that cannot be stopped, then those whose last chains were exhausted, the worst first.

    Each by its own index: asked for in one statement, all states are looked through.
    """
    living = RoutineState.objects.using(service.ledger_alias()).filter(
        routine__status__in=[RoutineStatus.ACTIVE, RoutineStatus.PAUSED]
    )
    unstopped = set(overdue_runs().values_list("routine_id", flat=True)[:MOST_UNSTOPPED])
    bad = Q(failure_count__gt=0) if not unstopped else Q(failure_count__gt=0) | Q(pk__in=unstopped)
    overdue = Case(When(pk__in=unstopped, then=True), default=False) if unstopped else Value(False)
    worst = living.filter(bad).annotate(overdue=overdue).select_related("routine")
    return list(worst.order_by("-overdue", "-failure_count")[:ROWS])


def storage(now: datetime) -> list[tuple[str, int]]:
    """Bytes per table where the database can tell, else of the whole file. The answer is kept for a minute."""
    sizes = _storage(now.replace(second=0, microsecond=0), service.ledger_alias())
    return [(table or gettext("the whole file"), size) for table, size in sizes]


@lru_cache(maxsize=2)
def _storage(minute: datetime, using: str) -> list[tuple[str, int]]:  # noqa: ARG001
    """A file has no name here: what is kept is shown in any language."""
    connection = connections[using]
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
        return [("", cursor.fetchone()[0])]
