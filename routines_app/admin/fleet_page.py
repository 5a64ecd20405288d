"""The fleet page: what runs, what waits and why, how late, who is there, what comes. It updates itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.dateformat import format as date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from routines_app import service
from routines_app.admin import fleet_facts
from routines_app.admin.charts import COUNTS, SECONDS, Column, column_chart
from routines_app.admin.fleet_queue import queue_facts
from routines_app.admin.translating import grouped

if TYPE_CHECKING:
    from routines_app.admin.routines import RoutineAdmin

POOLS = 100  # that are shown; nobody looks through more


def fleet_page(admin: RoutineAdmin, request: HttpRequest) -> TemplateResponse:
    admin.require_view(request)
    context = {
        **admin.admin_site.each_context(request),
        "title": _("Fleet"),
        "opts": admin.model._meta,
        "section": "fleet",
        **_facts(request),
    }
    return TemplateResponse(request, "routines/fleet.html", context)


def fleet_fragment(admin: RoutineAdmin, request: HttpRequest) -> HttpResponse:
    admin.require_view(request)
    return render(request, "routines/fleet_live.html", _facts(request))


def _facts(request: HttpRequest) -> dict[str, Any]:
    now = service.now()
    late = fleet_facts.lateness(now)
    active = fleet_facts.active()
    pools = service.list_pools(limit=POOLS)
    coming = service.fires_per_hour(now)
    sizes = fleet_facts.storage(now)
    return {
        "now": now,
        "running_count": active.running,
        "waiting_count": active.waiting,
        "waiting": active.reasons,
        "late": late,
        "late_chart": column_chart(late.columns, label=_late_label(late.window), unit=SECONDS),
        "pools": [(pool, fleet_facts.pool_meter(pool)) for pool in pools],
        "nodes": fleet_facts.nodes(now),
        "parked": fleet_facts.parked(),
        "failing": fleet_facts.failing(),
        "coming_count": grouped(round(sum(fires for _hour, fires in coming))),
        "coming_chart": column_chart(_hours(coming), label=_("Fires of the coming 24 hours, per hour"), unit=COUNTS),
        "storage": sizes,
        "storage_total": sum(size for _table, size in sizes),
        **queue_facts(request, pools),
    }


def _late_label(window: str) -> str:
    return _("Lateness of the {window}, 95 % per minute").format(window=window)


def _hours(coming: list[Any]) -> list[Column]:
    zone = timezone.get_current_timezone()
    found = []
    for place, (hour, fires) in enumerate(coming):
        local = hour.astimezone(zone)
        tick = f"{local:%H:%M}" if place % 4 == 0 else ""
        count, time = round(fires), date_format(local, pgettext("date format", "D H:i"))
        label = ngettext("{time}: {count} fire", "{time}: {count} fires", count)
        found.append(Column(amount=fires, label=label.format(time=time, count=grouped(count)), tick=tick))
    return found
