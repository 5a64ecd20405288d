"""What the verbs of a rotation and of its members do.

Each one calls `routines_app.service` with the person's name and reason and returns a sentence about what was done.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from routines_app import service
from routines_app.admin.verb_acts import (
    SECONDS,
    OutOfTime,
    Unfinished,
    Wants,
    left_as_it_is,
    paused,
    ticked,
    who_and_why,
)
from routines_app.core.said import Said, said, said_of
from routines_app.core.words import RoutineStatus, RunStatus
from routines_app.models import Rotation, Routine


def tick(rotation: Rotation, wants: Wants, actor: str) -> Said:  # noqa: ARG001
    return ticked(rotation.name, service.tick_rotation(rotation, requested_by=actor))


def seed(rotation: Rotation, wants: Wants, actor: str) -> Said:  # noqa: ARG001
    run, about = service.ask_seeding(rotation, requested_by=actor), {"rotation": rotation.name, "seed": rotation.seed}
    if run.status == RunStatus.PENDING:
        return said("Asked for a seeding of {rotation}: a worker calls {seed}", **about)
    return said("A seeding is under way of {rotation}: a worker calls {seed}", **about)


def pause(rotation: Rotation, wants: Wants, actor: str) -> Said:
    until = wants.get("until")
    service.pause_rotation(rotation, until=until, **who_and_why(wants, actor))
    return paused(rotation.name, until)


def resume(rotation: Rotation, wants: Wants, actor: str) -> Said:
    service.resume_rotation(rotation, **who_and_why(wants, actor))
    return said("Resumed {name}", name=rotation.name)


def archive(rotation: Rotation, wants: Wants, actor: str) -> Said:
    """With very many members it takes several requests, none of them long."""
    name, members = rotation.name, bool(wants.get("members"))
    try:
        service.archive_rotation(rotation, members=members, progress=for_a_moment(), **who_and_why(wants, actor))
    except OutOfTime as out:
        return Unfinished.of(_archived_so_far(name, out.done))
    if members:
        return said("Archived {rotation} with its members", rotation=name)
    return said("Archived {rotation}", rotation=name)


def _archived_so_far(name: str, count: int) -> Said:
    return said_of(
        count,
        "Archived {rotation} and {count:,} of its members: confirm to go on with the others",
        "Archived {rotation} and {count:,} of its members: confirm to go on with the others",
        rotation=name,
    )


def touch(rotation: Rotation, members: Sequence[Routine], wants: Wants, actor: str) -> Said:
    touched = service.touch_members(rotation, members, **who_and_why(wants, actor))
    return said_of(touched, "Touched {count:,} member: owed now", "Touched {count:,} members: owed now")


def remove(rotation: Rotation, members: Sequence[Routine], wants: Wants, actor: str) -> Said:
    removed = service.remove_members(rotation, members, **who_and_why(wants, actor))
    return said_of(
        removed,
        "Removed {count:,} member from {rotation}",
        "Removed {count:,} members from {rotation}",
        rotation=rotation.name,
    )


def resume_member(routine: Routine, wants: Wants, actor: str) -> Said:
    """A member has no slots that a pause could have kept from firing."""
    was = routine.status
    service.resume_routine(routine, **who_and_why(wants, actor))
    if was == RoutineStatus.ACTIVE:
        return left_as_it_is(routine)
    return said("Resumed {name}", name=routine.name)


def for_a_moment() -> Callable[[Any], None]:
    """What a long verb is told how far it is by: after a second it is stopped, and goes on when it is asked again."""
    stop_at = time.monotonic() + SECONDS

    def in_time(done: int) -> None:
        if done and time.monotonic() > stop_at:  # always some, or nothing would ever move on
            raise OutOfTime(done)

    return in_time
