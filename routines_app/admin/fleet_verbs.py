"""The verbs of the queue: a page that says what would happen, and does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.http import urlencode

from routines_app import service
from routines_app.admin.fleet_queue import READ, SHOWN
from routines_app.admin.log_entries import actor_of, note, note_of_all
from routines_app.admin.permissions import may
from routines_app.admin.verb_forms import VerbForm
from routines_app.admin.verb_pages import refuse
from routines_app.core.errors import RoutineError
from routines_app.models import Pool

if TYPE_CHECKING:
    from routines_app.admin.routines import RoutineAdmin

ALL = "All of them"
POOLS = 100  # that can be chosen; nobody looks through more


class QueueVerbForm(VerbForm):
    """Which pool is meant; the page says what it holds before anything is done."""

    pool = forms.ChoiceField(required=False)

    field_order = ["pool", "reason"]

    def __init__(self, *args: Any, pools: list[Pool], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [("", ALL), *((pool.name, pool.name) for pool in pools)]
        self.fields["pool"].choices = choices  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueVerb:
    """One button of the queue. `act(request, pool, reason)` does it and says what was done."""

    slug: str
    label: str
    permission: str
    explains: str
    act: Callable[[HttpRequest, str | None, str], str]
    danger: bool = False


def _clear_overrides(request: HttpRequest, pool: str | None, reason: str) -> str:
    cleared = service.clear_overrides(pool, actor=actor_of(request), reason=reason)
    of = f" of {pool}" if pool else ""
    done = f"Cancelled {cleared:,} waiting request{'' if cleared == 1 else 's'}{of}"
    note_of_all(request, Pool, pool or "all pools", done, reason)
    return done


def _run_stalest(request: HttpRequest, pool: str | None, reason: str) -> str:
    run = service.run_stalest(pool, requested_by=actor_of(request))
    if run is None:
        return f"No routine{f' of {pool}' if pool else ''} can be asked for now"
    done = f"Asked for a run of {run.routine.name}, the stalest"
    note(request, run.routine, done, reason)
    return done


QUEUE_VERBS = {
    verb.slug: verb
    for verb in (
        QueueVerb(
            slug="clear-overrides",
            label="Clear overrides",
            permission="cancel_routinerun",
            explains="Cancels what was asked for by hand and still waits. What is scheduled and what runs stays.",
            act=_clear_overrides,
            danger=True,
        ),
        QueueVerb(
            slug="run-stalest",
            label="Run the stalest",
            permission="run_routine",
            explains="Asks for one run of the routine that has not succeeded for the longest time. Its schedule stays.",
            act=_run_stalest,
        ),
    )
}


def queue_verb_page(admin: RoutineAdmin, request: HttpRequest, slug: str) -> HttpResponse:
    """GET asks, POST acts; a refusal stands at its field."""
    admin.require_view(request)
    verb = QUEUE_VERBS.get(slug)
    if verb is None:
        raise Http404(f"There is no verb {slug}.")
    if not may(request, verb.permission):
        raise PermissionDenied
    pools = list(Pool.objects.using(service.ledger_alias()).order_by("name")[:POOLS])
    typed = request.POST if request.method == "POST" else None
    form = QueueVerbForm(typed, initial={"pool": request.GET.get("pool", "")}, pools=pools)
    if typed is not None and form.is_valid() and _acted(admin, request, verb, form):
        return HttpResponseRedirect(_fleet_url(form.wants.get("pool")))
    return _asked(admin, request, verb, form)


def _acted(admin: RoutineAdmin, request: HttpRequest, verb: QueueVerb, form: QueueVerbForm) -> bool:
    try:
        done = verb.act(request, form.wants.get("pool"), form.wants.get("reason", ""))
    except RoutineError as refused:
        refuse(form, refused)
        return False
    admin.message_user(request, f"{done}.", messages.SUCCESS)
    return True


def _asked(admin: RoutineAdmin, request: HttpRequest, verb: QueueVerb, form: QueueVerbForm) -> TemplateResponse:
    context = {
        **admin.admin_site.each_context(request),
        "title": verb.label,
        "opts": admin.model._meta,
        "section": "fleet",
        "verb": verb,
        "form": form,
        "back": _fleet_url(request.GET.get("pool", "")),
        "overrides": _overrides(form) if verb.slug == "clear-overrides" else [],
        "shown": SHOWN,
    }
    return TemplateResponse(request, "routines/fleet_verb.html", context, status=422 if form.errors else 200)


def _overrides(form: QueueVerbForm) -> Sequence[service.QueuedRun]:
    """What waits now in the pool that the page was opened for."""
    try:
        return service.queue(form["pool"].value() or None, limit=READ).overrides
    except RoutineError:
        return []


def _fleet_url(pool: str | None) -> str:
    """The fleet as it was looked at: of that pool, or all of it."""
    return reverse("admin:routines_fleet") + (f"?{urlencode({'pool': pool})}" if pool else "")
