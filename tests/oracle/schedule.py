"""What a schedule expects: slots by cronsim and by arithmetic, over the definitions that held one after another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from cronsim import CronSim

from tests.oracle.facts import UNPLANNED, Change, History

NICKNAMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
FIELDS = (
    "trigger_kind",
    "cron",
    "interval_ms",
    "once_at",
    "timezone",
    "start_at",
    "end_at",
    "min_interval_ms",
    "max_interval_ms",
)
INSTANT = timedelta(microseconds=1)


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A stretch of time, `(after, until]`, during which one definition of the schedule held."""

    after: datetime
    until: datetime
    fields: dict[str, Any]
    replanned_blindly: bool = False
    """It ended with a change by plain SQL: nobody knows when that was, only when a beat noticed."""

    @property
    def is_exact(self) -> bool:
        """Its definition alone says when it fires: of a cron, and of one moment."""
        return self.fields["trigger_kind"] in ("CRON", "ONCE")

    def bounds(self) -> tuple[datetime, datetime]:
        """The stretch narrowed to start_at and end_at, both inclusive."""
        start, end = moment(self.fields["start_at"]), moment(self.fields["end_at"])
        after = self.after if start is None else max(self.after, start - INSTANT)
        return after, self.until if end is None else min(self.until, end)

    def slots(self) -> list[datetime]:
        """Every slot of an exact segment."""
        after, until = self.bounds()
        if self.fields["trigger_kind"] == "ONCE":
            at = moment(self.fields["once_at"])
            return [at] if at is not None and after < at <= until else []
        return list(cron_slots(self.fields["cron"], self.fields["timezone"], after, until))


def segments(history: History, until: datetime) -> list[Segment]:
    """The definitions that held, oldest first. Walks back from the present one through what each change replaced.

    Between an archiving and the change that brought the routine back nothing held.
    """
    fields = {name: history.definition[name] for name in FIELDS}
    found: list[Segment] = []
    end, blind, began = until, False, None
    for change in reversed([change for change in history.changes if change.kind not in UNPLANNED]):
        at = effective_at(history, change)
        moved = {name: value for name, value in change.before.items() if name in FIELDS}
        blindly = change.kind == "replanned" and any(name in FIELDS for name in change.after)
        if change.kind == "archived":
            if began is not None:
                found.append(Segment(after=began, until=end, fields=dict(fields), replanned_blindly=blind))
            end, blind = min(end, at), False
        elif moved or blindly:
            found.append(Segment(after=at, until=end, fields=dict(fields), replanned_blindly=blind))
            fields |= moved
            end, blind = min(end, at), blindly
        began = at
    created = moment(history.definition["created_at"])
    assert created is not None
    found.append(Segment(after=created, until=end, fields=fields, replanned_blindly=blind))
    return found[::-1]


def effective_at(history: History, change: Change) -> datetime:
    """The time of the change, or the last slot after it that a beat with its clock ahead had claimed before it."""
    planned = {other.next_slot for other in history.changes if other.id > change.id} | {change.next_slot}
    first = min((slot for slot in planned if slot is not None and slot > change.at), default=None)
    early = change.at
    by_slot = {run.scheduled_for: run for run in history.scheduled if not run.is_passed_over}
    for slot in sorted(slot for slot in by_slot if slot > change.at):
        if slot in planned or (first is not None and slot >= first):
            break
        early = by_slot[slot].last
    return early


def cron_slots(expression: str, timezone: str, after: datetime, until: datetime) -> Iterator[datetime]:
    """The fires of `(after, until]` by cronsim, in UTC."""
    zone = ZoneInfo(timezone)
    # cronsim works on whole seconds: start a second early and drop what is not later than `after`.
    fires = CronSim(NICKNAMES.get(expression, expression), after.astimezone(zone) - timedelta(seconds=1))
    for fire in fires:
        slot = fire.astimezone(UTC)
        if slot > until:
            return
        if slot > after:
            yield slot


def interval_slots(anchor: datetime, interval_ms: int, after: datetime, until: datetime) -> list[datetime]:
    """The grid `anchor + k * interval` within `(after, until]`."""
    step = timedelta(milliseconds=interval_ms)
    first = max(0, (after - anchor) // step + 1)
    last = (until - anchor) // step
    return [anchor + k * step for k in range(first, last + 1)]


def moment(value: Any) -> datetime | None:
    """A time from a column, or from the text that the history holds."""
    return datetime.fromisoformat(value) if isinstance(value, str) else value
