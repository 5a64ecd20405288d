"""Pausing, resuming and archiving a rotation: what its own routine does, and what becomes of members."""

from __future__ import annotations

from datetime import datetime

from routines_app.core.words import RoutineStatus
from routines_app.models import Rotation, Routine
from routines_app.verbs.archive import archive_routine
from routines_app.verbs.checking.lookup import RotationRef, find_rotation
from routines_app.verbs.editing import follow
from routines_app.verbs.pause import pause_routine
from routines_app.verbs.resume import resume_routine
from routines_app.verbs.rotations.finding import all_members
from routines_app.verbs.rotations.writing import By, Progress, Told, archive_members


def pause_rotation(
    rotation: RotationRef, *, until: datetime | str | None = None, reason: str = "", actor: str = ""
) -> Rotation:
    """Let it not tick, for good or until a time. What is in flight goes on, and members run by hand."""
    found = find_rotation(rotation)
    return _followed(rotation, found, pause_routine(found.routine, until=until, reason=reason, actor=actor))


def resume_rotation(rotation: RotationRef, *, actor: str = "", reason: str = "") -> Rotation:
    """Let a paused rotation tick again. The ticks of the pause are skipped: what they would have picked is owed."""
    found = find_rotation(rotation)
    return _followed(rotation, found, resume_routine(found.routine, actor=actor, reason=reason))


def archive_rotation(
    rotation: RotationRef, *, members: bool = False, actor: str = "", reason: str = "", progress: Told | None = None
) -> Rotation:
    """Retire a rotation for good. Its members stay, and run by hand; with `members` they are archived too, in batches.

    An interruption leaves the rotation archived and some members not: archive it with `members` again.
    """
    by, found = By.checked(actor, reason), find_rotation(rotation)
    if not (members and found.routine.status == RoutineStatus.ARCHIVED):
        archive_routine(found.routine, actor=actor, reason=reason)
    if members:
        archive_members(found, all_members(found), by, Progress(progress))
    return _followed(rotation, found, found.routine)


def _followed(ref: RotationRef, found: Rotation, routine: Routine) -> Rotation:
    """Bring the caller's instance up to date, or its next edit would be taken for a stale one."""
    found.routine = routine
    if isinstance(ref, Rotation):
        ref.routine = routine
    elif isinstance(ref, Routine):
        follow(ref, routine)
    return found
