"""The charts of a routine's page over a window: a mark for each run where they fit, else buckets over all of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from routines_app import service
from routines_app.admin.charts import Band, Point, Stack, bands, scatter, stacks, timeline
from routines_app.admin.charts.outcome_words import counted
from routines_app.admin.charts.widths import in_each_width
from routines_app.admin.phrases import seconds_in_words, weekday_and_date
from routines_app.admin.run_buckets import READ_PER_BUCKET, Bucket, Quantiles, read_buckets
from routines_app.admin.run_facts import duration_point, lateness_point, span_of
from routines_app.models import Routine, RoutineRun

FITTING = 150  # runs that are drawn one by one: more would be a smear
LONGEST_BODY_MS = 86_400_000  # of a routine without a time-out of its own
CALLED = {"pending": "waiting"}


def newest_runs(routine: Routine, start: datetime) -> list[RoutineRun]:
    """The newest runs that can reach into the time from `start` on, and of these one more than is drawn one by one.

    Ids carry the time of creation, and bodies end by their time-out.
    """
    created = start - timedelta(milliseconds=routine.timeout_ms or LONGEST_BODY_MS)
    runs = RoutineRun.objects.using(service.ledger_alias()).filter(routine_id=routine.pk)
    runs = runs.filter(pk__gte=service.oldest_run_id(created))
    return list(runs.defer(*service.LARGE_FIELDS, "progress").order_by("-id")[: FITTING + 1])


def window_charts(routine: Routine, runs: Sequence[RoutineRun], start: datetime, now: datetime) -> dict[str, Any]:
    """Timeline, durations and lateness from `start` until now, of its `newest_runs`, for the template."""
    if len(runs) > FITTING and service.run_created_at(runs[-1].pk) >= start:
        return _in_buckets(routine, start, now)
    return _one_by_one(routine, runs, start, now)


def _one_by_one(routine: Routine, runs: Sequence[RoutineRun], start: datetime, now: datetime) -> dict[str, Any]:
    window: dict[str, Any] = {"start": start, "end": now, "zone": timezone.get_current_timezone()}
    spans = [span for run in runs if (span := span_of(run, now)).end >= start and span.start <= now]
    durations = _points([duration_point(run, now) for run in runs], start)
    lateness = _points([lateness_point(run, now) for run in runs], start)
    return {
        "timeline": in_each_width(lambda width: timeline(spans, width=width, **window)),
        "durations": scatter(durations, label=pgettext("of runs", "Duration"), limit=_time_out(routine), **window),
        "lateness": scatter(lateness, label=_("Lateness"), **window),
        "buckets": [],
    }


def _points(points: Sequence[Point | None], start: datetime) -> list[Point]:
    return [point for point in points if point is not None and point.at >= start]


class _Told(NamedTuple):
    """A bucket, when it was in words, and the list of its runs: said several times, and found once."""

    bucket: Bucket
    when: str
    href: str


def _in_buckets(routine: Routine, start: datetime, now: datetime) -> dict[str, Any]:
    window: dict[str, Any] = {"start": start, "end": now, "zone": timezone.get_current_timezone()}
    buckets = read_buckets(routine, start, now)
    told = [_Told(one, span_in_words(one), runs_between(routine, one.begin, one.end)) for one in buckets]
    columns = [_stack(one) for one in told]
    durations = [_band(one, _("{when}: took {lengths}"), one.bucket.durations) for one in told if one.bucket.durations]
    lateness = [_band(one, _("{when}: late by {lengths}"), one.bucket.lateness) for one in told if one.bucket.lateness]
    return {
        "timeline": in_each_width(lambda width: stacks(columns, width=width, **window)),
        "durations": bands(durations, label=pgettext("of runs", "Duration"), limit=_time_out(routine), **window),
        "lateness": bands(lateness, label=_("Lateness"), **window),
        "buckets": [_row(one) for one in told if one.bucket.counts],
        "sampled": READ_PER_BUCKET if any(bucket.is_estimate for bucket in buckets) else 0,
    }


def _time_out(routine: Routine) -> float | None:
    return routine.timeout_ms / 1000 if routine.timeout_ms else None


def _stack(told: _Told) -> Stack:
    bucket = told.bucket
    label = f"{told.when}: {counts_in_words(bucket)}"
    return Stack(begin=bucket.begin, end=bucket.end, parts=list(bucket.counts.items()), label=label, href=told.href)


def _band(told: _Told, said: str, measured: Quantiles) -> Band:
    return Band(
        begin=told.bucket.begin,
        end=told.bucket.end,
        middle=measured.middle,
        high=measured.high,
        label=said.format(when=told.when, lengths=quantiles_in_words(measured)),
        href=told.href,
    )


def _row(told: _Told) -> dict[str, str]:
    """The same for a table: for whoever reads rather than points."""
    return {
        "when": told.when,
        "href": told.href,
        "runs": counts_in_words(told.bucket),
        "took": quantiles_in_words(told.bucket.durations),
        "late": quantiles_in_words(told.bucket.lateness),
    }


def runs_between(routine: Routine, begin: datetime, end: datetime) -> str:
    """The list of the routine's runs of that time."""
    times = {"from": _exact(begin), "until": _exact(end)}
    return f"{reverse('admin:routines_routinerun_changelist')}?{urlencode({'routine': routine.pk, **times})}"


def _exact(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def span_in_words(bucket: Bucket) -> str:
    zone = timezone.get_current_timezone()
    begin, end = bucket.begin.astimezone(zone), bucket.end.astimezone(zone)
    clock = "%H:%M" if end - begin >= timedelta(minutes=5) else "%H:%M:%S"
    said = _("{date}, {first} to {last}")
    return said.format(date=weekday_and_date(begin), first=begin.strftime(clock), last=end.strftime(clock))


def counts_in_words(bucket: Bucket) -> str:
    """`120 success, 3 failed`; `about 3,400 success` where not all were read."""
    counts = ((CALLED.get(kind, kind), count) for kind, count in bucket.counts.items())
    return ", ".join(counted(kind, count, about=bucket.is_estimate) for kind, count in counts)


def quantiles_in_words(measured: Quantiles | None) -> str:
    if measured is None:
        return "—"
    said = _("{middle} (median), {high} (95 %)")
    return said.format(middle=seconds_in_words(measured.middle), high=seconds_in_words(measured.high))
