"""The page of one rotation: how it stands, what it would pick and why, its ticks, its staleness and its members."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from routines_app import service
from routines_app.admin import rotation_facts
from routines_app.admin.charts import lines
from routines_app.admin.member_table import member_table, query_of
from routines_app.admin.permissions import may
from routines_app.admin.rotation_verbs import MEMBER_VERBS, ROTATION_VERBS
from routines_app.admin.routine_columns import schedule_of
from routines_app.admin.verb_pages import VIEW_RUNS
from routines_app.models import Rotation

if TYPE_CHECKING:
    from routines_app.admin.rotations import RotationAdmin

COUNTED_EVERY = 10.0  # seconds, while somebody looks: very many members are not counted for every viewer
WINDOWS = {"24h": 24, "7d": 168, "30d": 720}  # hours


def rotation_page(admin: RotationAdmin, request: HttpRequest, object_id: int) -> TemplateResponse:
    now, status = service.now(), _status_or_404(admin, request, object_id)
    rotation = status.rotation
    window = request.GET.get("window", "24h")
    window = window if window in WINDOWS else "24h"
    context = {
        **admin.admin_site.each_context(request),
        "title": rotation.name,
        "opts": admin.model._meta,
        "section": "rotations",
        "window": window,
        "windows": [(one, query_of(request, window=one)) for one in WINDOWS],
        "staleness": _staleness(rotation, now, timedelta(hours=WINDOWS[window])),
        "phases": rotation_facts.phases_shown(rotation.phases),
        "table": member_table(request, rotation, now),
        "verbs": {
            slug: verb for slug, verb in ROTATION_VERBS.items() if verb.fits(rotation) and may(request, verb.permission)
        },
        "member_verbs": [verb for verb in MEMBER_VERBS.values() if verb.allowed(request)],
        "may_change": admin.has_change_permission(request),
        **_live_facts(request, status),
    }
    return TemplateResponse(request, "routines/rotation.html", context)


def rotation_fragment(admin: RotationAdmin, request: HttpRequest, object_id: int) -> HttpResponse:
    """What moves by itself. The status is a header too: when it changes, the page loads itself again."""
    status = _status_or_404(admin, request, object_id, max_age=COUNTED_EVERY)
    response = render(request, "routines/rotation_live.html", _live_facts(request, status))
    response["X-Routines-Status"] = status.rotation.routine.status
    return response


def _status_or_404(
    admin: RotationAdmin, request: HttpRequest, object_id: int, *, max_age: float = 0
) -> service.RotationStatus:
    """How the rotation stands, with itself, for someone who may look at it."""
    admin.require_view(request)
    try:
        return service.rotation_status(object_id, picks=rotation_facts.PICKS, max_age=max_age)
    except service.NotFound:
        raise Http404(_("There is no rotation {id}.").format(id=object_id)) from None


def _live_facts(request: HttpRequest, status: service.RotationStatus) -> dict[str, Any]:
    """What runs came to only for those who may look at runs."""
    rotation, sees_runs = status.rotation, may(request, VIEW_RUNS)
    ticks = rotation_facts.recent_ticks(rotation) if sees_runs else []
    return {
        "sees_runs": sees_runs,
        "rotation": rotation,
        "routine": rotation.routine,
        "schedule": schedule_of(rotation.routine),
        "status": status,
        "shares": rotation_facts.shares_of(status),
        "idle": rotation_facts.idle_in_words(status),
        "under_way": rotation_facts.under_way(status),
        "next_picks": rotation_facts.next_picks(status),
        "ticks": ticks,
        "tick_strip": rotation_facts.strip_of(ticks),
        "tick_rows": rotation_facts.told_ticks(ticks),
        "seeding": rotation_facts.seeding_of(status) if sees_runs else {},
    }


def _staleness(rotation: Rotation, now: datetime, length: timedelta) -> Any:
    samples = rotation_facts.samples_since(rotation, now - length)
    zone, fresh_for = timezone.get_current_timezone(), rotation.fresh_for_ms / 1000
    return lines(samples, start=now - length, end=now, zone=zone, limit=fresh_for)
