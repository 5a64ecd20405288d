"""What the verbs of a rotation and of its members do.

Each one calls `routines_app.service` with the person's name and reason and returns a sentence about what was done.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from routines_app import service
from routines_app.admin.verb_acts import SECONDS, OutOfTime, Undone, Wants, local_time, ticked_in_words, who_and_why
from routines_app.core.words import RoutineStatus, RunStatus
from routines_app.models import Rotation, Routine


class Unfinished(str):
    """What was done in the time that there was; the page asks whether to go on."""

    __slots__ = ()


def tick(rotation: Rotation, wants: Wants, actor: str) -> str:  # noqa: ARG001
    run = service.tick_rotation(rotation, requested_by=actor)
    return f"Ticked {rotation.name}: {ticked_in_words(run)}"


def seed(rotation: Rotation, wants: Wants, actor: str) -> str:  # noqa: ARG001
    run = service.ask_seeding(rotation, requested_by=actor)
    asked = "Asked for a seeding" if run.status == RunStatus.PENDING else "A seeding is under way"
    return f"{asked} of {rotation.name}: a worker calls {rotation.seed}"


def pause(rotation: Rotation, wants: Wants, actor: str) -> str:
    until = wants.get("until")
    service.pause_rotation(rotation, until=until, **who_and_why(wants, actor))
    return f"Paused {rotation.name} " + (f"until {local_time(until)}" if until else "until it is resumed")


def resume(rotation: Rotation, wants: Wants, actor: str) -> str:
    service.resume_rotation(rotation, **who_and_why(wants, actor))
    return f"Resumed {rotation.name}"


def archive(rotation: Rotation, wants: Wants, actor: str) -> str:
    """With very many members it takes several requests, none of them long."""
    name, members = rotation.name, bool(wants.get("members"))
    try:
        service.archive_rotation(rotation, members=members, progress=for_a_moment(), **who_and_why(wants, actor))
    except OutOfTime as out:
        return Unfinished(f"Archived {name} and {out.done:,} of its members: confirm to go on with the others")
    return f"Archived {name}{' with its members' if members else ''}"


def touch(rotation: Rotation, members: Sequence[Routine], wants: Wants, actor: str) -> str:
    touched = service.touch_members(rotation, members, **who_and_why(wants, actor))
    return f"Touched {touched:,} member{'' if touched == 1 else 's'}: owed now"


def remove(rotation: Rotation, members: Sequence[Routine], wants: Wants, actor: str) -> str:
    removed = service.remove_members(rotation, members, **who_and_why(wants, actor))
    return f"Removed {removed:,} member{'' if removed == 1 else 's'} from {rotation.name}"


def resume_member(routine: Routine, wants: Wants, actor: str) -> str:
    """A member has no slots that a pause could have kept from firing."""
    was = routine.status
    service.resume_routine(routine, **who_and_why(wants, actor))
    if was == RoutineStatus.ACTIVE:
        return Undone(f"Left {routine.name} as it is: it was not paused")
    return f"Resumed {routine.name}"


def for_a_moment() -> Callable[[Any], None]:
    """What a long verb is told how far it is by: after a second it is stopped, and goes on when it is asked again."""
    stop_at = time.monotonic() + SECONDS

    def in_time(done: int) -> None:
        if done and time.monotonic() > stop_at:  # always some, or nothing would ever move on
            raise OutOfTime(done)

    return in_time
