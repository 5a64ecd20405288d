"""The verbs of the queue: a page that says what would happen, and does it.

What was shown is what is done: the form carries the pool by its id, or that all are meant, and when that was shown. A
pool that cannot be found, by the name in the address or by the id in the form, never becomes all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from routines_app import service
from routines_app.admin.fleet_queue import SHOWN, chosen_pool
from routines_app.admin.log_entries import actor_of, note, note_of_all
from routines_app.admin.permissions import may
from routines_app.admin.refusals import refuse
from routines_app.admin.translating import grouped, translated
from routines_app.admin.verb_acts import SECONDS, OutOfTime
from routines_app.admin.verb_forms import VerbForm
from routines_app.core.errors import InvalidValue, RoutineError
from routines_app.core.said import Said, said, said_of
from routines_app.models import Pool

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

    from routines_app.admin.routines import RoutineAdmin

ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a page is about."""

    pool: Pool | None
    """None: all of them."""
    shown_at: datetime

    @classmethod
    def of(cls, request: HttpRequest) -> Scope:
        """By the address when the page is asked for, and by its form when the button is pressed."""
        if request.method == "POST":
            shown_at = service.typed_moment("shown_at", request.POST.get("shown_at", ""))
            return cls(pool=_shown_pool(request.POST.get("pool", "")), shown_at=shown_at)
        name = chosen_pool(request)
        return cls(pool=service.find_pool(name) if name else None, shown_at=service.now())

    @property
    def key(self) -> str:
        return ALL if self.pool is None else str(self.pool.pk)

    @property
    def name(self) -> str | None:
        return None if self.pool is None else self.pool.name


def _shown_pool(key: str) -> Pool | None:
    if key == ALL:
        return None
    if not service.is_id(key):
        raise InvalidValue("pool", key, said("open the page again, and press its button"))
    return service.find_pool(int(key))


class Done(NamedTuple):
    """What was done, as a sentence."""

    told: Said
    unfinished: bool = False
    """There was no time for all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueVerb:
    """One button of the queue. `act(request, scope, reason)` does it and says what was done."""

    slug: str
    label: _StrPromise
    permission: str
    explains: _StrPromise
    act: Callable[[HttpRequest, Scope, str], Done]
    danger: bool = False


def _clear_overrides(request: HttpRequest, scope: Scope, reason: str) -> Done:
    """For a second: whoever has more is asked to go on, so no request takes long."""
    stop_at = time.monotonic() + SECONDS

    def in_time(cancelled: int) -> None:
        if cancelled and time.monotonic() > stop_at:  # always some, or nothing would ever move on
            raise OutOfTime(cancelled)

    unfinished = False
    try:
        cleared = service.clear_overrides(
            scope.pool, until=scope.shown_at, progress=in_time, actor=actor_of(request), reason=reason
        )
    except OutOfTime as out:
        cleared = out.done
        unfinished = service.requests_to_clear(scope.pool, until=scope.shown_at, limit=1).count > 0
    done = _cancelled(cleared, scope.name)
    note_of_all(request, Pool, scope.name or "all pools", done, reason)
    return Done(done, unfinished)


def _cancelled(count: int, pool: str | None) -> Said:
    if pool is None:
        return said_of(count, "Cancelled {count:,} waiting request", "Cancelled {count:,} waiting requests")
    return said_of(
        count,
        "Cancelled {count:,} waiting request of {pool}",
        "Cancelled {count:,} waiting requests of {pool}",
        pool=pool,
    )


def _run_stalest(request: HttpRequest, scope: Scope, reason: str) -> Done:
    run = service.run_stalest(scope.pool, requested_by=actor_of(request))
    if run is None and scope.name:
        return Done(said("No routine of {pool} can be asked for now", pool=scope.name))
    if run is None:
        return Done(said("No routine can be asked for now"))
    done = said("Asked for a run of {routine}, the stalest", routine=run.routine.name)
    note(request, run.routine, done, reason)
    return Done(done)


QUEUE_VERBS = {
    verb.slug: verb
    for verb in (
        QueueVerb(
            slug="clear-overrides",
            label=gettext_lazy("Clear overrides"),
            permission="cancel_routinerun",
            explains=gettext_lazy(
                "Cancels what was asked for by hand and still waits. What is scheduled and what runs stays."
            ),
            act=_clear_overrides,
            danger=True,
        ),
        QueueVerb(
            slug="run-stalest",
            label=gettext_lazy("Run the stalest"),
            permission="run_routine",
            explains=gettext_lazy(
                "Asks for one run of the routine that has not succeeded for the longest time. Its schedule stays."
            ),
            act=_run_stalest,
        ),
    )
}


def queue_verb_page(admin: RoutineAdmin, request: HttpRequest, slug: str) -> HttpResponse:
    """GET asks, POST acts; a refusal stands at its field."""
    admin.require_view(request)
    verb = QUEUE_VERBS.get(slug)
    if verb is None:
        raise Http404(_("There is no verb {slug}.").format(slug=slug))
    if not may(request, verb.permission):
        raise PermissionDenied
    try:
        scope = Scope.of(request)
    except RoutineError as refused:
        told = _("{verb}: nothing was done. {why}").format(verb=verb.label, why=translated(refused))
        admin.message_user(request, told, messages.ERROR)
        return HttpResponseRedirect(_fleet_url(None))
    form = VerbForm(request.POST if request.method == "POST" else None)
    done = _acted(admin, request, verb, scope, form) if form.is_bound and form.is_valid() else None
    if done is not None and not done.unfinished:
        return HttpResponseRedirect(_fleet_url(scope.name))
    return _asked(admin, request, verb, scope, form)


def _acted(admin: RoutineAdmin, request: HttpRequest, verb: QueueVerb, scope: Scope, form: VerbForm) -> Done | None:
    try:
        done = verb.act(request, scope, form.wants.get("reason", ""))
    except RoutineError as refused:
        refuse(form, refused)
        return None
    admin.message_user(request, f"{translated(done.told)}.", messages.SUCCESS)
    return done


def _asked(
    admin: RoutineAdmin, request: HttpRequest, verb: QueueVerb, scope: Scope, form: VerbForm
) -> TemplateResponse:
    requests = _requests(scope) if verb.slug == "clear-overrides" else None
    if requests and form.is_bound and not form.errors:
        admin.message_user(request, _left(requests.count), messages.WARNING)
    context = {
        **admin.admin_site.each_context(request),
        "title": _("{verb} of {pool}").format(verb=verb.label, pool=scope.name) if scope.name else verb.label,
        "opts": admin.model._meta,
        "section": "fleet",
        "verb": verb,
        "form": form,
        "scope": scope,
        "back": _fleet_url(scope.name),
        "requests": requests,
    }
    return TemplateResponse(request, "routines/fleet_verb.html", context, status=422 if form.errors else 200)


def _requests(scope: Scope) -> service.WaitingRequests | None:
    """What the button would cancel; None: the pool has gone just now."""
    try:
        return service.requests_to_clear(scope.pool, until=scope.shown_at, limit=SHOWN)
    except RoutineError:
        return None


def _left(count: int) -> str:
    return ngettext(
        "{count} request is left: confirm to go on with it.",
        "{count} requests are left: confirm to go on with them.",
        count,
    ).format(count=grouped(count))


def _fleet_url(pool: str | None) -> str:
    """The fleet as it was looked at: of that pool, or all of it."""
    return reverse("admin:routines_fleet") + (f"?{urlencode({'pool': pool})}" if pool else "")
