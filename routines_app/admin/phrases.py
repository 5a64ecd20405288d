"""Schedules, times and lengths of time as people say them."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

from routines_app import service
from routines_app.admin.cron_phrases import cron_in_words
from routines_app.core.words import Source, TriggerKind

UNITS = ((86_400 * 365, "y"), (86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))
WHOLE_UNITS = {86_400_000: "day", 3_600_000: "hour", 60_000: "minute", 1000: "second"}

SOURCE_WORDS = {
    Source.BASELINE_CRON: "on schedule",
    Source.BASELINE_INTERVAL: "on its interval",
    Source.BASELINE_ONCE: "at its one moment",
    Source.HINT_INTERVAL: "hinted interval",
    Source.HINT_ONESHOT: "hinted time",
    Source.HINT_FACTOR: "hinted factor",
    Source.CLAMPED_MIN: "held back by its minimum interval",
    Source.CLAMPED_MAX: "brought forward by its maximum interval",
    Source.PAUSED: "paused",
    Source.MANUAL: "only when asked",
    Source.ENDED: "its schedule has ended",
    Source.ARCHIVED: "archived",
    Source.PARKED: "parked until it is reset",
    Source.CATCHING_UP: "catching up on missed slots",
}


def schedule_in_words(
    kind: str, cron: str, interval_ms: int | None, timezone: str, once_at: datetime | None = None
) -> str:
    """`At 09:00, Monday to Friday, Europe/Paris`, `Every 10 minutes`, `Once, on …` or `Only when asked`."""
    if kind == TriggerKind.CRON:
        return f"{cron_in_words(cron)}, {timezone}"
    if kind == TriggerKind.INTERVAL and interval_ms:
        return f"Every {interval_in_words(interval_ms)}"
    if kind == TriggerKind.ONCE and once_at:
        return f"Once, {moment_in_words(once_at, timezone)}"
    return "Only when asked"


def moment_in_words(at: datetime, timezone: str) -> str:
    """`on 12 Mar 2027 at 03:00, Europe/Paris`; in UTC where plain SQL has stored a timezone that is none."""
    try:
        local = at.astimezone(ZoneInfo(timezone))
    except (ValueError, KeyError, OSError, OverflowError):
        local, timezone = at.astimezone(UTC), "UTC"
    return f"on {local.day} {local:%b %Y} at {local:%H:%M:%S}".removesuffix(":00") + f", {timezone}"


def interval_in_words(ms: int) -> str:
    """`10 minutes`, `hour`, `1h 30m`."""
    for size, unit in WHOLE_UNITS.items():
        if ms % size == 0:
            count = ms // size
            return unit if count == 1 else f"{count} {unit}s"
    return service.format_duration(ms)


def factor_in_words(factor: float) -> str:
    """`5 times slower`, `2 times faster`, `as usual`."""
    if factor == 1:
        return "as usual"
    return f"{factor:.4g} times slower" if factor > 1 else f"{1 / factor:.4g} times faster"


def time_out_in_words(ms: int | None) -> str:
    """`10m`, `none`, or whose it is when the routine sets none."""
    if ms is None:
        return f"the task's own, else {seconds_in_words(service.DEFAULT_TIME_OUT_SECONDS)}"
    return service.format_duration(ms) if ms else "none"


def seconds_in_words(seconds: float) -> str:
    """`350 ms`, `1.4 s`, `12m 5s`, `3h 20m`: three figures are enough."""
    if seconds <= 0:
        return "0 s"
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s".replace(".0 s", " s")
    return " ".join(service.format_duration(int(seconds) * 1000).split()[:2])


def ago_or_in(at: datetime, now: datetime) -> str:
    """`in 5 min`, `3 h ago`, `now`."""
    seconds = (at - now).total_seconds()
    amount = _largest_unit(abs(seconds))
    if amount is None:
        return "now"
    return f"in {amount}" if seconds > 0 else f"{amount} ago"


def clock_time(at: datetime, zone: tzinfo = UTC) -> str:
    """`Mon 25 Oct 2027, 02:30:00 CEST`."""
    local = in_zone(at, zone)
    return f"{local:%a} {local.day} {local:%b %Y, %H:%M:%S} {local.tzname()}"


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
    return f"{local.day} {local:%b}" + ("" if local.year == today.year else f" {local.year}")


def in_zone(at: datetime, zone: tzinfo) -> datetime:
    """The local time; at the ends of the calendar, where a zone has none, that of UTC."""
    try:
        return at.astimezone(zone)
    except OverflowError:
        return at.astimezone(UTC)


def source_in_words(source: str) -> str:
    return SOURCE_WORDS.get(Source(source), source) if source in set(Source) else source


def _largest_unit(seconds: float) -> str | None:
    for size, unit in UNITS:
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return None
