"""The health bar: what is wrong with the fleet, on every page of ours and on the admin's index."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import NoReverseMatch, reverse

from routines_app import service
from routines_app.admin.permissions import may
from routines_app.service import NoticeKind

OPEN = 4  # notices that are seen at once; the others are behind them
INDEX = "routines/index.html"

LATE = ("routines_routine_changelist", {"health": "late"})
WAITING = ("routines_routinerun_changelist", {"status__exact": "PENDING"})
PAGES: dict[NoticeKind, tuple[str, dict[str, str]]] = {
    NoticeKind.NO_BEAT: LATE,
    NoticeKind.OVERDUE: LATE,
    NoticeKind.UNCONSUMED: WAITING,
    NoticeKind.BACKLOG: WAITING,
    NoticeKind.PARKED: ("routines_routine_changelist", {"status__exact": "PARKED"}),
    NoticeKind.FAILING: ("routines_routine_changelist", {"health": "failing"}),
}
FLEET = ("routines_fleet", dict[str, str]())


def bar_facts(request: HttpRequest | None) -> dict[str, Any]:
    """What the template shows; `shown` is False for people who may not look at routines.

    Never raises: a page, the admin's own index most of all, is there whatever is wrong with us.
    """
    address = page_of("routines_health")
    if request is None or not address or not may(request, "view_routine"):
        return {"shown": False}
    found = service.recent_notices()
    notices = [{"notice": one, "href": _href(one.kind)} for one in found.notices]
    return {
        "shown": True,
        "health_url": address,
        "level": found.level,
        "notices": notices[:OPEN],
        "more_notices": notices[OPEN:],
    }


def health_fragment(request: HttpRequest) -> HttpResponse:
    """The bar alone, for the script that keeps it fresh."""
    return render(request, "routines/health.html", bar_facts(request))


def show_on_index(site: AdminSite) -> None:
    """The bar stands on the index of a site that has our pages: above the project's own `admin/index.html` too.

    A site that names an index template of its own keeps that one, and may have `{% health_bar %}` in it.
    """
    if site.index_template is None:
        site.index_template = INDEX


def _href(kind: NoticeKind) -> str:
    name, asked = PAGES.get(kind, FLEET)
    address = page_of(name)
    return f"{address}?{urlencode(asked)}" if address and asked else address


def page_of(name: str) -> str:
    """The address; empty where a project has taken the page away."""
    try:
        return reverse(f"admin:{name}")
    except NoReverseMatch:
        return ""
