"""The plan of leases: what would start, wait, be skipped or replaced next, and what another policy would change."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy

from routines_app import service
from routines_app.admin.plan_form import WhatIfForm
from routines_app.core.errors import RoutineError

if TYPE_CHECKING:
    from routines_app.admin.routines import RoutineAdmin

SHARED_SECONDS = 4  # that a plan of the present may be old
SHOWN = 60  # decisions: who wants more asks the command line
POOLS = 100  # that can be chosen; nobody looks through more
VERDICTS = {
    service.Verdict.START: pgettext_lazy("what a run would do, after `would`", "start"),
    service.Verdict.HOLD: pgettext_lazy("what a run would do, after `would`", "hold"),
    service.Verdict.SKIP: pgettext_lazy("what a run would do, after `would`", "skip"),
    service.Verdict.REPLACE: pgettext_lazy("what a run would do, after `would`", "replace"),
}

_shared = service.SharedAnswer("plan-1")


def plan_page(admin: RoutineAdmin, request: HttpRequest) -> TemplateResponse:
    """Read-only: it asks what would happen, and nothing happens."""
    admin.require_view(request)
    form = WhatIfForm(request.GET, pools=service.list_pools(limit=POOLS))
    context = {
        **admin.admin_site.each_context(request),
        "title": _("What would go next"),
        "opts": admin.model._meta,
        "section": "fleet",
        "form": form,
        **_planned(form),
    }
    return TemplateResponse(request, "routines/plan.html", context)


def _planned(form: WhatIfForm) -> dict[str, Any]:
    """The plan, or nothing beside the form that says what was wrong."""
    if not form.is_valid():
        return {}
    pool, now, what_if = form.cleaned_data.get("pool"), form.cleaned_data.get("now"), form.what_if
    pools = [pool] if pool else None
    try:
        if now is None and not what_if:
            plan = _present(pools)
        else:
            plan = service.plan_leases(now=now, pools=pools, what_if=what_if or None, limit=SHOWN)
    except RoutineError as refused:
        form.refuse(refused)
        return {}
    return {
        "plan": plan,
        "asked": bool(what_if),
        "differences": [(one, difference_in_words(one.now, one.then)) for one in plan.differences[:SHOWN]],
        "more_differences": max(0, len(plan.differences) - SHOWN),
    }


def _present(pools: list[str] | None) -> service.LeasePlan:
    """What would go now: everybody who looks shares it for a moment, and it says of when it is."""
    about = hashlib.sha256(repr(pools).encode()).hexdigest()[:32]
    found = _shared.latest(
        about,
        lambda: {"plan": service.plan_leases(pools=pools, limit=SHOWN)},
        now=service.now(),
        fresh_seconds=SHARED_SECONDS,
        kept_seconds=SHARED_SECONDS,
    )
    plan: service.LeasePlan = found["plan"]
    return plan


def difference_in_words(now: str | None, then: str | None) -> str:
    """`would start instead of hold`."""
    if now is None:
        return _("would {then}; now it is not there").format(then=_verdict(then))
    if then is None:
        return _("would not be there; now: {now}").format(now=_verdict(now))
    return _("would {then} instead of {now}").format(then=_verdict(then), now=_verdict(now))


def _verdict(code: str | None) -> str:
    return str(VERDICTS[service.Verdict(code)]) if code in set(service.Verdict) else str(code)
