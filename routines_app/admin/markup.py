"""The small pieces of markup that all pages share: pills, times, tags."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from routines_app import service
from routines_app.admin.code_words import status_label
from routines_app.admin.phrases import ago_or_in, clock_time, short_time

NOTHING = format_html('<span class="rt-quiet">{}</span>', "—")


def pill(status: str, *, title: str = "") -> SafeString:
    """A routine's or run's status; the word is there for those who do not see the colour."""
    return format_html(
        '<span class="rt-pill rt-is-{}" title="{}">{}</span>', status.lower(), title, status_label(status)
    )


def server_now() -> SafeString:
    """The server's time, by which a script keeps relative times fresh: the browser's clock may be wrong."""
    return format_html('<span hidden data-now="{}"></span>', service.now().isoformat(timespec="milliseconds"))


def moment(at: datetime | None) -> SafeString:
    """A time as people say it (a script keeps that fresh) and as the clock of the page's zone shows it."""
    return time_as(ago_or_in(at, service.now()), at) if at else NOTHING


def exact_moment(at: datetime | None) -> SafeString:
    """The same to the millisecond, for times that are compared with each other."""
    return time_as(ago_or_in(at, service.now()), at, exactly=True) if at else NOTHING


def time_as(said: str, at: datetime, *, class_: str = "rt-time", exactly: bool = False) -> SafeString:
    """What is said of a time, beside the time itself: whoever listens gets it whole, with its zone."""
    zone = timezone.get_current_timezone()
    return format_html(
        '<time class="{0}" datetime="{1}" title="{2}"><span class="rt-ago">{3}</span>'
        ' <span class="rt-at" aria-hidden="true">· {4}</span><span class="visually-hidden">, {2}</span></time>',
        class_,
        at.isoformat(),
        clock_time(at, zone),
        said,
        short_time(at, service.now(), zone, exactly=exactly),
    )


def chips(words: Iterable[str]) -> SafeString:
    """Small labels side by side."""
    return format_html_join(" ", '<span class="rt-chip">{}</span>', ((word,) for word in words))
