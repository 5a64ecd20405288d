"""The one timezone in which a page shows all its times, and in which times are typed on it.

The viewer chooses: theirs, the routine's (on pages of one routine or run) or UTC. The choice is a cookie; a script
tells the browser's zone by another one, and without it theirs is Django's current timezone. Both are anybody's text:
what is no choice and no timezone is passed over.

A page hands its zone on to whatever belongs to it: the times that are typed into its forms (`page_zone`, a hidden
field beside each) and the fragments that it fetches (the header). So neither means another time when the choice has
been changed in between, in another tab.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import wraps
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import SimpleTemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme

from routines_app import service
from routines_app.models import Routine

VIEWER, ROUTINE, UTC = "viewer", "routine", "utc"
CHOICE_COOKIE = "routines_zone"
VIEWER_COOKIE = "routines_viewer_zone"  # times.js writes it
HEADER = "X-Routines-Zone"  # live.js and form.js send it
FIELD = "page_zone"
KEPT_SECONDS = 365 * 86_400
OF_A_ROUTINE = ("routines_routine_", "routines_rotation_")  # a rotation has the id of its routine

View = Callable[..., HttpResponse]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageZone:
    """The zone of a page, and what was chosen."""

    zone: tzinfo
    name: str
    choice: str
    """Whose zone it is; empty where the page that asks has brought along another one than is chosen now."""
    of_a_routine: bool
    """Whether the page is about one routine, whose zone can be chosen."""

    def label(self, now: datetime) -> str:
        """`Europe/Paris (CET)`, `UTC`."""
        short = now.astimezone(self.zone).tzname()
        return self.name if short in (None, self.name) else f"{self.name} ({short})"


def zone_of(request: HttpRequest) -> PageZone:
    """The zone of the page that is asked for."""
    found: PageZone | None = getattr(request, "_routines_page_zone", None)
    if found is None:
        found = _found(request)
        request._routines_page_zone = found  # type: ignore[attr-defined]
    return found


def in_page_zone(view: View) -> View:
    """The view, during which (and during the rendering of its page) Django's current timezone is the page's."""

    @wraps(view)
    def zoned(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        zone = zone_of(request).zone
        with timezone.override(zone):
            response = view(request, *args, **kwargs)
        if isinstance(response, SimpleTemplateResponse) and not response.is_rendered:
            _render_within(zone, response)
        return response

    return zoned


def choose_zone(request: HttpRequest) -> HttpResponse:
    """Keeps the choice, and goes back to the page where it was made; POST only."""
    back = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(back, {request.get_host()}, require_https=request.is_secure()):
        back = reverse("admin:routines_routine_changelist")
    response = HttpResponseRedirect(back)
    choice = request.POST.get("zone", "")
    if choice in (VIEWER, ROUTINE, UTC):
        response.set_cookie(
            CHOICE_COOKIE, choice, KEPT_SECONDS, secure=request.is_secure(), httponly=True, samesite="Lax"
        )
    return response


def known_zone(name: str) -> ZoneInfo | None:
    """The timezone of that name, if it is one."""
    try:
        return ZoneInfo(str(service.clean_value("timezone", name))) if name else None
    except (service.RoutineError, ValueError, KeyError, OSError):
        return None


def _found(request: HttpRequest) -> PageZone:
    of_a_routine = _routine_asked_for(request) is not None
    brought = known_zone(request.POST.get(FIELD) or request.GET.get(FIELD) or request.headers.get(HEADER, ""))
    choice, zone = _chosen(request)
    if brought is not None and _name(brought) != _name(zone):
        choice, zone = "", brought
    return PageZone(zone=zone, name=_name(zone), choice=choice, of_a_routine=of_a_routine)


def _name(zone: tzinfo) -> str:
    return zone.key if isinstance(zone, ZoneInfo) else str(zone)


def _chosen(request: HttpRequest) -> tuple[str, tzinfo]:
    choice = request.COOKIES.get(CHOICE_COOKIE, "")
    if choice == UTC:
        return UTC, ZoneInfo("UTC")
    if choice == ROUTINE and (zone := _zone_of_the_routine(request)):
        return ROUTINE, zone
    return VIEWER, known_zone(request.COOKIES.get(VIEWER_COOKIE, "")) or timezone.get_current_timezone()


def _zone_of_the_routine(request: HttpRequest) -> ZoneInfo | None:
    """None on pages of no routine, or where plain SQL has stored a timezone that is none."""
    asked_for = _routine_asked_for(request)
    if asked_for is None:
        return None
    found = Routine.objects.using(service.ledger_alias()).filter(asked_for).values_list("timezone", flat=True).first()
    return known_zone(found or "")


def _routine_asked_for(request: HttpRequest) -> Q | None:
    """By the page's address: a routine, a rotation or a run."""
    match = request.resolver_match
    if match is None:
        return None
    if "run_id" in match.kwargs:
        return Q(runs__pk=match.kwargs["run_id"])
    routine_id = str(match.kwargs.get("object_id", ""))
    named = (match.url_name or "").startswith(OF_A_ROUTINE) and service.is_id(routine_id)
    return Q(pk=int(routine_id)) if named else None


def _render_within(zone: tzinfo, response: SimpleTemplateResponse) -> None:
    """Django renders the page after the view and after middlewares have looked at it: this waits for that."""
    render = response.render

    def rendered() -> SimpleTemplateResponse:
        del response.render  # a rendered page may be pickled
        with timezone.override(zone):
            return render()

    response.render = rendered  # type: ignore[method-assign]
