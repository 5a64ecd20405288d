"""The page of one routine: timeline, charts, ledger, lease, hints, history, and a button for every verb."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.safestring import SafeString

from routines_app import service
from routines_app.admin.charts import Point, scatter, timeline
from routines_app.admin.code_facts import code_facts
from routines_app.admin.hint_facts import hints_of
from routines_app.admin.member_facts import membership_of
from routines_app.admin.pace_facts import pace_chart
from routines_app.admin.permissions import may, may_copy
from routines_app.admin.phrases import source_in_words
from routines_app.admin.recent import recent_runs
from routines_app.admin.rotation_facts import phases_shown
from routines_app.admin.routine_columns import OVERDUE, schedule_of, state_of
from routines_app.admin.run_facts import duration_point, lateness_point, overdue_runs, span_of
from routines_app.admin.shown_values import masked_json
from routines_app.admin.verb_buttons import VERBS, Verb, rotates
from routines_app.core.errors import RoutineError
from routines_app.core.words import RoutineStatus
from routines_app.masks import masked
from routines_app.models import Routine, RoutineRun, ScheduleChange

if TYPE_CHECKING:
    from routines_app.admin.routines import RoutineAdmin

WINDOWS = {"1h": 1, "6h": 6, "24h": 24, "7d": 168, "30d": 720}  # hours
DRAWN = 300  # runs on the charts: more would be a smear
LEDGER_ROWS = 50
CHANGES = 20  # in the table; the chart of the pace marks as many as are read
CHANGES_READ = 60
COMING = 5
LONGEST_BODY_MS = 86_400_000  # of a routine without a time-out of its own


def routine_page(admin: RoutineAdmin, request: HttpRequest, object_id: int) -> TemplateResponse:
    routine = admin.routine_or_404(request, object_id)
    window = request.GET.get("window", "24h")
    window = window if window in WINDOWS else "24h"
    now, state = service.now(), state_of(routine)
    changes = list(ScheduleChange.objects.filter(routine_id=routine.pk)[:CHANGES_READ])
    context = {
        **admin.admin_site.each_context(request),
        "title": routine.name,
        "opts": admin.model._meta,
        "section": "routines",
        "routine": routine,
        "state": state,
        "overdue": overdue_runs().filter(routine_id=routine.pk).only("pk").first(),
        "overdue_says": OVERDUE,
        "schedule": schedule_of(routine),
        "why": source_in_words(state.next_source) if state else "",
        "coming": _coming(routine, now),
        "arguments": masked_json({"args": routine.args, "kwargs": routine.kwargs}),
        "phases": phases_shown(routine.phases),
        "options": masked_json(routine.options) if routine.options else "",
        "recent": recent_runs([routine.pk], using=routine._state.db or "default")[routine.pk],
        "window": window,
        "windows": list(WINDOWS),
        "run_token": uuid.uuid4().hex,
        "verbs": offered(request, routine),
        "needs_reset": routine.status == RoutineStatus.PARKED or bool(state and state.failure_count),
        "may_change": may(request, "change_routine"),
        "may_copy": may_copy(request),
        "differs": code_facts(routine),
        "ledger": _ledger(routine),
        "changes": [{"row": change, "fields": _changed_fields(change)} for change in changes[:CHANGES]],
        "pace": pace_chart(routine, changes),
        "hints": hints_of(state, now),
        "membership": membership_of(routine),
        "may_touch": may(request, "view_rotation") or may(request, "change_rotation"),
        "rotates": rotates(routine),
        "lease": service.lease_of(routine),
        **_charts(routine, now, timedelta(hours=WINDOWS[window])),
    }
    return TemplateResponse(request, "routines/routine.html", context)


def offered(request: HttpRequest, routine: Routine) -> dict[str, Verb]:
    """The verbs that fit the routine and that this person may use."""
    found = {slug: verb for slug, verb in VERBS.items() if verb.fits(routine) and may(request, verb.permission)}
    return {slug.replace("-", "_"): verb for slug, verb in found.items()}


def _coming(routine: Routine, now: datetime) -> list[service.PlannedFire]:
    try:
        return service.plan(routine, now=now, horizon="366d", limit=COMING)
    except RoutineError:  # a corrupt row must be looked at to be mended
        return []


def _charts(routine: Routine, now: datetime, length: timedelta) -> dict[str, SafeString | bool]:
    start, zone = now - length, timezone.get_current_timezone()
    runs = _runs_since(routine, start)
    spans = [span for run in runs if (span := span_of(run, now)).end >= start and span.start <= now]
    durations = _points([duration_point(run, now) for run in runs], start)
    lateness = _points([lateness_point(run, now) for run in runs], start)
    time_out = routine.timeout_ms / 1000 if routine.timeout_ms else None
    return {
        "timeline": timeline(spans, start=start, end=now, zone=zone),
        "durations": scatter(durations, start=start, end=now, zone=zone, label="Duration", limit=time_out),
        "lateness": scatter(lateness, start=start, end=now, zone=zone, label="Lateness"),
        "cut": len(runs) == DRAWN,
    }


def _runs_since(routine: Routine, start: datetime) -> list[RoutineRun]:
    """The newest runs that can reach into the window: ids carry the time of creation, bodies end by their time-out."""
    created = start - timedelta(milliseconds=routine.timeout_ms or LONGEST_BODY_MS)
    runs = RoutineRun.objects.filter(routine_id=routine.pk, pk__gte=service.oldest_run_id(created))
    return list(runs.defer(*service.LARGE_FIELDS, "progress").order_by("-id")[:DRAWN])


def _points(points: Sequence[Point | None], start: datetime) -> list[Point]:
    return [point for point in points if point is not None and point.at >= start]


def _ledger(routine: Routine) -> list[RoutineRun]:
    return service.list_runs(routine, limit=LEDGER_ROWS, large=False)


def _changed_fields(change: ScheduleChange) -> list[tuple[str, Any, Any]]:
    before, after = (masked(values) if isinstance(values, dict) else {} for values in (change.before, change.after))
    return [(name, _said(name, before), _said(name, after)) for name in sorted({*before, *after})]


def _said(name: str, values: dict[str, Any]) -> Any:
    value = values.get(name)
    return service.format_duration(value) if name.endswith("_ms") and isinstance(value, int) else value
