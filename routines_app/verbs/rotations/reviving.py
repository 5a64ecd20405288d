"""Members that a seeding has archived, and that the callable gives again."""

from __future__ import annotations

from collections.abc import Sequence

from routines_app.core.words import RoutineStatus, RunStatus
from routines_app.models import ChangeKind, Rotation, RoutineState, ScheduleChange
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.arrays import AnyOf
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.locks import lock_states
from routines_app.protocol.plan.planning import replan
from routines_app.protocol.rotate.left_out import bring_back
from routines_app.verbs.held_rows import verb_transaction
from routines_app.verbs.rotations.finding import batches
from routines_app.verbs.rotations.writing import By, Progress, record, routines_of, split, update, with_runs

GONE = "no longer given by"
"""How the reason begins for which a seeding archives: what a person has archived stays so."""
PLAN = ["next_slot", "slot_source", "last_slot", "next_run_at", "next_source", "fingerprint"]


def revive_members(rotation: Rotation, routine_ids: Sequence[int], by: By, progress: Progress) -> int:
    """Bring those of the archived members back that a seeding has archived; how many.

    What waited when one was archived is cancelled, and stays so: until none of it is left, it stays archived.
    """
    revived = 0
    for batch in batches(routine_ids):
        with verb_transaction("rotation", rotation.name):
            revived += _revive_batch(rotation, batch, by)
        progress.add(len(batch))
    return revived


def _revive_batch(rotation: Rotation, routine_ids: Sequence[int], by: By) -> int:
    states, now = lock_states(routine_ids), clock.now()
    ours = _archived_by_seeding(routine_ids) - set(with_runs(routine_ids, [RunStatus.PENDING]))
    found = [pair for pair in routines_of(states) if pair[0].pk in ours and pair[0].rotation_id == rotation.pk]
    found = [pair for pair in found if pair[0].status == RoutineStatus.ARCHIVED]
    update(found, now, versioned=False, status=RoutineStatus.ACTIVE)
    for routine, state in found:
        routine.status = RoutineStatus.ACTIVE
        replan(routine, state, now)
    RoutineState.objects.using(ledger_alias()).bulk_update([state for _, state in found], PLAN)
    bring_back([routine.pk for routine, _ in found])
    before, after = {"status": RoutineStatus.ARCHIVED.value}, {"status": RoutineStatus.ACTIVE.value}
    record(ChangeKind.RESUMED, *split(found), by, before=[before] * len(found), after=[after] * len(found))
    return len(found)


def _archived_by_seeding(routine_ids: Sequence[int]) -> set[int]:
    """By the last time that each was archived."""
    changes = ScheduleChange.objects.using(ledger_alias()).filter(AnyOf("routine_id", routine_ids))
    reasons = dict(changes.filter(kind=ChangeKind.ARCHIVED).order_by("id").values_list("routine_id", "reason"))
    return {routine_id for routine_id, reason in reasons.items() if routine_id and reason.startswith(GONE)}
