"""The way back: routines are in shadow again, and their old entries fire.

Ours stop first, so no slot is fired twice: in one transaction the routines are put into shadow and the last slot of
each that was ours is stored. Then the old entries are enabled as if they had fired that one themselves: what has come
due in between is overdue to the old beat, which sends it once. Whoever dies in between leaves routines in shadow whose
old entries are disabled; the same again goes on from there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from routines_app.core.words import RoutineStatus, TriggerKind
from routines_app.models import ChangeKind, MovedEntry, Routine, ScheduleChange
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.arrays import AnyOf
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.locks import lock_states
from routines_app.protocol.record import changes
from routines_app.verbs.checking.lookup import RoutineRef
from routines_app.verbs.editing import REASON, actor_name
from routines_app.verbs.held_rows import verb_transaction
from routines_app.verbs.moving.old_entries import OldScheduler
from routines_app.verbs.shadow.choosing import chosen, in_batches, refuse_inside_a_transaction
from routines_app.verbs.shadow.old_side import side_of
from routines_app.verbs.shadow.switch_over import Author, SwitchOver, in_shadow

BY_HAND = "it has no schedule any more, and may be a rotation's: archive it, and enable its old entry"
GONE = "its old entry is gone: there is nothing to go back to"
STATIC = "a beat_schedule has nothing to be enabled: archive the routine, and start Celery's own beat"


def switch_back(
    routines: RoutineRef | Iterable[RoutineRef] | None = None,
    *,
    scheduler: str | None = None,
    dry_run: bool = False,
    actor: str = "",
    reason: str = "",
) -> SwitchOver:
    """Put routines that were switched over into shadow again, and enable their old entries: of these, of that
    scheduler, or all. The entry of a routine that is not ACTIVE stays disabled."""
    who = Author(actor_name(actor), REASON("reason", reason))
    entries, found = chosen(routines, scheduler, back=True), SwitchOver()
    refuse_inside_a_transaction()
    for kind, batch in in_batches(entries):
        there = side_of(kind).last_runs([entry.key for entry in batch])
        refused = {entry.routine.name: why for entry in batch if (why := _why_not(entry, there))}
        found.refused |= refused
        going = [entry for entry in batch if entry.routine.name not in refused]
        if going and not dry_run:
            _go_back(kind, going, who)
        found.switched += [entry.routine.name for entry in going]
    return found


def _why_not(entry: MovedEntry, there: Collection[str]) -> str:
    if entry.routine.trigger_kind == TriggerKind.MANUAL:
        return BY_HAND
    if entry.key in there:
        return ""
    return STATIC if entry.scheduler == OldScheduler.BEAT_SCHEDULE else GONE


def _go_back(scheduler: str, batch: Sequence[MovedEntry], who: Author) -> None:
    _stop_ours(batch, who)
    _let_the_old_one(scheduler, [entry.routine_id for entry in batch])


def _stop_ours(batch: Sequence[MovedEntry], who: Author) -> None:
    """Put them into shadow. `last_fired_at` is then the last slot that was ours; of one that somebody has put there
    already it is that as well, and its slots have gone on since."""
    ids, alias = [entry.routine_id for entry in batch], ledger_alias()
    with verb_transaction("routines", len(batch)):
        states = {state.pk: state for state in lock_states(ids)}
        routines, now = list(Routine.objects.using(alias).filter(AnyOf("pk", ids), shadow=False)), clock.now()
        ours = {routine.pk for routine in routines}
        stopped = [entry for entry in batch if entry.routine_id in ours]
        for entry in stopped:
            entry.last_fired_at, entry.disabled_at = states[entry.routine_id].last_slot, now
        MovedEntry.objects.using(alias).bulk_update(stopped, ["last_fired_at", "disabled_at"])
        Routine.objects.using(alias).filter(AnyOf("pk", sorted(ours))).update(shadow=True, updated_at=now)
        ScheduleChange.objects.using(alias).bulk_create(
            changes.new(
                ChangeKind.UPDATED,
                routine,
                states[routine.pk],
                now,
                actor=who.actor,
                reason=who.reason,
                before={"shadow": False},
                after={"shadow": True},
            )
            for routine in routines
        )


def _let_the_old_one(scheduler: str, routine_ids: Sequence[int]) -> None:
    """Enable what is still in shadow: behind the locks, or it could be switched over again in the same moment."""
    entries = MovedEntry.objects.using(ledger_alias()).filter(AnyOf("routine_id", routine_ids))
    with verb_transaction("routines", len(routine_ids)):
        lock_states(routine_ids)
        shadowed = in_shadow(routine_ids)
        going = [entry for entry in entries.filter(switched_at__isnull=False) if entry.routine_id in shadowed]
        active = {pk for pk, routine in shadowed.items() if routine.status == RoutineStatus.ACTIVE}
        side_of(scheduler).enable({entry.key: entry.last_fired_at for entry in going if entry.routine_id in active})
        entries.filter(pk__in=[entry.pk for entry in going]).update(switched_at=None, disabled_at=None)
