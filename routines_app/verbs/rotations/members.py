"""Adding members to a rotation and removing them, any number at once.

Everything is checked before anything is written; then each batch is a transaction of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from routines_app.models import Routine
from routines_app.verbs.checking.known_tasks import registered_tasks
from routines_app.verbs.checking.lookup import RotationRef, RoutineRef, find_rotation
from routines_app.verbs.checking.membership import refuse_archived_rotation
from routines_app.verbs.rotations.finding import members_of
from routines_app.verbs.rotations.sorting import refuse_archived_members, sort_wanted
from routines_app.verbs.rotations.values import Member, MembersAdded
from routines_app.verbs.rotations.wanted import read_wanted
from routines_app.verbs.rotations.writing import By, Progress, Told, create_members, join_members, leave_rotation


def add_members(
    rotation: RotationRef,
    members: Iterable[Member | Mapping[str, Any] | str | Routine],
    *,
    actor: str = "",
    reason: str = "",
    allow_unknown_task: bool = False,
    progress: Told | None = None,
) -> MembersAdded:
    """Add members: a `Member` or a mapping of its fields is created; a name or a routine that is there joins.

    A name that is nobody's is created with the rotation's own task. Those that are members already are left as they
    are. `progress` is told how many are done after each thousand. An interruption leaves some added: call it again.
    """
    by, found = By.checked(actor, reason), find_rotation(rotation)
    refuse_archived_rotation(found)
    registered_tasks()  # imports task modules the first time
    wanted = read_wanted(members, found, "members", allow_unknown_task=allow_unknown_task)
    done = sort_wanted(wanted, found, joining=True)
    refuse_archived_members(done.kept)
    told = Progress(progress)
    joined = join_members(found, done.joining, by, told)
    created = create_members(found, done.new, by, told)
    return MembersAdded(created=created, joined=joined, kept=len(done.kept))


def remove_members(
    rotation: RotationRef,
    members: Iterable[RoutineRef],
    *,
    actor: str = "",
    reason: str = "",
    progress: Told | None = None,
) -> int:
    """Take members out of the rotation, by name, id or instance; how many. They stay, as MANUAL routines."""
    by, found = By.checked(actor, reason), find_rotation(rotation)
    return leave_rotation(found, members_of(found, members, "members"), by, Progress(progress))
