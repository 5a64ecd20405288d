"""Login-protected views for a project's own pages: run now, pause, resume, and the newest runs; health for anybody.

They answer with JSON, or with a redirect to `next` when the form has one. Posting needs the CSRF token, and each verb
the same permission as in the admin: `run_routine`, `pause_routine`, and `view_routine` to read. An address has the
routine's id, and what is refused tells nothing about other routines.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required, permission_required
from django.db import Error, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.http import require_GET, require_POST, require_safe

from routines_app import service
from routines_app.admin.translating import translated
from routines_app.core.errors import InvalidValue, NotAllowed, NotFound, RoutineError
from routines_app.core.said import said
from routines_app.masks import masked
from routines_app.models import Role, Routine, RoutineRun

MOST_RUNS = 100
STATUS_CODES: dict[type[RoutineError], int] = {NotFound: 404, NotAllowed: 409}

View = Callable[..., HttpResponse]


def told_as_json(view: View) -> View:
    """What the service refuses becomes an answer that names the field."""

    @wraps(view)
    def answered(request: HttpRequest, routine: int) -> HttpResponse:
        try:
            _refuse_large(request)
            with service.impatiently():
                return view(request, routine)
        except RoutineError as refused:
            status = next((code for kind, code in STATUS_CODES.items() if isinstance(refused, kind)), 400)
            return JsonResponse({"error": translated(refused), "field": refused.field}, status=status)

    return answered


def _refuse_large(request: HttpRequest) -> None:
    """No form of ours comes near; reading on would only cost time."""
    given = [value for form in (request.GET, request.POST) for _, values in form.lists() for value in values]
    if (size := sum(map(len, given))) > service.LONGEST_QUESTION:
        raise InvalidValue(
            "request", f"{size:,} characters", said("give at most {most:,} in all", most=service.LONGEST_QUESTION)
        )


def verb(permission: str) -> Callable[[View], View]:
    """A POST that only people with the permission may send, from a page of ours."""

    def made(view: View) -> View:
        allowed = permission_required(f"routines.{permission}", raise_exception=True)(told_as_json(view))
        return require_POST(csrf_protect(login_required(allowed)))

    return made


@verb("run_routine")
def run(request: HttpRequest, routine: int) -> HttpResponse:
    """Run now. `idempotency_key` makes a repeated post return the same run."""
    key = request.POST.get("idempotency_key") or None
    asked = service.run_now(routine, idempotency_key=key, requested_by=request.user.get_username())
    return _answer(request, {"run": as_json(asked)}, status=201)


@verb("pause_routine")
def pause(request: HttpRequest, routine: int) -> HttpResponse:
    """Pause, with an optional `reason` and `until` (ISO 8601)."""
    until = request.POST.get("until", "")
    paused = service.pause_routine(
        routine,
        until=service.typed_moment("until", until) if until else None,
        reason=request.POST.get("reason", ""),
        actor=request.user.get_username(),
    )
    return _answer(request, _told(request, paused))


@verb("pause_routine")
def resume(request: HttpRequest, routine: int) -> HttpResponse:
    """Resume; `release` says what becomes of the pause's slots: SKIP, LAST or ALL."""
    resumed = service.resume_routine(
        routine,
        release=request.POST.get("release", "SKIP"),
        reason=request.POST.get("reason", ""),
        actor=request.user.get_username(),
    )
    return _answer(request, _told(request, resumed))


@require_GET
@never_cache
@login_required
@permission_required("routines.view_routine", raise_exception=True)
@told_as_json
def runs(request: HttpRequest, routine: int) -> HttpResponse:
    """The newest runs; `limit` says how many, at most 100."""
    given = request.GET.get("limit", "10")
    if not (service.is_id(given) and 1 <= int(given) <= MOST_RUNS):
        raise InvalidValue(
            "limit", given, said("give a whole number between {least} and {most}", least=1, most=MOST_RUNS)
        )
    found = service.list_runs(routine, limit=int(given), large=False)
    return JsonResponse({"runs": [as_json(one) for one in found]})


@transaction.non_atomic_requests  # with a database that is away nobody would even get here
@require_safe
@never_cache
def health(request: HttpRequest) -> HttpResponse:
    """Whether beats and workers do their work: 200, or 503. Why, only for people who may look at routines.

    For monitors, so nobody has to log in. `only=beat` or `only=worker` asks about one of them. However often that
    is, the ledger is asked every two seconds at most.
    """
    only = request.GET.get("only", "")
    if only and only not in set(Role):
        return JsonResponse({"error": "only: give beat or worker, or leave it out"}, status=400)
    found = service.recent_health([Role(only)] if only else list(Role))
    facts = found if _may_look(request) else {"healthy": found["healthy"]}
    return JsonResponse(facts, status=200 if found["healthy"] else 503)


def _may_look(request: HttpRequest) -> bool:
    """Nobody, while the database cannot be asked who somebody is."""
    user = getattr(request, "user", None)  # a project may do without
    try:
        return user is not None and bool(user.has_perm("routines.view_routine"))
    except Error:
        return False


def as_json(run: RoutineRun) -> dict[str, Any]:
    """What a page needs to know about a run: no arguments and no results, those may be secret."""
    return {
        "id": str(run.pk),
        "status": run.status,
        "reason": run.reason,
        "why": run.get_reason_display() if run.reason else "",
        "trigger": run.trigger,
        "attempt": run.attempt,
        "scheduled_for": run.scheduled_for,
        "started_at": run.started_at,
        "completed_at": run.completed_at,
        "progress": masked(run.progress),
        "active": run.is_active,
    }


def _told(request: HttpRequest, routine: Routine) -> dict[str, Any]:
    """What became of a routine; its name only for people who may look at routines: ids can be guessed."""
    named = {"name": routine.name} if request.user.has_perm("routines.view_routine") else {}
    return {"routine": routine.pk, **named, "status": routine.status}


def _answer(request: HttpRequest, facts: dict[str, Any], status: int = 200) -> HttpResponse:
    target = request.POST.get("next", "")
    if target and url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure()):
        return HttpResponseRedirect(target)
    return JsonResponse(facts, status=status)
