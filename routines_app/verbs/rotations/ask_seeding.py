"""Asking for a seeding besides those of ticks."""

from __future__ import annotations

import secrets
from datetime import datetime

from routines_app.core.errors import NotAllowed
from routines_app.core.keys import unkeyed_key
from routines_app.core.rotation import SEEDING
from routines_app.core.said import said
from routines_app.core.transitions import ACTIVE
from routines_app.core.words import RunTrigger
from routines_app.models import Rotation, Routine, RoutineRun
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.publish import outbox
from routines_app.protocol.record.events import tell
from routines_app.protocol.rotate.member_runs import in_its_pool, stand
from routines_app.verbs.checking.lookup import RotationRef, find_rotation
from routines_app.verbs.editing import ACTOR, editing, refuse_archived


def ask_seeding(rotation: RotationRef, *, requested_by: object = None) -> RoutineRun:
    """Let a worker seed the rotation, also one that is paused; the run says what came of it.

    One that is under way is the answer too: two at once would find the same. `seed_rotation` does it here and now, and
    takes as long as somebody's callable does.
    """
    asked_by, found = ACTOR("requested_by", "" if requested_by is None else str(requested_by)), find_rotation(rotation)
    with editing(found.pk) as edit:
        refuse_archived(edit.routine, said("an archived routine is not seeded any more"))
        if not found.seed:
            raise NotAllowed("seed", found.name, said("the rotation has no callable that seeds it: give it one"))
        return _under_way(found) or _asked(found, edit.routine, asked_by, edit.now)


def _under_way(rotation: Rotation) -> RoutineRun | None:
    runs = RoutineRun.objects.using(ledger_alias()).filter(routine_id=rotation.pk, status__in=sorted(ACTIVE))
    return runs.filter(rotation_id=rotation.pk, phase=SEEDING).first()


def _asked(rotation: Rotation, routine: Routine, asked_by: str, now: datetime) -> RoutineRun:
    ready = in_its_pool(routine)
    run = RoutineRun.of(
        routine,
        trigger=RunTrigger.MANUAL,
        rotation=rotation,
        phase=SEEDING,
        pool_id=ready.pool_id,
        scheduled_for=now,
        eligible_at=now,
        idempotency_key=unkeyed_key(routine.pk, secrets.token_hex(8), 1),
        requested_by=asked_by,
        requested_at=now,
    )
    stand(run, now, outside=ready.outside)
    run.save(using=ledger_alias(), force_insert=True)
    outbox.after_commit(run)
    tell([run])
    return run
