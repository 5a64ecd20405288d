"""The page of one backfill: how far its runs are, and a button that cancels what waits. It updates itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from routines_app import service
from routines_app.admin.charts.meter import meter
from routines_app.admin.log_entries import actor_of, note
from routines_app.admin.permissions import may
from routines_app.admin.translating import grouped, translated
from routines_app.core.errors import NotFound, RoutineError
from routines_app.core.said import said_of
from routines_app.core.words import RunStatus
from routines_app.models import Routine

if TYPE_CHECKING:
    from routines_app.admin.routines import RoutineAdmin

CANCEL = "cancel_routinerun"
RUNS = 30  # in the table: the unsettled first, then the newest slots


def backfill_page(admin: RoutineAdmin, request: HttpRequest, object_id: int, batch: str) -> HttpResponse:
    """GET shows how it stands, POST cancels what waits."""
    routine = admin.routine_or_404(request, object_id)
    if request.method == "POST":
        return _cancel(admin, request, routine, batch)
    facts = _facts(request, routine, batch)
    context = {
        **admin.admin_site.each_context(request),
        "title": _("Backfill of {routine}").format(routine=routine.name),
        "opts": admin.model._meta,
        "section": "routines",
        **facts,
    }
    return TemplateResponse(request, "routines/backfill.html", context)


def backfill_fragment(admin: RoutineAdmin, request: HttpRequest, object_id: int, batch: str) -> HttpResponse:
    facts = _facts(request, admin.routine_or_404(request, object_id), batch)
    answer = render(request, "routines/backfill_live.html", facts)
    answer["X-Routines-Status"] = facts["live_status"]  # when it changes, the page loads itself again: its button goes
    return answer


def _cancel(admin: RoutineAdmin, request: HttpRequest, routine: Routine, batch: str) -> HttpResponse:
    if not may(request, CANCEL):
        raise PermissionDenied
    try:
        count = service.cancel_backfill(routine, batch, actor=actor_of(request))
    except NotFound as gone:
        raise Http404(translated(gone)) from gone
    except RoutineError as refused:
        admin.message_user(request, translated(refused), messages.ERROR)
        return HttpResponseRedirect(request.path)
    done = said_of(
        count,
        "Cancelled {count:,} run of a backfill of {routine} that waited",
        "Cancelled {count:,} runs of a backfill of {routine} that waited",
        routine=routine.name,
    )
    if count:
        note(request, routine, done)
    admin.message_user(request, f"{translated(done)}.", messages.SUCCESS if count else messages.WARNING)
    return HttpResponseRedirect(request.path)


def _ended(count: int, total: int) -> str:
    label = ngettext("{count} of {all} ended", "{count} of {all} ended", total)
    return label.format(count=grouped(count), all=grouped(total))


def _facts(request: HttpRequest, routine: Routine, batch: str) -> dict[str, Any]:
    try:
        status = service.backfill_status(routine, batch)
    except NotFound as gone:
        raise Http404(translated(gone)) from gone
    total = len(status.runs)
    unsettled_first = sorted(
        status.runs, key=lambda run: (run.status == RunStatus.SUCCESS, -run.scheduled_for.timestamp())
    )
    return {
        "routine": routine,
        "status": status,
        "counts": [(word, status.counts[word]) for word in RunStatus if word in status.counts],
        "bar": meter(status.ended, total, label=_ended(status.ended, total)),
        "total": total,
        "shown": unsettled_first[:RUNS],
        "may_cancel": bool(status.waiting) and may(request, CANCEL),
        "live_status": "waiting" if status.waiting else "running" if status.ended < total else "ended",
    }
