"""The page of one run: its chain, times, progress, log, result and error. The live part updates itself."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.template.response import TemplateResponse
from django.urls import NoReverseMatch, reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from routines_app import service
from routines_app.admin.charts import meter
from routines_app.admin.log_entries import actor_of, note
from routines_app.admin.permissions import may
from routines_app.admin.phrases import in_figures, source_in_words
from routines_app.admin.rotation_facts import SEEDING, picked_by
from routines_app.admin.run_facts import lateness_of, length_of, outlived, run_url
from routines_app.admin.run_steps import steps_of
from routines_app.admin.shown_values import masked_json, masked_result, masked_text
from routines_app.admin.translating import translated
from routines_app.admin.verb_buttons import rotates
from routines_app.admin.verb_forms import VerbForm
from routines_app.core.errors import RoutineError
from routines_app.core.said import Said, said
from routines_app.masks import masked, masked_line
from routines_app.models import RoutineRun, RunLog

if TYPE_CHECKING:
    from routines_app.admin.runs import RunAdmin

CHAIN_SHOWN = 50
AGAIN_SHOWN = 20
PICKED_SHOWN = 200
BLOCKED_SHOWN = 20
RETRYABLE = frozenset({"FAILED", "CANCELLED", "SKIPPED"})


def run_page(admin: RunAdmin, request: HttpRequest, run_id: uuid.UUID) -> TemplateResponse:
    run = admin.run_or_404(request, run_id)
    context = {
        **admin.admin_site.each_context(request),
        "title": _("Run of {name}").format(name=run.routine.name),
        "opts": admin.model._meta,
        "section": "runs",
        **_lineage(run),
        **_in_its_way(run),
        "source": source_in_words(run.source) if run.source else "",
        "arguments": _arguments(run),
        "celery_result": _celery_result(run),
        **_of_a_rotation(run),
        "may_cancel": run.is_active and may(request, CANCEL.permission),
        "may_abandon": run.status == "RUNNING" and may(request, ABANDON.permission),
        "may_retry": run.status in RETRYABLE and _may_again(request, run),
        "may_run": not run.is_active and run.routine.status != "ARCHIVED" and _may_again(request, run),
        **_live_facts(run),
    }
    return TemplateResponse(request, "routines/run.html", context)


def _may_again(request: HttpRequest, run: RoutineRun) -> bool:
    """A tick and a seeding are asked for on the page of their rotation."""
    return may(request, "run_routine") and not rotates(run.routine)


def run_fragment(admin: RunAdmin, request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """What changes while the run lasts. The status is a header too: when it changes, the page loads itself again."""
    run = admin.run_or_404(request, run_id)
    response = render(request, "routines/run_live.html", _live_facts(run))
    response["X-Routines-Status"] = run.status
    return response


@dataclass(frozen=True, slots=True, kw_only=True)
class RunVerb:
    """A verb that ends a run, and asks why first."""

    title: Promise
    """With a gap for the routine's name."""
    button: Promise
    permission: str
    explains: Promise
    act: Callable[..., RoutineRun]
    done: Callable[[RoutineRun], Said]
    """What was done, for the history in English and for the page in the language of whoever looks."""


CANCEL = RunVerb(
    title=gettext_lazy("Cancel a run of {name}"),
    button=gettext_lazy("Cancel this run"),
    permission="cancel_routinerun",
    explains=gettext_lazy(
        "A run that waits is cancelled at once. A run that is running is asked to stop, and stopped if it does"
        " not. Its retries go with it."
    ),
    act=service.cancel_run,
    done=lambda run: said("Asked the run to stop") if run.is_active else said("Cancelled the run"),
)
ABANDON = RunVerb(
    title=gettext_lazy("Abandon a run of {name}"),
    button=gettext_lazy("Abandon this run"),
    permission="abandon_routinerun",
    explains=gettext_lazy(
        "For a body that is gone or cannot be stopped: the run ends, and its place and its lease are free. It ends"
        " as failed, and the next attempt may start; if it was asked to stop, it ends as cancelled, and there is no"
        " next attempt. Should the body still do something, that is not recorded."
    ),
    act=service.abandon_run,
    done=lambda _run: said("Abandoned the run"),
)


