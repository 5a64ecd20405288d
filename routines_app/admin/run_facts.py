"""A run as the pages tell it: how long, how late, and as marks on the charts."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Case, F, QuerySet, When
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from routines_app import service
from routines_app.admin.charts import Point, TimelineSpan
from routines_app.admin.code_words import code_in_words, status_label
from routines_app.admin.phrases import seconds_in_words, short_time
from routines_app.admin.translating import grouped
from routines_app.core.words import Reason, RunStatus, RunTrigger
from routines_app.models import RoutineRun

PLANNED = frozenset({RunTrigger.SCHEDULE, RunTrigger.HINT})
OUTLIVED = timedelta(seconds=1)  # two machines' measurements of the ledger's time differ by less


def overdue_runs() -> QuerySet[RoutineRun]:
    """Runs whose body was to stop and runs on. They are few, and the index by status leads there."""
    runs = RoutineRun.objects.using(service.ledger_alias())
    return runs.filter(status=RunStatus.RUNNING, reason=Reason.OVERDUE)


def length_of(run: RoutineRun, now: datetime) -> float | None:
    """Seconds that the body took, or has taken so far."""
    if run.started_at is None:
        return None
    return ((run.completed_at or now) - run.started_at).total_seconds()


def outlived(run: RoutineRun) -> bool:
    """Whether its body went on after the run had ended, for longer than it takes to tell one from the other."""
    if run.body_ended_at is None or run.completed_at is None:
        return False
    return run.body_ended_at > run.completed_at + OUTLIVED


def lateness_of(run: RoutineRun) -> float | None:
    """Seconds from when it should have started to when it did."""
    return late_seconds(run.started_at, run.scheduled_for, run.eligible_at, run.trigger, run.attempt)


def late_seconds(
    started_at: datetime | None, scheduled_for: datetime, eligible_at: datetime, trigger: str, attempt: int
) -> float | None:
    """A first attempt is due at its slot, any other one when it became eligible."""
    if started_at is None:
        return None
    due = scheduled_for if trigger in PLANNED and attempt == 1 else eligible_at
    return max(0.0, (started_at - due).total_seconds())


def due_at() -> Case:
    """The same for the database: from when on a run is late."""
    return Case(When(trigger__in=PLANNED, attempt=1, then=F("scheduled_for")), default=F("eligible_at"))


def label_of(run: RoutineRun, now: datetime) -> str:
    """One line for tooltips."""
    length = length_of(run, now)
    slots = ngettext("{count} slot", "{count} slots", run.occurrences).format(count=grouped(run.occurrences))
    parts = [
        status_label(run.status) + (f" ({code_in_words(run.reason)})" if run.reason else ""),
        _("slot {time}").format(time=short_time(run.scheduled_for, now, timezone.get_current_timezone())),
        _("attempt {number}").format(number=run.attempt) if run.attempt > 1 else "",
        slots if run.occurrences > 1 else "",
        seconds_in_words(length) if length is not None else "",
    ]
    return " · ".join(part for part in parts if part)


def span_of(run: RoutineRun, now: datetime) -> TimelineSpan:
    """What the timeline draws: the body, or a mark where there was none."""
    start, end = _bounds(run, now)
    return TimelineSpan(
        key=str(run.pk),
        outcome=run.status,
        start=start,
        end=end,
        label=label_of(run, now),
        href=run_url(run),
        retry_of=str(run.retry_of_id) if run.retry_of_id else None,
    )


def duration_point(run: RoutineRun, now: datetime) -> Point | None:
    length = length_of(run, now)
    return None if length is None else _point(run, length, now)


def lateness_point(run: RoutineRun, now: datetime) -> Point | None:
    late = lateness_of(run)
    return None if late is None else _point(run, late, now)


def run_url(run: RoutineRun) -> str:
    return reverse("admin:routines_routinerun_change", args=[run.pk])


def _bounds(run: RoutineRun, now: datetime) -> tuple[datetime, datetime]:
    if run.started_at is not None:
        # A body that ended in the same microsecond is a bar all the same, not a mark.
        return run.started_at, max(run.completed_at or now, run.started_at + timedelta(microseconds=1))
    if run.status == RunStatus.PENDING and run.eligible_at < now:
        return run.eligible_at, now
    at = run.scheduled_for if run.status == RunStatus.SKIPPED else (run.completed_at or run.eligible_at)
    return at, at


def _point(run: RoutineRun, seconds: float, now: datetime) -> Point:
    assert run.started_at is not None  # nosec B101 # for the type checker
    return Point(at=run.started_at, seconds=seconds, outcome=run.status, label=label_of(run, now), href=run_url(run))
