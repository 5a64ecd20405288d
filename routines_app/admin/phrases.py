"""Schedules, times, lengths of time and numbers as people say them, in the language of whoever looks.

The one place that writes times. How a date is written is a message itself, in the letters of Django's `date` filter, so
each language has its own; the clock has 24 hours in all of them.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from django.utils.dateformat import format as date_format
from django.utils.formats import number_format
from django.utils.translation import get_language, gettext_lazy, npgettext, pgettext
from django.utils.translation import gettext as _

from routines_app import service
from routines_app.admin.cron_phrases import cron_in_words
from routines_app.admin.often import Unit, apart, every, per
from routines_app.core.words import Source, TriggerKind

DAY, YEAR = 86_400, 86_400 * 365
UNITS = {YEAR: "", DAY: "", 3600: "h", 60: "min", 1: "s"}  # days and years have other letters elsewhere
WHOLE_UNITS: dict[int, Unit] = {86_400_000: "day", 3_600_000: "hour", 60_000: "minute", 1000: "second"}

SOURCE_WORDS = {
    Source.BASELINE_CRON: gettext_lazy("on schedule"),
    Source.BASELINE_INTERVAL: gettext_lazy("on its interval"),
    Source.BASELINE_ONCE: gettext_lazy("at its one moment"),
    Source.HINT_INTERVAL: gettext_lazy("hinted interval"),
    Source.HINT_ONESHOT: gettext_lazy("hinted time"),
    Source.HINT_FACTOR: gettext_lazy("hinted factor"),
    Source.CLAMPED_MIN: gettext_lazy("held back by its minimum interval"),
    Source.CLAMPED_MAX: gettext_lazy("brought forward by its maximum interval"),
    Source.PAUSED: gettext_lazy("paused"),
    Source.MANUAL: gettext_lazy("only when asked"),
    Source.ENDED: gettext_lazy("its schedule has ended"),
    Source.ARCHIVED: gettext_lazy("archived"),
    Source.PARKED: gettext_lazy("parked until it is reset"),
    Source.CATCHING_UP: gettext_lazy("catching up on missed slots"),
}


def schedule_in_words(
    kind: str, cron: str, interval_ms: int | None, timezone: str, once_at: datetime | None = None
) -> str:
    """`At 09:00, Monday to Friday, Europe/Paris`, `Every 10 minutes`, `Once, on …` or `Only when asked`."""
    if kind == TriggerKind.CRON:
        return f"{cron_in_words(cron)}, {timezone}"
    if kind == TriggerKind.INTERVAL and interval_ms:
        return every_in_words(interval_ms)
    if kind == TriggerKind.ONCE and once_at:
        return once_in_words(once_at, timezone)
    return _("Only when asked")


def once_in_words(at: datetime, timezone: str) -> str:
    """`Once, on 12 Mar 2027 at 03:00, Europe/Paris`; in UTC where plain SQL has stored a timezone that is none."""
    try:
        local = at.astimezone(ZoneInfo(timezone))
    except (ValueError, KeyError, OSError, OverflowError):
        local, timezone = at.astimezone(UTC), "UTC"
    time = f"{local:%H:%M:%S}".removesuffix(":00")
    day = _written(local.date(), pgettext("date format", "j M Y"), get_language())
    return _("Once, on {date} at {time}, {zone}").format(date=day, time=time, zone=timezone)


def every_in_words(ms: int) -> str:
    """`Every 10 minutes`, `Every hour`, `Every 1s 500ms`."""
    whole = _whole_units(ms)
    return every(*whole) if whole else _("Every {interval}").format(interval=service.format_duration(ms))


def interval_in_words(ms: int) -> str:
    """`10 minutes`, `hour`, `1s 500ms`."""
    whole = _whole_units(ms)
    return apart(*whole) if whole else service.format_duration(ms)


def per_in_words(ms: int) -> str:
    """`10 minutes`, `hour`, of what is counted per so much time."""
    whole = _whole_units(ms)
    return per(*whole) if whole else service.format_duration(ms)


def _whole_units(ms: int) -> tuple[Unit, int] | None:
    return next(((unit, ms // size) for size, unit in WHOLE_UNITS.items() if ms % size == 0), None)


def factor_in_words(factor: float) -> str:
    """`5 times slower`, `2 times faster`, `as usual`."""
    if factor == 1:
        return _("as usual")
    if factor > 1:
        return _("{times} times slower").format(times=in_figures(f"{factor:.4g}"))
    return _("{times} times faster").format(times=in_figures(f"{1 / factor:.4g}"))


def time_out_in_words(ms: int | None) -> str:
    """`10m`, `none`, or whose it is when the routine sets none."""
    if ms is None:
        return _("the task's own, else {length}").format(length=seconds_in_words(service.DEFAULT_TIME_OUT_SECONDS))
    return service.format_duration(ms) if ms else pgettext("time-out", "none")


def seconds_in_words(seconds: float) -> str:
    """`350 ms`, `1.4 s`, `12m 5s`, `3h 20m`: three figures are enough."""
    if seconds <= 0:
        return "0 s"
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{in_figures(f'{seconds:.1f}'.removesuffix('.0'))} s"
    return " ".join(service.format_duration(int(seconds) * 1000).split()[:2])


def in_figures(number: str, *, grouped: bool = False) -> str:
    """A number that Python has written, as the language writes it: `1.4` as `1,4`, and 12,345 as `12.345`."""
    return number_format(number, use_l10n=True, force_grouping=grouped)


def ago_or_in(at: datetime, now: datetime) -> str:
    """`in 5 min`, `3 h ago`, `now`."""
    seconds = (at - now).total_seconds()
    amount = largest_unit(abs(seconds))
    if not amount:
        return _("now")
    return _("in {amount}").format(amount=amount) if seconds > 0 else _("{amount} ago").format(amount=amount)


def largest_unit(seconds: float) -> str:
    """`5 min`, `3 h`, `1 y`; nothing of less than a second."""
    return next((in_unit(size, seconds // size, f"{seconds // size:.0f}") for size in UNITS if seconds >= size), "")


def in_unit(size: int, number: float, figures: str) -> str:
    """So many of a unit, in figures that are written already: `3 h`, `1.5 d`."""
    return days_or_years(size, int(number)).format(count=figures) if size >= DAY else f"{figures} {UNITS[size]}"


def days_or_years(size: int, number: int) -> str:
    """The form for so many, with its gap: a script fills it, too."""
    if size == YEAR:
        return npgettext("years, in short", "{count} y", "{count} y", number)
    return npgettext("days, in short", "{count} d", "{count} d", number)


def clock_time(at: datetime, zone: tzinfo = UTC) -> str:
    """`Mon 25 Oct 2027, 02:30:00 CEST`."""
    local = in_zone(at, zone)
    day = _written(local.date(), pgettext("date format", "D j M Y"), get_language())
    return f"{day}, {local:%H:%M:%S} {local.tzname()}"


def short_time(at: datetime, now: datetime, zone: tzinfo, *, exactly: bool = False) -> str:
    """`02:30:00`; with its date where that is not today's, its year where that is not this year's, the zone's short
    name where the clock shows that time twice, and milliseconds where times are compared."""
    local, today = in_zone(at, zone), in_zone(now, zone)
    clock = f"{local:%H:%M:%S}" + (f".{local.microsecond // 1000:03}" if exactly else "")
    if local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset():
        clock += f" {local.tzname()}"
    if local.date() == today.date():
        return clock
    return f"{date_in_words(local, today)}, {clock}"


def date_in_words(local: datetime, today: datetime) -> str:
    """`25 Oct`, `25 Oct 2027` of another year."""
    is_this_year = local.year == today.year
    letters = pgettext("date format", "j M") if is_this_year else pgettext("date format", "j M Y")
    return _written(local.date(), letters, get_language())


def weekday_and_date(local: datetime) -> str:
    """`Mon 25 Oct`."""
    return _written(local.date(), pgettext("date format", "D j M"), get_language())


def long_date(local: datetime) -> str:
    """`25 October 2027`."""
    return _written(local.date(), pgettext("date format", "j F Y"), get_language())


@lru_cache(maxsize=4096)
def _written(day: date, letters: str, _language: str | None) -> str:
    """In the language that is active. Kept, because Django takes long for it and a page has few days, many times."""
    return date_format(day, letters)


def in_zone(at: datetime, zone: tzinfo) -> datetime:
    """The local time; at the ends of the calendar, where a zone has none, that of UTC."""
    try:
        return at.astimezone(zone)
    except OverflowError:
        return at.astimezone(UTC)


def source_in_words(source: str) -> str:
    return str(SOURCE_WORDS[Source(source)]) if source in set(Source) else source
