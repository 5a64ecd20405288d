"""What changes of the clock do to a schedule: told before a person saves it."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _

from routines_app.admin.phrases import long_date
from routines_app.service import CronFields, CronTrigger, clock_changes, parse_cron, slots_between

AHEAD = timedelta(days=366)
SECOND = timedelta(seconds=1)
LOOKED_AT = 3000  # slots of the two days around a change; a schedule by the second needs no such warning


def daylight_warnings(trigger: CronTrigger, now: datetime) -> list[str]:
    """One sentence for each change of the clock in the coming year that this schedule feels."""
    zone = ZoneInfo(trigger.timezone)
    said = (_felt(trigger, zone, change) for change in clock_changes(zone, now, now + AHEAD))
    return [sentence for sentence in said if sentence]


def _felt(trigger: CronTrigger, zone: ZoneInfo, change: datetime) -> str:
    shift = _offset(zone, change) - _offset(zone, change - SECOND)
    found = slots_between(trigger, change - abs(shift) - SECOND, change + abs(shift), LOOKED_AT)
    if found.truncated:
        return ""
    if shift < timedelta(0):
        return _repeat(found.slots, zone, change, -shift)
    return _gap(trigger, found.slots, zone, change, shift)


def _repeat(slots: tuple[datetime, ...], zone: ZoneInfo, change: datetime, shift: timedelta) -> str:
    walls = [_wall(slot, zone) for slot in slots]
    twice = [wall for wall, times in Counter(walls).items() if times > 1]
    day, wall = _day(change, zone), _wall(change, zone)
    if len(twice) == 1:
        said = _("Fires twice on {day}: {time} comes twice when the clock goes back.")
        return said.format(day=day, time=f"{twice[0]:%H:%M}")
    if twice:
        said = _(
            "Fires {many} times instead of {few} on {day}: {first} to {last} comes twice when the clock goes back."
        )
        first, last = f"{wall:%H:%M}", f"{wall + shift:%H:%M}"
        return said.format(many=2 * len(twice), few=len(twice), day=day, first=first, last=last)
    once = next((wall for slot, wall in zip(slots, walls, strict=True) if _is_ambiguous(slot, zone)), None)
    if once:
        said = _("On {day} {time} comes twice; it fires the first time only.")
        return said.format(day=day, time=f"{once:%H:%M}")
    return ""


def _gap(trigger: CronTrigger, slots: tuple[datetime, ...], zone: ZoneInfo, change: datetime, shift: timedelta) -> str:
    cron, wall = parse_cron(trigger.expression), _wall(change, zone)
    gap = {"day": _day(change, zone), "first": f"{wall - shift:%H:%M}", "last": f"{wall:%H:%M}"}
    if cron.fields.elapsed:
        missed = cron.count_between(wall - shift, wall) and not _goes_on(cron.fields, shift)
        said = _("On {day} the clock skips {first} to {last}; what falls into it does not fire.")
        return said.format(**gap) if missed else ""
    if change not in slots or (wall.hour in cron.fields.hours and wall.minute in cron.fields.minutes):
        return ""  # or it would fire at that time on any day
    said = _("On {day} the clock skips {first} to {last}; what falls into it fires at {time}.")
    return said.format(**gap, time=gap["last"])


def _goes_on(fields: CronFields, shift: timedelta) -> bool:
    """Whether it fires as often as ever, whatever the clock says: in each hour, at minutes that the shift keeps."""
    minutes = shift // timedelta(minutes=1)
    return len(fields.hours) == 24 and {(minute + minutes) % 60 for minute in fields.minutes} == set(fields.minutes)


def _is_ambiguous(slot: datetime, zone: ZoneInfo) -> bool:
    local = slot.astimezone(zone)
    return local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset()


def _wall(slot: datetime, zone: ZoneInfo) -> datetime:
    return slot.astimezone(zone).replace(tzinfo=None, fold=0)


def _day(at: datetime, zone: ZoneInfo) -> str:
    return long_date(at.astimezone(zone))


def _offset(zone: ZoneInfo, at: datetime) -> timedelta:
    return at.astimezone(zone).utcoffset() or timedelta(0)
