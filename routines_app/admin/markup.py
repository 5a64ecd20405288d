"""The small pieces of markup that all pages share: pills, times, tags."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from routines_app import service
from routines_app.admin.phrases import ago_or_in, clock_time

NOTHING = format_html('<span class="rt-quiet">{}</span>', "—")


def pill(status: str, *, title: str = "") -> SafeString:
    """A routine's or run's status; the word is there for those who do not see the colour."""
    return format_html(
        '<span class="rt-pill rt-is-{}" title="{}">{}</span>', status.lower(), title, status.capitalize()
    )


def moment(at: datetime | None) -> SafeString:
    """A time as people say it, with the exact time on hover; a script keeps it fresh."""
    if at is None:
        return NOTHING
    exact = clock_time(at, timezone.get_current_timezone())
    said = ago_or_in(at, service.now())
    return format_html('<time class="rt-time" datetime="{}" title="{}">{}</time>', at.isoformat(), exact, said)


def chips(words: Iterable[str]) -> SafeString:
    """Small labels side by side."""
    return format_html_join(" ", '<span class="rt-chip">{}</span>', ((word,) for word in words))
