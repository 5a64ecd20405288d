"""The small pieces of markup that all pages share: pills, times, tags."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from routines_app import service
from routines_app.admin.phrases import ago_or_in, clock_time, short_time

NOTHING = format_html('<span class="rt-quiet">{}</span>', "—")


def pill(status: str, *, title: str = "") -> SafeString:
    """A routine's or run's status; the word is there for those who do not see the colour."""
    return format_html(
        '<span class="rt-pill rt-is-{}" title="{}">{}</span>', status.lower(), title, status.capitalize()
    )


def moment(at: datetime | None) -> SafeString:
    """A time as people say it (a script keeps that fresh) and as the clock of the page's zone shows it."""
    return _time(at) if at else NOTHING


def exact_moment(at: datetime | None) -> SafeString:
    """The same to the millisecond, for times that are compared with each other."""
    return _time(at, exactly=True) if at else NOTHING


def _time(at: datetime, *, exactly: bool = False) -> SafeString:
    """Whoever listens gets the whole time with its zone in place of the short one."""
    now, zone = service.now(), timezone.get_current_timezone()
    return format_html(
        '<time class="rt-time" datetime="{0}" title="{1}"><span class="rt-ago">{2}</span>'
        ' <span class="rt-at" aria-hidden="true">· {3}</span><span class="visually-hidden">, {1}</span></time>',
        at.isoformat(),
        clock_time(at, zone),
        ago_or_in(at, now),
        short_time(at, now, zone, exactly=exactly),
    )


def chips(words: Iterable[str]) -> SafeString:
    """Small labels side by side."""
    return format_html_join(" ", '<span class="rt-chip">{}</span>', ((word,) for word in words))
