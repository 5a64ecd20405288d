"""The fleet page: what runs, what waits and why, how late, who is there, what comes. It updates itself."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import get_script_prefix, get_urlconf, set_script_prefix, set_urlconf
from django.utils import timezone
from django.utils.dateformat import format as date_format
from django.utils.safestring import mark_safe
from django.utils.translation import get_language, ngettext, override, pgettext
from django.utils.translation import gettext as _

from routines_app import service
from routines_app.admin import fleet_facts
from routines_app.admin.charts import COUNTS, SECONDS, Column, column_chart
from routines_app.admin.fleet_queue import chosen_pool, queue_facts, verbs_for
from routines_app.admin.markup import server_now
from routines_app.admin.translating import grouped

if TYPE_CHECKING:
    from routines_app.admin.routines import RoutineAdmin

POOLS = 100  # that are shown; nobody looks through more
FRESH_SECONDS = 4  # less than a page waits before it asks again
KEPT_SECONDS = 60  # where nobody has looked for so long, the next one waits

_shared = service.SharedAnswer("fleet-1")


def fleet_page(admin: RoutineAdmin, request: HttpRequest) -> TemplateResponse:
    """Asked anew: whoever has just done something sees what came of it."""
    admin.require_view(request)
    look = Look.of(request)
    live = _shared.renew(look.name, look.shown, now=service.now(), kept_seconds=KEPT_SECONDS)
    context = {
        **admin.admin_site.each_context(request),
        "title": _("Fleet"),
        "opts": admin.model._meta,
        "section": "fleet",
        "chosen_pool": look.pool,
        "live": mark_safe(live["html"]),  # noqa: S308 # nosec B308, B703 - a template of ours has made it
    }
    return TemplateResponse(request, "routines/fleet.html", context)


def fleet_fragment(admin: RoutineAdmin, request: HttpRequest) -> HttpResponse:
    """What everybody shares who looks at the same: it says how old it is, and a new one is made beside."""
    admin.require_view(request)
    look = Look.of(request)
    live = _shared.latest(
        look.name, look.shown, now=service.now(), fresh_seconds=FRESH_SECONDS, kept_seconds=KEPT_SECONDS
    )
    return HttpResponse(server_now() + live["html"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """All that two viewers of the fleet may see otherwise."""

    pool: str
    verbs: tuple[tuple[str, bool], ...]
    zone: tzinfo
    language: str
    prefix: str
    """The path that the project is mounted below."""
    urlconf: Any
    """Where its addresses are, if a middleware has chosen; None: where the settings say."""

    @classmethod
    def of(cls, request: HttpRequest) -> Look:
        return cls(
            pool=chosen_pool(request),
            verbs=tuple(verbs_for(request).items()),
            zone=timezone.get_current_timezone(),
            language=get_language() or "",
            prefix=get_script_prefix(),
            urlconf=get_urlconf(),
        )

    @property
    def name(self) -> str:
        """Fit for the key of a cache."""
        said = repr((self.pool, self.verbs, str(self.zone), self.language, self.prefix, self.urlconf))
        return hashlib.sha256(said.encode()).hexdigest()[:32]

    def shown(self) -> dict[str, str]:
        """In whichever thread it is asked for: a new one knows nothing of the request."""
        set_script_prefix(self.prefix)
        set_urlconf(self.urlconf)
        with timezone.override(self.zone), override(self.language or None):
            return {"html": render_to_string("routines/fleet_live.html", _facts(self))}


def _facts(look: Look) -> dict[str, Any]:
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
        **queue_facts(look.pool, pools),
        **dict(look.verbs),
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
