"""The agenda: the coming fires of all routines, the load that they make, and where a pool would be too small."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.http import HttpRequest, QueryDict
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from routines_app import service
from routines_app.admin.charts import COUNTS, Column, column_chart
from routines_app.admin.charts.widths import in_each_width
from routines_app.admin.phrases import per_in_words
from routines_app.admin.translating import grouped, translated
from routines_app.core.errors import RoutineError
from routines_app.models import Pool

if TYPE_CHECKING:
    from routines_app.admin.routines import RoutineAdmin

WINDOWS = {"1h": gettext_lazy("next hour"), "1d": gettext_lazy("next day")}
SHOWN = 100  # fires in the list
POOLS = 100  # that can be chosen; nobody looks through more
CROWDED_SHOWN = 12  # steps that are named for each pool
MOST_TICKS = 6
TICKS = tuple(timedelta(minutes=minutes) for minutes in (1, 2, 5, 10, 30, 60, 120, 240))


def agenda_page(admin: RoutineAdmin, request: HttpRequest) -> TemplateResponse:
    """Read-only: what is planned, as of now."""
    admin.require_view(request)
    window = request.GET.get("window", "1h")
    window = window if window in WINDOWS else "1h"
    chosen = {name: request.GET.get(name, "") for name in ("pool", "tag", "queue")}
    pools = Pool.objects.using(service.ledger_alias()).order_by("name")
    context = {
        **admin.admin_site.each_context(request),
        "title": _("Agenda"),
        "opts": admin.model._meta,
        "section": "agenda",
        "window": window,
        "windows": [(key, words, _address(window=key, **chosen)) for key, words in WINDOWS.items()],
        "chosen": chosen,
        "pool_names": list(pools.values_list("name", flat=True)[:POOLS]),
        **_planned(window, chosen),
    }
    return TemplateResponse(request, "routines/agenda.html", context)


def _address(**values: str) -> str:
    query = QueryDict(mutable=True)
    query.update({name: value for name, value in values.items() if value})
    return f"?{query.urlencode()}"


def _planned(window: str, chosen: dict[str, str]) -> dict[str, Any]:
    """What the service says, or why it cannot."""
    given: dict[str, Any] = {name: value for name, value in chosen.items() if value}
    try:
        agenda = service.agenda(horizon=window, limit=SHOWN, **given)
    except RoutineError as refused:
        return {"problem": translated(refused)}
    crowded = {begin for pool in agenda.pools for begin in pool.crowded}
    busiest = max(agenda.load, key=lambda load: load.fires)
    return {
        "agenda": agenda,
        "step": per_in_words(agenda.step // timedelta(milliseconds=1)),
        "total": grouped(round(sum(load.fires for load in agenda.load))),
        "busiest": busiest,
        "busiest_at": clock_of(busiest.begin),
        "is_estimate": any(load.is_estimate for load in agenda.load),
        "load_chart": load_chart(agenda, crowded),
        "pools": [_pool(pool, agenda) for pool in agenda.pools],
        "crowded_pools": sum(bool(pool.crowded) for pool in agenda.pools),
    }


def load_chart(agenda: service.Agenda, crowded: set[datetime]) -> Any:
    """A column for each step; those in which a pool would be too small have another colour, and say so."""
    columns = []
    for place, load in enumerate(agenda.load):
        is_crowded = load.begin in crowded
        kind = "failed" if is_crowded else "plain"
        label = _fires_in_words(load, is_crowded=is_crowded)
        columns.append(Column(amount=load.fires, label=label, tick=_tick(agenda, place), kind=kind))
    label = _("Fires of the agenda, over time")
    return in_each_width(lambda width: column_chart(columns, label=label, unit=COUNTS, width=width))


def _fires_in_words(load: service.Load, *, is_crowded: bool) -> str:
    """`10:05: about 1,200 fires, a pool is too small`."""
    count = round(load.fires)
    number = _("about {number}").format(number=grouped(count)) if load.is_estimate else grouped(count)
    if is_crowded:
        said = ngettext(
            "{time}: {number} fires, a pool is too small", "{time}: {number} fires, a pool is too small", count
        )
    else:
        said = ngettext("{time}: {number} fires", "{time}: {number} fires", count)
    return said.format(time=clock_of(load.begin), number=number)


def _pool(pool: service.PoolForecast, agenda: service.Agenda) -> dict[str, Any]:
    columns = []
    for place, (load, peak) in enumerate(zip(agenda.load, pool.peaks, strict=True)):
        kind = "failed" if peak > pool.max_concurrent else "plain"
        label = _("{time}: {taken} of {all} places")
        label = label.format(time=clock_of(load.begin), taken=peak, all=pool.max_concurrent)
        columns.append(Column(amount=peak, label=label, tick=_tick(agenda, place), kind=kind))
    label = _("Places of pool {name} that are expected to be taken, over time").format(name=pool.name)
    return {
        "forecast": pool,
        "most": max(pool.peaks, default=0),
        "chart": column_chart(columns, label=label, unit=COUNTS, limit=pool.max_concurrent),
        "crowded": [clock_of(begin) for begin in pool.crowded[:CROWDED_SHOWN]],
        "more": max(0, len(pool.crowded) - CROWDED_SHOWN),
    }


def _tick(agenda: service.Agenda, place: int) -> str:
    """The time beneath a column, where it is a round one."""
    whole = agenda.until - agenda.now
    every = next((apart for apart in TICKS if whole / apart <= MOST_TICKS), TICKS[-1])
    local = agenda.load[place].begin.astimezone(timezone.get_current_timezone())
    is_round = timedelta(hours=local.hour, minutes=local.minute) % every == timedelta()
    return clock_of(local) if is_round else ""


def clock_of(at: datetime) -> str:
    return f"{at.astimezone(timezone.get_current_timezone()):%H:%M}"