def cancel_page(admin: RunAdmin, request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """Asks why, then cancels."""
    return _verb_page(admin, request, run_id, CANCEL)


def abandon_page(admin: RunAdmin, request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """Asks why, then ends the run without its body."""
    return _verb_page(admin, request, run_id, ABANDON)


def _verb_page(admin: RunAdmin, request: HttpRequest, run_id: uuid.UUID, verb: RunVerb) -> HttpResponse:
    run = admin.run_or_404(request, run_id)
    if not may(request, verb.permission):
        raise PermissionDenied
    form = VerbForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid() and _acted(admin, request, run, form, verb):
        return HttpResponseRedirect(run_url(run))
    context = {
        **admin.admin_site.each_context(request),
        "title": str(verb.title).format(name=run.routine.name),
        "opts": admin.model._meta,
        "section": "runs",
        "run": run,
        "form": form,
        "explains": verb.explains,
        "label": verb.button,
    }
    return TemplateResponse(request, "routines/end_run.html", context)


def retry(admin: RunAdmin, request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """The same work once more, as a new run; POST only."""
    run = admin.run_or_404(request, run_id)
    if not may(request, "run_routine"):
        raise PermissionDenied
    if request.method != "POST":
        return HttpResponseRedirect(run_url(run))
    try:
        again = service.retry_run(run, requested_by=actor_of(request))
    except RoutineError as refused:
        admin.message_user(request, translated(refused), messages.ERROR)
        return HttpResponseRedirect(run_url(run))
    done = said("Asked for another run of {name} with the same arguments", name=run.routine.name)
    note(request, run.routine, f"{done} as run {run.pk}")
    admin.message_user(request, f"{translated(done)}.", messages.SUCCESS)
    return HttpResponseRedirect(run_url(again))


def _acted(admin: RunAdmin, request: HttpRequest, run: RoutineRun, form: VerbForm, verb: RunVerb) -> bool:
    reason = form.wants.get("reason", "")
    try:
        done = verb.done(verb.act(run, reason=reason, actor=actor_of(request)))
    except RoutineError as refused:
        form.add_error(None, translated(refused))
        return False
    note(request, run, done, reason)
    admin.message_user(request, f"{translated(done)}.", messages.SUCCESS)
    return True


def _logged(at: datetime, line: str) -> dict[str, Any]:
    """Hundreds are shown again and again: what can be said without a filter is."""
    return {"at": at, "iso": at.isoformat(), "line": masked_line(line)}


def _live_facts(run: RoutineRun) -> dict[str, Any]:
    now = service.now()
    done, total = _progress(run)
    return {
        "run": run,
        "length": length_of(run, now),
        "outlived": outlived(run),
        "late": lateness_of(run),
        "steps": steps_of(run, now),
        "note": masked(_told(run)).get("note", ""),
        "bar": meter(done, total, label=_("{done} of {total}").format(**_figures(done, total))) if total else None,
        "share": _share(done, total) if total else "",
        "log": [_logged(*line) for line in RunLog.objects.filter(run_id=run.pk).values_list("at", "line")],
        "result": None if run.result is None else masked_result(run.result),
        "error": masked_text(run.error) if run.error else "",
        "traceback": masked_text(run.traceback) if run.traceback else "",
    }


def _progress(run: RoutineRun) -> tuple[float, float]:
    """Done and total as the body reported them; a total of 0 when it reported nothing to draw."""
    done, total = _told(run).get("done"), _told(run).get("total")
    if not isinstance(done, int | float) or not isinstance(total, int | float):
        return 0.0, 0.0
    try:
        return float(done), float(total)
    except OverflowError:
        return 0.0, 0.0


def _share(done: float, total: float) -> str:
    share = _("{done} of {total} ({percent} %)")
    return share.format(**_figures(done, total), percent=f"{100 * done / total:.0f}")


def _figures(done: float, total: float) -> dict[str, str]:
    return {"done": in_figures(f"{done:g}"), "total": in_figures(f"{total:g}")}


def _told(run: RoutineRun) -> dict[str, Any]:
    """What the body reported; plain SQL can put anything there."""
    return run.progress if isinstance(run.progress, dict) else {}


def _lineage(run: RoutineRun) -> dict[str, Any]:
    """Where it comes from and what came of it: attempts of its chain, and runs that somebody asked for again."""
    chain = _chain(run)
    attempts = {one.pk: one for one in chain}
    again = _light().filter(retry_of=run.pk, chain__isnull=True)
    return {
        "chain": chain,
        "attempt_before": attempts.get(run.retry_of_id) if run.retry_of_id else None,
        "attempt_after": next((one for one in chain if one.retry_of_id == run.pk), None),
        "again_of": _light().filter(pk=run.retry_of_id).first() if run.retry_of_id and run.chain is None else None,
        "done_again": list(again.order_by("id")[:AGAIN_SHOWN]),
    }


def _light() -> QuerySet[RoutineRun]:
    return RoutineRun.objects.defer(*service.LARGE_FIELDS, "progress")


def _chain(run: RoutineRun) -> list[RoutineRun]:
    first = run.chain_id
    runs = RoutineRun.objects.filter(Q(pk=first) | Q(chain=first)).defer("args", "kwargs", "result", "traceback")
    return list(runs.order_by("attempt", "id")[:CHAIN_SHOWN])


def _in_its_way(run: RoutineRun) -> dict[str, Any]:
    """The run that was in its way or took its place, and those that this one blocked; what it has waited for."""
    blocked = RoutineRun.objects.filter(blocked_by=run.pk).defer(*service.LARGE_FIELDS).order_by("-pk")
    return {
        "blocked_by": run.blocked_by and RoutineRun.objects.filter(pk=run.blocked_by).only("pk", "status").first(),
        "blocked": list(blocked[:BLOCKED_SHOWN]),
        "waited": run.waited,
    }


def _of_a_rotation(run: RoutineRun) -> dict[str, Any]:
    """Of a member's run its rotation and its tick; of a tick what it has picked, and what it saw."""
    is_tick = rotates(run.routine) and run.phase != SEEDING
    fired = picked_by([run.pk], PICKED_SHOWN)[run.pk] if is_tick else []
    return {"rotation": run.rotation, "is_tick": is_tick, "is_seeding": run.phase == SEEDING, "fired": fired}


def _arguments(run: RoutineRun) -> str:
    args = run.args if run.args is not None else run.routine.args
    kwargs = run.kwargs if run.kwargs is not None else run.routine.kwargs
    return masked_json({"args": args, "kwargs": kwargs})


def _celery_result(run: RoutineRun) -> dict[str, Any] | None:
    """The record in django-celery-results, where that app is installed and has one."""
    if not apps.is_installed("django_celery_results"):
        return None
    model = apps.get_model("django_celery_results", "TaskResult")
    found = model._default_manager.filter(task_id=str(run.pk)).only("pk", "status", "date_done").first()
    if found is None:
        return None
    try:
        href = reverse("admin:django_celery_results_taskresult_change", args=[found.pk])
    except NoReverseMatch:
        href = ""
    return {"status": found.status, "date_done": found.date_done, "href": href}
