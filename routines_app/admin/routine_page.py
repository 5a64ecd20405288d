"""The page of one routine: timeline, charts, ledger, lease, hints, history, and a button for every verb."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.http import HttpRequest
from django.template.response import TemplateResponse

from routines_app import service
from routines_app.admin.code_facts import code_facts
from routines_app.admin.hint_facts import hints_of
from routines_app.admin.history import history_of
from routines_app.admin.member_facts import membership_of
from routines_app.admin.pace_facts import pace_chart
from routines_app.admin.permissions import may, may_copy
from routines_app.admin.phrases import source_in_words
from routines_app.admin.recent import recent_runs
from routines_app.admin.rotation_facts import phases_shown
from routines_app.admin.routine_columns import OVERDUE, schedule_of, state_of
from routines_app.admin.run_facts import overdue_runs
from routines_app.admin.shown_values import masked_json
from routines_app.admin.verb_buttons import VERBS, Verb, rotates
from routines_app.admin.why_box import why_box
from routines_app.admin.window_charts import newest_runs, window_charts
from routines_app.core.errors import RoutineError
from routines_app.core.words import RoutineStatus
from routines_app.models import Routine, RoutineRun, ScheduleChange

if TYPE_CHECKING:
    from routines_app.admin.routines import RoutineAdmin

WINDOWS = {"1h": 1, "6h": 6, "24h": 24, "7d": 168, "30d": 720}  # hours
LEDGER_ROWS = 50
CHANGES = 20  # in the table; the chart of the pace marks as many as are read
CHANGES_READ = 60
COMING = 5


def routine_page(admin: RoutineAdmin, request: HttpRequest, object_id: int) -> TemplateResponse:
    routine = admin.routine_or_404(request, object_id)
    window = request.GET.get("window", "24h")
    window = window if window in WINDOWS else "24h"
    now, state = service.now(), state_of(routine)
    start = now - timedelta(hours=WINDOWS[window])
    runs = newest_runs(routine, start)
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
        "ledger": _ledger(routine, runs),
        "history": history_of(routine, changes[:CHANGES]),
        "pace": pace_chart(routine, changes),
        **why_box(request, routine),
        "hints": hints_of(state, now),
        "membership": membership_of(routine),
        "may_touch": may(request, "view_rotation") or may(request, "change_rotation"),
        "rotates": rotates(routine),
        "lease": service.lease_of(routine),
        **window_charts(routine, runs, start, now),
    }
    return TemplateResponse(request, "routines/routine.html", context)


def offered(request: HttpRequest, routine: Routine) -> dict[str, Verb]:
    """The verbs that fit the routine and that this person may use."""
    found = {slug: verb for slug, verb in VERBS.items() if verb.fits(routine) and may(request, verb.permission)}
    return {slug.replace("-", "_"): verb for slug, verb in found.items()}


def _coming(routine: Routine, now: datetime) -> list[service.PlannedFire]:
    try:
        return service.plan_of(routine, now=now, horizon="366d", limit=COMING)
    except RoutineError:  # a corrupt row must be looked at to be mended
        return []


def _ledger(routine: Routine, runs: Sequence[RoutineRun]) -> Sequence[RoutineRun]:
    """The newest ones: a busy routine's have all been read for the charts."""
    if len(runs) >= LEDGER_ROWS:
        return runs[:LEDGER_ROWS]
    return service.list_runs(routine, limit=LEDGER_ROWS, large=False)
