"""Batches of pauses: their list, a page that makes one, and the page of one, which resumes it.

Both ways work for a second and then ask whether to go on: by a button, or by a script that presses it. What was counted
is what is done: a form that has changed since is counted again.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from routines_app import service
from routines_app.admin.batch_forms import BatchForm
from routines_app.admin.charts import meter
from routines_app.admin.list_filter import filter_text, filtered
from routines_app.admin.log_entries import actor_of, note_of_all
from routines_app.admin.permissions import may
from routines_app.admin.refusals import refuse
from routines_app.admin.translating import grouped, translated
from routines_app.admin.verb_acts import SECONDS, OutOfTime
from routines_app.admin.verb_forms import RELEASES, ResumeForm
from routines_app.admin.verb_pages import NAMED
from routines_app.core.errors import RoutineError
from routines_app.core.words import CatchUpPolicy
from routines_app.models import PauseBatch, Routine

if TYPE_CHECKING:
    from routines_app.admin.routines import RoutineAdmin

ROWS = 50
LISTED = 100
PAUSE = "pause_routine"


def batch_list(admin: RoutineAdmin, request: HttpRequest) -> TemplateResponse:
    """The open ones; on demand also those that are over."""
    admin.require_view(request)
    closed = "closed" in request.GET
    rows = service.list_pause_batches(LISTED, closed=closed)
    context = {"title": _("Batches of pauses"), "batches": rows, "closed": closed, "may_pause": may(request, PAUSE)}
    return _page(admin, request, "routines/batches.html", context)


# Making one


def new_batch_page(admin: RoutineAdmin, request: HttpRequest) -> HttpResponse:
    """Ask, count, and then pause what was counted."""
    admin.require_view(request)
    if not may(request, PAUSE):
        raise PermissionDenied
    given = request.POST if request.method == "POST" else request.GET
    by_filter = "filter" in given
    initial = {"filter": filter_text(given.get("filter", ""))} if by_filter else {}
    form = BatchForm(request.POST if request.method == "POST" else None, by_filter=by_filter, initial=initial)
    try:
        return _made_or_counted(admin, request, form, by_filter)
    except RoutineError as refused:
        if not form.is_bound:
            admin.message_user(request, translated(refused), messages.ERROR)
            return HttpResponseRedirect(reverse("admin:routines_routine_changelist"))
        refuse(form, refused)
        return _asked(admin, request, form, None)


def _made_or_counted(admin: RoutineAdmin, request: HttpRequest, form: BatchForm, by_filter: bool) -> HttpResponse:
    if not form.is_bound:
        of_list = {"routines": filtered(admin, request, form.initial["filter"])} if by_filter else None
        return _asked(admin, request, form, of_list)
    if not form.is_valid():
        return _asked(admin, request, form, None)
    selector = _selector(admin, request, form)
    if form.wants.get("counted") != form.chosen:
        return _asked(admin, request, form, selector)
    return _make(admin, request, form, selector)


def _selector(admin: RoutineAdmin, request: HttpRequest, form: BatchForm) -> dict[str, Any]:
    wants = form.wants
    if "by" in wants:
        return {wants["by"]: wants["value"]}
    return {"routines": filtered(admin, request, filter_text(wants.get("filter", "")))}


def _asked(
    admin: RoutineAdmin, request: HttpRequest, form: BatchForm, selector: dict[str, Any] | None
) -> TemplateResponse:
    """With a selector also how many there are; whoever confirms has seen that."""
    counts = None if selector is None else service.preview_pause_batch(**selector)
    ready = counts is not None and form.is_bound
    context = {
        "title": _("Pause many as one batch"),
        "form": form,
        "counts": counts,
        "ready": ready,
        "chosen": form.chosen if ready else "",
        "filter": form.data.get("filter", "") if form.is_bound else form.initial.get("filter"),
    }
    return _page(admin, request, "routines/batch_new.html", context, status=422 if form.errors else 200)


def _make(admin: RoutineAdmin, request: HttpRequest, form: BatchForm, selector: dict[str, Any]) -> HttpResponse:
    wants = form.wants
    described: dict[str, Any] = {"described": filter_text(wants.get("filter", ""))} if "routines" in selector else {}
    said = {"until": wants.get("until"), "reason": wants.get("reason", ""), "actor": actor_of(request)}
    try:
        batch = service.pause_batch(wants["name"], **selector, **described, **said, progress=_for_a_moment())
    except OutOfTime:
        batch = service.find_pause_batch(wants["name"])
    note_of_all(request, Routine, batch.name, f"Began batch {batch.name} of pauses", batch.reason)
    return _went(admin, request, batch, _paused(batch))


# One of them


def batch_page(admin: RoutineAdmin, request: HttpRequest, batch_id: int) -> HttpResponse:
    """What it holds, and what resuming it would release; POST goes on with it, or resumes it."""
    admin.require_view(request)
    try:
        batch = service.find_pause_batch(batch_id)
    except RoutineError as missing:
        raise Http404(translated(missing)) from missing
    form = ResumeForm(request.POST if "release" in request.POST else None, initial={"release": batch.release or "SKIP"})
    if request.method == "POST":
        if not may(request, PAUSE):
            raise PermissionDenied
        done = _acted(admin, request, batch, form)
        if done is not None:
            return done
    return _shown(admin, request, batch, form)


def _acted(admin: RoutineAdmin, request: HttpRequest, batch: PauseBatch, form: ResumeForm) -> HttpResponse | None:
    """None: it was refused, and the form says why."""
    try:
        if "release" not in request.POST:
            return _continue(admin, request, batch)
        return _resume(admin, request, batch, form) if form.is_valid() else None
    except RoutineError as refused:
        if form.is_bound:
            refuse(form, refused)
            return None
        admin.message_user(request, translated(refused), messages.ERROR)
        return HttpResponseRedirect(_url(batch))


def _continue(admin: RoutineAdmin, request: HttpRequest, batch: PauseBatch) -> HttpResponse:
    by_filter = batch.selected_by.get("by") == "filter"
    routines = filtered(admin, request, str(batch.selected_by.get("value", ""))) if by_filter else None
    try:
        batch = service.continue_pause_batch(batch, routines=routines, progress=_for_a_moment())
    except OutOfTime:
        batch = service.find_pause_batch(batch)
    return _went(admin, request, batch, _paused(batch))


def _paused(batch: PauseBatch) -> str:
    told = ngettext(
        "Batch {batch} has paused {count} routine.", "Batch {batch} has paused {count} routines.", batch.taken
    )
    return told.format(batch=batch.name, count=grouped(batch.taken))


def _resume(admin: RoutineAdmin, request: HttpRequest, batch: PauseBatch, form: ResumeForm) -> HttpResponse:
    wants = form.wants
    began = not batch.is_resuming
    try:
        done = service.resume_pause_batch(
            batch,
            release=wants["release"],
            actor=actor_of(request),
            reason=wants.get("reason", ""),
            progress=_for_a_moment(),
        )
        batch = done.batch
        for name, why in done.refused[:NAMED]:
            told = _("{routine} stays paused: {why}.").format(routine=name, why=translated(why.expected))
            admin.message_user(request, told, messages.WARNING)
    except OutOfTime:
        batch = service.find_pause_batch(batch)
    if began:
        said = f"Resumed batch {batch.name} of pauses, {wants['release']}"
        note_of_all(request, Routine, batch.name, said, wants.get("reason", ""))
    return _went(admin, request, batch, _resumed(batch))


def _resumed(batch: PauseBatch) -> str:
    told = ngettext(
        "Batch {batch} has resumed {count} routine.", "Batch {batch} has resumed {count} routines.", batch.resumed
    )
    return told.format(batch=batch.name, count=grouped(batch.resumed))


def _went(admin: RoutineAdmin, request: HttpRequest, batch: PauseBatch, told: str) -> HttpResponse:
    """To its page; with more to do, that asks to go on, and a script does so by itself."""
    unfinished = batch.is_resuming or batch.is_filling
    if not unfinished:
        admin.message_user(request, told, messages.SUCCESS)
    return HttpResponseRedirect(_url(batch) + ("?go=1" if unfinished else ""))


def _shown(admin: RoutineAdmin, request: HttpRequest, batch: PauseBatch, form: ResumeForm) -> TemplateResponse:
    after = request.GET.get("after", "")
    routines = Routine.objects.using(service.ledger_alias()).filter(pause_batch=batch.pk)
    routines = routines.filter(pk__gt=int(after)) if service.is_id(after) else routines
    rows = list(routines.select_related("state").order_by("pk")[: ROWS + 1])
    seen = service.preview_resume_batch(batch)
    goes_on = batch.is_filling or batch.is_resuming
    context = {
        "title": batch.name,
        "batch": batch,
        "form": form,
        "may_pause": may(request, PAUSE),
        "routines": rows[:ROWS],
        "after": rows[ROWS - 1].pk if len(rows) > ROWS else None,
        "seen": seen,
        "releases": [
            (label, seen.runs_by[CatchUpPolicy(code)], seen.skipped_by[CatchUpPolicy(code)]) for code, label in RELEASES
        ],
        "progress": _progress(batch, seen.routines) if goes_on else "",
        "go": goes_on and "go" in request.GET and may(request, PAUSE),
    }
    return _page(admin, request, "routines/batch.html", context, status=422 if form.errors else 200)


def _progress(batch: PauseBatch, left: int) -> Any:
    """By ids while it is filled: how many there will be, nobody has counted."""
    if batch.is_resuming:
        total = batch.resumed + batch.refused + left
        label = ngettext("{count} of {all} routine resumed", "{count} of {all} routines resumed", total)
        return meter(total - left, total, label=label.format(count=grouped(batch.resumed), all=grouped(total)))
    label = ngettext("{count} routine paused so far", "{count} routines paused so far", batch.taken)
    return meter(batch.looked_at_id, batch.up_to_id, label=label.format(count=grouped(batch.taken)))


def _for_a_moment() -> Any:
    """For `progress`: after a second the request has done enough."""
    stop_at = time.monotonic() + SECONDS

    def in_time(done: int) -> None:
        if time.monotonic() > stop_at:  # after a piece, so something was done
            raise OutOfTime(done)

    return in_time


def _url(batch: PauseBatch) -> str:
    return reverse("admin:routines_batch", args=[batch.pk])


def _page(
    admin: RoutineAdmin, request: HttpRequest, template: str, context: dict[str, Any], status: int = 200
) -> TemplateResponse:
    common = {**admin.admin_site.each_context(request), "opts": admin.model._meta, "section": "batches"}
    return TemplateResponse(request, template, common | context, status=status)
