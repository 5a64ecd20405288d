"""The verbs of a pool: drain it, open it again, stop all that runs. A page asks, with what there is now, and acts."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from routines_app import service
from routines_app.admin.log_entries import actor_of, note
from routines_app.admin.permissions import may
from routines_app.admin.refusals import refuse
from routines_app.admin.translating import translated
from routines_app.admin.verb_acts import SECONDS, OutOfTime, Unfinished
from routines_app.admin.verb_forms import VerbForm
from routines_app.core.errors import RoutineError
from routines_app.core.said import Said, said, said_of
from routines_app.models import Pool

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

    from routines_app.admin.pools import PoolAdmin

CHANGE, CANCEL = "change_pool", "cancel_routinerun"


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolVerb:
    """One button. `act(pool, reason, actor)` does it and says what was done, or that there is more."""

    slug: str
    label: _StrPromise
    permissions: tuple[str, ...]
    explains: _StrPromise
    act: Callable[[Pool, str, str], Said]
    danger: bool = False
    of_drained: bool | None = None
    """Only for a pool that is drained, or is not; None: for both."""

    def fits(self, pool: Pool) -> bool:
        if self.of_drained is None:
            return True
        is_drained = pool.drained_from is not None
        return is_drained if self.of_drained else not is_drained and pool.max_concurrent > 0


def _drain(pool: Pool, reason: str, actor: str) -> Said:  # noqa: ARG001 - all verbs are called alike
    service.drain_pool(pool)
    return said("Pool {pool} is drained: nothing of it starts any more", pool=pool.name)


def _open(pool: Pool, reason: str, actor: str) -> Said:  # noqa: ARG001
    opened = service.open_pool(pool)
    return said("Pool {pool} is open again: at most {most} in flight", pool=pool.name, most=opened.max_concurrent)


def _stop(pool: Pool, reason: str, actor: str) -> Said:
    """For a second: whoever has more is asked to go on."""
    stop_at = time.monotonic() + SECONDS

    def in_time(asked: int) -> None:
        if time.monotonic() > stop_at:
            raise OutOfTime(asked)

    try:
        asked = service.stop_pool(pool, reason=reason, actor=actor, progress=in_time)
    except OutOfTime as out:
        return Unfinished.of(_stopped_so_far(pool, out.done))
    return said_of(
        asked,
        "Pool {pool} is drained, and {count:,} run was asked to stop",
        "Pool {pool} is drained, and {count:,} runs were asked to stop",
        pool=pool.name,
    )


def _stopped_so_far(pool: Pool, count: int) -> Said:
    return said_of(
        count,
        "Pool {pool} is drained, and {count:,} run was asked to stop; there may be more",
        "Pool {pool} is drained, and {count:,} runs were asked to stop; there may be more",
        pool=pool.name,
    )


POOL_VERBS = {
    verb.slug: verb
    for verb in (
        PoolVerb(
            slug="drain",
            label=gettext_lazy("Drain"),
            permissions=(CHANGE,),
            explains=gettext_lazy(
                "Nothing of the pool starts any more: its ceiling becomes 0, and is remembered. What runs goes on "
                "to its end, and what waits stays waiting until the pool is opened again."
            ),
            act=_drain,
            of_drained=False,
        ),
        PoolVerb(
            slug="open",
            label=gettext_lazy("Open again"),
            permissions=(CHANGE,),
            explains=gettext_lazy("The pool gets its ceiling back, and what waits goes on in the order of its rank."),
            act=_open,
            of_drained=True,
        ),
        PoolVerb(
            slug="stop",
            label=gettext_lazy("Stop all"),
            permissions=(CHANGE, CANCEL),
            explains=gettext_lazy(
                "Drains the pool and asks all its running runs to stop: they end as cancelled, and are not "
                "retried. What waits stays waiting until the pool is opened again."
            ),
            act=_stop,
            danger=True,
        ),
    )
}


def offered(request: HttpRequest, pool: Pool) -> list[PoolVerb]:
    """The verbs that fit the pool and that this person may use."""
    return [verb for verb in POOL_VERBS.values() if verb.fits(pool) and _may(request, verb)]


def _may(request: HttpRequest, verb: PoolVerb) -> bool:
    return all(may(request, permission) for permission in verb.permissions)


def pool_verb_page(admin: PoolAdmin, request: HttpRequest, pool_id: int, slug: str) -> HttpResponse:
    """GET asks, POST acts; a refusal stands on the same page."""
    verb, pool = POOL_VERBS.get(slug), Pool.objects.using(service.ledger_alias()).filter(pk=pool_id).first()
    if verb is None or pool is None:
        raise Http404(_("There is no such pool, or no such verb."))
    if not (admin.has_view_permission(request, pool) and _may(request, verb)):
        raise PermissionDenied
    form = VerbForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid() and _acted(admin, request, verb, pool, form):
        return HttpResponseRedirect(reverse("admin:routines_pool_change", args=[pool.pk]))
    return _asked(admin, request, verb, pool, form)


def _acted(admin: PoolAdmin, request: HttpRequest, verb: PoolVerb, pool: Pool, form: VerbForm) -> bool:
    """Whether it came to its end."""
    reason = form.wants.get("reason", "")
    try:
        done = verb.act(pool, reason, actor_of(request))
    except RoutineError as refused:
        refuse(form, refused)
        return False
    note(request, pool, done, reason)
    unfinished = isinstance(done, Unfinished)
    admin.message_user(request, f"{translated(done)}.", messages.WARNING if unfinished else messages.SUCCESS)
    return not unfinished


def use_of(pool: Pool) -> dict[str, Any]:
    """How many of its runs are in flight, and how many wait."""
    counted = service.pool_counts(pool).get(pool.pk)
    return {"in_flight": counted.in_flight, "waiting": counted.waiting} if counted else {"in_flight": 0, "waiting": 0}


def _asked(admin: PoolAdmin, request: HttpRequest, verb: PoolVerb, pool: Pool, form: VerbForm) -> TemplateResponse:
    context = {
        **admin.admin_site.each_context(request),
        "title": _("{verb}: {what}").format(verb=verb.label, what=pool.name),
        "opts": admin.model._meta,
        "section": "pools",
        "verb": verb,
        "pool": pool,
        "use": use_of(pool),
        "form": form,
    }
    return TemplateResponse(request, "routines/pool_verb.html", context, status=422 if form.errors else 200)
