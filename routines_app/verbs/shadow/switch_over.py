"""The switch-over: from then on a routine fires, and its old entry does not. No slot is lost, and none is fired twice.

The old beat goes on meanwhile. The protocol, for routines in shadow:

1. What the old entries say of their last fires is stored, then they are disabled (`old_side.py`), since
   `disabled_at`.
2. The old beat takes notice before the next thing that it sends; what it is sending just now still goes out. So nothing
   more is done until no fire of these entries was seen for `settle` seconds.
3. By batch, in a transaction: `shadow` ends, `switched_at` is stamped, and every slot after the old one's last fire is
   ours (`protocol/plan/taking_over.py`). Those that came due meanwhile are fired at once.

Whoever dies in between leaves entries that are disabled and routines in shadow: the same again goes on from there, with
all slots since. The last fire is what the old beat's process wrote down (`beat/old_beat.py`) or what the entry itself
remembers, whichever is later. An entry whose fires nobody wrote down is refused: nobody could know what it has fired.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from routines_app.coordination.wakeups import wake_beats
from routines_app.core.errors import NotAllowed
from routines_app.core.said import said
from routines_app.core.words import RoutineStatus
from routines_app.models import ChangeKind, MovedEntry, Routine, RoutineState, ScheduleChange
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.arrays import AnyOf
from routines_app.protocol.ledger.database import ledger_alias, on_commit
from routines_app.protocol.ledger.locks import lock_states
from routines_app.protocol.plan.taking_over import forget_rows, leave_fired, take_over
from routines_app.protocol.record import changes
from routines_app.verbs.audit_reading import TAKEN_OVER_AFTER
from routines_app.verbs.checking.lookup import RoutineRef
from routines_app.verbs.editing import REASON, actor_name
from routines_app.verbs.held_rows import verb_transaction
from routines_app.verbs.shadow.choosing import chosen, in_batches, refuse_inside_a_transaction, why_not
from routines_app.verbs.shadow.old_side import side_of
from routines_app.verbs.shadow.seen_fires import last_fires, recorded_after, recorded_until

SETTLE_SECONDS = 5.0  # longer than a beat takes for what it is just sending
LONGEST_SETTLE = 60.0  # an old beat that still sends disabled entries then has not taken notice
LOOK_SECONDS = 0.2

ENABLED = "its old entry was enabled again meanwhile: find out by whom, then run this again"

Progress = Callable[[str], None]
PLANNED = [
    "last_slot",
    "grid_from",
    "clamps_from",
    "next_slot",
    "slot_source",
    "next_run_at",
    "next_source",
    "fingerprint",
    "release_policy",
    "release_until",
]


@dataclass(kw_only=True)
class SwitchOver:
    """What was done, or would be."""

    switched: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    """By routine: why it stays as it is."""
    fired_meanwhile: int = 0
    """What the old beat still sent after its entries were disabled."""
    taken_back: int = 0
    """Slots in the ledger that the old one had not fired: we do."""


def switch_over(
    routines: RoutineRef | Iterable[RoutineRef] | None = None,
    *,
    scheduler: str | None = None,
    stopped: bool = False,
    dry_run: bool = False,
    settle: float = SETTLE_SECONDS,
    progress: Progress | None = None,
    actor: str = "",
    reason: str = "",
) -> SwitchOver:
    """Hand the slots of routines in shadow from their old scheduler to us: of these, of that scheduler, or of all.

    The old beat may go on: its entries are disabled first. `stopped`: it does not run any more, so nobody waits for it.
    Not inside a transaction: each step must be seen by others before the next. Done again, it goes on where it ended.
    """
    who = Author(actor_name(actor), REASON("reason", reason))
    entries, tell = chosen(routines, scheduler), progress or _silent
    refuse_inside_a_transaction()
    refused = why_not(entries, stopped=stopped)
    found = SwitchOver(
        refused={each.routine.name: refused[each.routine_id] for each in entries if each.routine_id in refused}
    )
    entries = [entry for entry in entries if entry.routine_id not in refused]
    if dry_run or not entries:
        found.switched = [entry.routine.name for entry in entries]
        return found
    recorded = recorded_until()
    _disable(entries)
    tell(f"{len(entries)} old entries are disabled")
    if not stopped:
        _settle(entries, recorded, settle, tell)
    found.fired_meanwhile = recorded_after(recorded, entries)
    for scheduler, batch in in_batches(entries):
        _switch(scheduler, batch, who, found)
        tell(f"{len(found.switched)} of {len(entries)} routines are switched over")
    return found


def _silent(_: str) -> None:
    """Nobody asked."""


@dataclass(frozen=True)
class Author:
    """Who does it, and why."""

    actor: str
    reason: str


def _disable(entries: Sequence[MovedEntry]) -> None:
    """What they say of their last fires first: once disabled, they may not."""
    for scheduler, batch in in_batches(entries):
        side, names = side_of(scheduler), [entry.key for entry in batch]
        last_runs, now = side.last_runs(names), clock.now()
        for entry in batch:
            entry.last_fired_at = _latest(entry.last_fired_at, last_runs.get(entry.key))
            entry.disabled_at = entry.disabled_at or now
        MovedEntry.objects.using(ledger_alias()).bulk_update(batch, ["last_fired_at", "disabled_at"])
        side.disable(names)


def _settle(entries: Sequence[MovedEntry], recorded: int, settle: float, tell: Progress) -> None:
    """Until the old beat has sent none of them for a while, and they are disabled still."""
    began = quiet_since = time.monotonic()
    fired = 0
    tell(f"waiting until the old beat has been quiet about them for {settle:g} s …")
    while time.monotonic() - quiet_since < settle:
        time.sleep(min(LOOK_SECONDS, settle))
        before, fired = fired, recorded_after(recorded, entries)
        if fired > before:
            quiet_since = time.monotonic()
            tell(f"the old beat has sent {fired} more")
        elif time.monotonic() - quiet_since >= settle and _disabled_again(entries):
            quiet_since = time.monotonic()
            tell("the old beat had enabled some again")
        if time.monotonic() - began > max(LONGEST_SETTLE, 2 * settle):
            expected = said(
                "stop it, then run this again and say that it is stopped; until then nothing is switched over"
            )
            raise NotAllowed("old beat", "it still sends entries that are disabled", expected)


def _disabled_again(entries: Sequence[MovedEntry]) -> bool:
    """Whether some were enabled: django-celery-beat may write a row as it was before (`old_side.py`)."""
    again = False
    for scheduler, batch in in_batches(entries):
        side = side_of(scheduler)
        if enabled := side.still_enabled([entry.key for entry in batch]):
            side.disable(enabled)
            again = True
    return again


def _switch(scheduler: str, batch: Sequence[MovedEntry], who: Author, found: SwitchOver) -> None:
    """One batch, in one transaction. What somebody has switched over or back meanwhile is left as that is."""
    keys = [entry.key for entry in batch]
    by_routine = {entry.routine_id: entry for entry in batch}
    side, refused = side_of(scheduler), dict[str, str]()
    with verb_transaction("routines", len(batch)):
        states = lock_states(list(by_routine))
        routines = in_shadow(list(by_routine))
        stored, seen, enabled = side.last_runs(keys), last_fires(scheduler, keys), side.still_enabled(keys)
        now, unfired = clock.now(), list[UUID]()
        switched: list[RoutineState] = []
        history: list[ScheduleChange] = []
        for state in states:
            routine, entry = routines.get(state.pk), by_routine[state.pk]
            if routine is None:
                continue  # somebody else was faster
            if entry.key in enabled:
                refused[routine.name] = ENABLED
                continue
            last_fire = _latest(entry.last_fired_at, stored.get(entry.key), seen.get(entry.key))
            rows, facts = _take_over(routine, state, entry, last_fire, now)
            unfired += rows
            switched.append(state)
            history.append(_change(routine, state, now, who, last_fire, facts))
        _save(switched, history, unfired, now)
        on_commit(wake_beats)
    found.refused |= refused
    found.switched += [entry.routine.name for entry in batch if entry.routine.name not in refused]
    found.taken_back += len(unfired)


def in_shadow(routine_ids: Sequence[int]) -> dict[int, Routine]:
    """Those that are, as of now: asked behind the locks of their states."""
    routines = Routine.objects.using(ledger_alias()).filter(AnyOf("pk", routine_ids), shadow=True)
    return {routine.pk: routine for routine in routines}


def _take_over(
    routine: Routine, state: RoutineState, entry: MovedEntry, last_fire: datetime | None, now: datetime
) -> tuple[list[UUID], Mapping[str, object]]:
    """What is paused or parked has no slots to hand over: they wait for its end, as always. But of a pause only those
    do that the old one, which knows nothing of it, has not fired."""
    if routine.status == RoutineStatus.PAUSED:
        leave_fired(routine, state, now, last_fire=last_fire, moved_at=entry.created_at)
    if routine.status != RoutineStatus.ACTIVE:
        return [], {}
    taken = take_over(
        routine,
        state,
        now,
        last_fire=last_fire,
        moved_at=entry.created_at,
        disabled_at=entry.disabled_at or now,
    )
    return taken.unfired, {TAKEN_OVER_AFTER: taken.after}


def _change(
    routine: Routine,
    state: RoutineState,
    now: datetime,
    who: Author,
    last_fire: datetime | None,
    facts: Mapping[str, object],
) -> ScheduleChange:
    return changes.new(
        ChangeKind.UPDATED,
        routine,
        state,
        now,
        actor=who.actor,
        reason=who.reason,
        before={"shadow": True},
        after={"shadow": False, "old_last_fire": last_fire, **facts},
    )


def _save(
    states: Sequence[RoutineState], history: Sequence[ScheduleChange], unfired: Sequence[UUID], now: datetime
) -> None:
    alias, ids = ledger_alias(), [state.pk for state in states]
    if not ids:
        return
    forget_rows(unfired)
    RoutineState.objects.using(alias).bulk_update(states, PLANNED)
    Routine.objects.using(alias).filter(AnyOf("pk", ids)).update(shadow=False, updated_at=now)
    MovedEntry.objects.using(alias).filter(AnyOf("routine_id", ids)).update(switched_at=now)
    ScheduleChange.objects.using(alias).bulk_create(history)


def _latest(*moments: datetime | None) -> datetime | None:
    return max((moment for moment in moments if moment is not None), default=None)
