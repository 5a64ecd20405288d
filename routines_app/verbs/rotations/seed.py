"""Seeding: a callable says what should be members, and those that lack a routine get one.

Everything it gives is read and checked first; an error says which of it is wrong and why, and nothing is written.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from routines_app.core.errors import NotAllowed
from routines_app.core.said import said
from routines_app.core.words import RoutineStatus
from routines_app.models import Rotation, Routine
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.checking.known_tasks import registered_tasks
from routines_app.verbs.checking.lookup import RotationRef, find_rotation
from routines_app.verbs.checking.membership import refuse_archived_rotation
from routines_app.verbs.rotations.callables import call, load
from routines_app.verbs.rotations.reviving import GONE, revive_members
from routines_app.verbs.rotations.sorting import Kept, Sorted, sort_wanted
from routines_app.verbs.rotations.values import Seeded
from routines_app.verbs.rotations.wanted import Wanted, read_wanted
from routines_app.verbs.rotations.writing import By, Progress, Told, archive_members, create_members

logger = logging.getLogger(__name__)

NAMED = 3  # of those that are passed over


def seed_rotation(rotation: RotationRef, *, actor: str = "", progress: Told | None = None) -> Seeded:
    """Call the rotation's `seed`, with the rotation if it asks for an argument, and create the members that lack one.

    Members that are there are left as they are, and so are routines that are no members, whose names are passed over.
    ACTIVE members that it does not give are archived if the rotation says `archive_vanished`, and come back when it
    gives them again; where it gives nothing at all nobody is archived.
    """
    found = find_rotation(rotation)
    if not found.seed:
        raise NotAllowed("seed", found.name, said("the rotation has no callable that seeds it: give it one"))
    refuse_archived_rotation(found)
    by = By.checked(actor, f"given by {found.seed}")
    registered_tasks()  # imports task modules the first time
    wanted = read_wanted(call(load(found.seed), found), found, "seed", allow_unknown_task=False)
    todo = sort_wanted(wanted, found, joining=False)
    told = Progress(progress)
    created = create_members(found, todo.new, by, told)
    revived = revive_members(found, _archived(todo.kept), by, told)
    vanished = _vanished(found, todo)
    doubt = _doubt(found, wanted, vanished)
    going = vanished if found.archive_vanished and not doubt else []
    # What somebody has paused, or failures have parked, would come back without that.
    archived = archive_members(
        found, going, By(by.actor, f"{GONE} {found.seed}"), told, statuses={RoutineStatus.ACTIVE}
    )
    return Seeded(
        created=created,
        kept=len(todo.kept) - revived,
        vanished=len(vanished),
        archived=archived,
        revived=revived,
        passed_over=len(todo.passed_over),
        note=doubt or _passed_over(todo.passed_over),
    )


def _archived(kept: Sequence[Kept]) -> list[int]:
    return sorted(there.id for _, there in kept if there.status == RoutineStatus.ARCHIVED)


def _vanished(rotation: Rotation, todo: Sorted) -> list[int]:
    kept, created = {there.id for _, there in todo.kept}, {new.wanted.name for new in todo.new}
    members = Routine.objects.using(ledger_alias()).filter(rotation_id=rotation.pk)
    living = members.exclude(status=RoutineStatus.ARCHIVED).order_by("pk").values_list("pk", "name")
    return [pk for pk, name in living if pk not in kept and name not in created]


def _doubt(rotation: Rotation, wanted: Sequence[Wanted], vanished: Sequence[int]) -> str:
    """A callable that gives nothing is more likely broken than right."""
    if wanted or not vanished or not rotation.archive_vanished:
        return ""
    note = f"{rotation.seed} gave nothing at all, so none of {len(vanished)} members was archived"
    logger.warning("rotation %s: %s", rotation.name, note)
    return note


def _passed_over(names: Sequence[str]) -> str:
    """No warning: it is so at each seeding, for as long as the callable gives them."""
    if not names:
        return ""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"routines that are no members were passed over: {', '.join(names[:NAMED])}{more}"
