"""The report of a shadow: slot by slot, what the old scheduler fired and what ours would have. Nothing is written.

Ours are the rows with the reason `shadow`, the old one's what its own process wrote down; which of them belong together
is decided by `core/shadow.py`. One routine at a time is in memory, and whoever wants each slot gets it as it is found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from routines_app.core.durations import parse_duration
from routines_app.core.errors import InvalidValue
from routines_app.core.said import said
from routines_app.core.shadow import Compared, Tolerance, compare, tolerance_of
from routines_app.core.triggers import INSTANT, slots_between
from routines_app.core.words import Reason
from routines_app.models import MovedEntry, OldFire, RoutineRun
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.plan.planning import trigger_of
from routines_app.verbs.audit_reading import IDS_EARLIER
from routines_app.verbs.checking.lookup import RoutineRef
from routines_app.verbs.reading import oldest_run_id
from routines_app.verbs.shadow.choosing import chosen_for_report

UNDER_WAY = timedelta(seconds=30)  # of these last slots not all fires may be written down
MOST_OF_ONE = 200_000  # slots or fires of one routine: two days of seconds
MOST_KEPT = 1_000  # differences that the report itself holds


@dataclass(frozen=True, kw_only=True)
class ShadowSlot:
    """One slot, or a fire that stands for none of ours."""

    routine: str
    slot: datetime | None
    """None: only the old scheduler fired."""
    fired_at: datetime | None
    """By the old one's clock. None: only ours would have fired."""
    lateness: timedelta | None
    slid: bool = False
    """An interval of the old one has slid past this slot of ours: no fire of it is missing."""

    @property
    def who(self) -> str:
        """`both`, `slid`, `only old` or `only ours`."""
        if self.slot is None:
            return "only old"
        if self.fired_at is None:
            return "slid" if self.slid else "only ours"
        return "both"

    @property
    def differs(self) -> bool:
        return self.who.startswith("only")


@dataclass(kw_only=True)
class ShadowedRoutine:
    """One routine, counted."""

    routine: str
    scheduler: str
    key: str
    both: int = 0
    slid: int = 0
    only_old: int = 0
    only_ours: int = 0
    latest: timedelta | None = None
    """The most that the old one was late."""

    @property
    def differs(self) -> bool:
        return bool(self.only_old or self.only_ours)

    @property
    def is_unrecorded(self) -> bool:
        """Slots of ours, and not one fire: the old beat may not have this app, or does not run."""
        return bool(self.only_ours) and not (self.both or self.only_old)


@dataclass(kw_only=True)
class ShadowReport:
    """What both did, from `since` to `until`."""

    since: datetime
    until: datetime
    routines: list[ShadowedRoutine] = field(default_factory=list)
    differences: list[ShadowSlot] = field(default_factory=list)
    """The first of them, in the order of the routines."""

    @property
    def both(self) -> int:
        return sum(each.both for each in self.routines)

    @property
    def slid(self) -> int:
        return sum(each.slid for each in self.routines)

    @property
    def only_old(self) -> int:
        return sum(each.only_old for each in self.routines)

    @property
    def only_ours(self) -> int:
        return sum(each.only_ours for each in self.routines)

    @property
    def differs(self) -> bool:
        return any(each.differs for each in self.routines)


def shadow_report(
    since: datetime | timedelta | str = "24h",
    until: datetime | None = None,
    *,
    routines: RoutineRef | Iterable[RoutineRef] | None = None,
    each: Callable[[ShadowSlot], None] | None = None,
) -> ShadowReport:
    """Compare from `since`, a moment or how far to look back, to half a minute ago; each routine since it was moved.

    `each` is told of every slot as it is compared: the report itself has counts and the first differences.
    """
    now = clock.now()
    until = min(until or now, now - UNDER_WAY)
    if not isinstance(since, datetime):
        since = now - timedelta(milliseconds=parse_duration(since, field="since"))
    found = ShadowReport(since=since, until=until)
    for entry in chosen_for_report(routines):
        counted = ShadowedRoutine(routine=entry.routine.name, scheduler=entry.scheduler, key=entry.key)
        found.routines.append(counted)
        for slot in _compared(entry, max(since, entry.created_at), until):
            _count(counted, slot)
            if slot.differs and len(found.differences) < MOST_KEPT:
                found.differences.append(slot)
            if each is not None:
                each(slot)
    return found


def _count(counted: ShadowedRoutine, slot: ShadowSlot) -> None:
    if slot.lateness is None:
        counted.only_old += slot.slot is None
        counted.slid += slot.slid
        counted.only_ours += slot.slot is not None and not slot.slid
        return
    counted.both += 1
    counted.latest = slot.lateness if counted.latest is None else max(counted.latest, slot.lateness)


def _compared(entry: MovedEntry, since: datetime, until: datetime) -> Iterator[ShadowSlot]:
    """A slot near the edge may have its fire behind it: more is read than is told."""
    trigger = trigger_of(entry.routine, entry.routine.state)
    tolerance = tolerance_of(trigger)
    slots, fires = _slots(entry, since, until, tolerance), _fires(entry, since, until, tolerance)
    for found in compare(slots, fires, tolerance):
        if since < found.at <= until:
            yield _told(entry, found)


def _told(entry: MovedEntry, found: Compared) -> ShadowSlot:
    return ShadowSlot(
        routine=entry.routine.name, slot=found.slot, fired_at=found.fired_at, lateness=found.lateness, slid=found.slid
    )


def _slots(entry: MovedEntry, since: datetime, until: datetime, tolerance: Tolerance) -> list[datetime]:
    since = since - tolerance.late
    runs = RoutineRun.objects.using(ledger_alias()).filter(
        routine_id=entry.routine_id,
        reason=Reason.SHADOW,
        id__gte=oldest_run_id(since - IDS_EARLIER),
        scheduled_for__lte=until + tolerance.early,
    )
    found: list[datetime] = []
    for slot, last in runs.values_list("scheduled_for", "scheduled_until")[: MOST_OF_ONE + 1].iterator():
        found += [slot] if last is None else _each_of(entry, slot, last)
    return _bounded(sorted(slot for slot in found if slot > since))


def _each_of(entry: MovedEntry, first: datetime, last: datetime) -> tuple[datetime, ...]:
    """The slots of a row that stands for many."""
    trigger = trigger_of(entry.routine, entry.routine.state)
    return slots_between(trigger, first - INSTANT, last, MOST_OF_ONE).slots


def _fires(entry: MovedEntry, since: datetime, until: datetime, tolerance: Tolerance) -> list[datetime]:
    fires = OldFire.objects.using(ledger_alias()).filter(
        scheduler=entry.scheduler,
        key=entry.key,
        fired_at__gt=since - tolerance.late - tolerance.early,
        fired_at__lte=until + tolerance.late,
    )
    return _bounded(list(fires.order_by("fired_at").values_list("fired_at", flat=True)[: MOST_OF_ONE + 1]))


def _bounded(moments: list[datetime]) -> list[datetime]:
    if len(moments) > MOST_OF_ONE:
        raise InvalidValue(
            "since", len(moments), said("ask for a shorter time: at most {most} slots of a routine", most=MOST_OF_ONE)
        )
    return moments
