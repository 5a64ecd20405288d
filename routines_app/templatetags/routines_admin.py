"""Filters of the admin's templates: the shared pieces of markup."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import template
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import pgettext

from routines_app import service
from routines_app.admin import due_markup, markup, phrases, routine_columns, run_facts
from routines_app.admin import health_bar as bar
from routines_app.admin.charts import sparkline
from routines_app.admin.code_words import code_in_words
from routines_app.admin.page_zone import ROUTINE, UTC, VIEWER, zone_of
from routines_app.admin.recent import Recent
from routines_app.admin.translating import translated as in_their_language
from routines_app.models import Routine, RoutineRun

register = template.Library()


@register.filter
def pill(status: str) -> SafeString:
    return markup.pill(status)


@register.filter
def moment(at: datetime | str | None) -> SafeString:
    return markup.moment(at if isinstance(at, datetime) else None)


@register.filter
def translated(text: str) -> str:
    """What the service said, in the language of whoever looks."""
    return in_their_language(text)


@register.filter
def next_fire(at: datetime | str | None) -> SafeString:
    return due_markup.next_fire(at if isinstance(at, datetime) else None)


@register.filter
def status_pill(routine: Routine) -> SafeString:
    return due_markup.status_pill(routine, getattr(routine, "state", None))


@register.filter
def exact_moment(at: datetime | str | None) -> SafeString:
    return markup.exact_moment(at if isinstance(at, datetime) else None)


@register.filter
def clock(at: datetime) -> str:
    """To the millisecond: the lines of a log are compared with each other."""
    return phrases.short_time(at, service.now(), timezone.get_current_timezone(), exactly=True)


@register.filter
def whole_time(at: datetime) -> str:
    """With its date and its zone, for a title or for whoever listens."""
    return phrases.clock_time(at, timezone.get_current_timezone())


@register.inclusion_tag("routines/zone.html", takes_context=True)
def page_zone(context: template.Context) -> dict[str, object]:
    """In which zone the page shows its times, and the choice of another one."""
    request, now = context["request"], service.now()
    chosen = zone_of(request)
    of_the_routine = [(ROUTINE, pgettext("timezone", "The routine's"))] if chosen.of_a_routine else []
    choices = [(VIEWER, pgettext("timezone", "Yours")), *of_the_routine, (UTC, "UTC")]
    return {
        "zone": chosen,
        "label": chosen.label(now),
        "choices": choices,
        "here": request.get_full_path(),
    }


@register.simple_tag
def server_now() -> SafeString:
    return markup.server_now()


@register.simple_tag
def in_days(number: int) -> str:
    """How a script says so many days."""
    return phrases.days_or_years(phrases.DAY, number)


@register.simple_tag
def in_years(number: int) -> str:
    return phrases.days_or_years(phrases.YEAR, number)


@register.filter
def seconds(value: float | None) -> SafeString | str:
    return markup.NOTHING if value is None else phrases.seconds_in_words(value)


@register.filter
def duration(ms: int | None) -> SafeString | str:
    return markup.NOTHING if ms is None else service.format_duration(ms)


@register.filter
def words(code: str) -> str:
    """`catch_up` as `catch up`: a stored code for people."""
    return code_in_words(str(code))


@register.filter
def source(code: str) -> str:
    """Why a time was chosen."""
    return phrases.source_in_words(code)


@register.filter
def time_out(ms: int | None) -> str:
    return phrases.time_out_in_words(ms)


@register.filter
def took(run: RoutineRun) -> SafeString | str:
    return seconds(run_facts.length_of(run, service.now()))


@register.filter
def lateness(run: RoutineRun) -> SafeString | str:
    return seconds(run_facts.lateness_of(run))


@register.filter
def run_href(run: RoutineRun) -> str:
    return run_facts.run_url(run)


@register.filter
def rate(recent: Recent) -> SafeString | str:
    """The share of slots that succeeded, in per cent."""
    return markup.NOTHING if recent.success_rate is None else f"{routine_columns.percentage(recent.success_rate)} %"


@register.filter
def retried(recent: Recent) -> str:
    return routine_columns.retried(recent)


@register.filter
def spark(recent: Recent) -> SafeString:
    return sparkline(recent.bars)


@register.simple_tag(takes_context=True)
def health_bar(context: dict[str, Any]) -> SafeString:
    """What is wrong with the fleet, and the line in which a page says that its data is old.

    In the viewer's zone on pages that are not ours too, as the admin's index: the script that keeps it fresh is.
    """
    request = context.get("request")
    zone = timezone.get_current_timezone() if request is None else zone_of(request).zone
    with timezone.override(zone):
        return render_to_string("routines/health_bar.html", bar.bar_facts(request))
