"""Releasing a lease by hand: for an operator who knows that its holder is gone."""

from __future__ import annotations

import redis

from routines_app.coordination import leases
from routines_app.core.errors import NotAllowed
from routines_app.core.said import said
from routines_app.models import ChangeKind
from routines_app.verbs.checking.lookup import RoutineRef
from routines_app.verbs.editing import editing


def release_lease(routine: RoutineRef, *, actor: str = "", reason: str = "") -> bool:
    """Delete the lease that some run holds on the routine; False when there was none. It is written down."""
    with editing(routine, actor=actor, reason=reason) as edit:
        try:
            holder = leases.holder(edit.routine.pk)
            released = holder is not None and leases.release(edit.routine.pk, holder[0])
        except redis.RedisError as error:
            raise NotAllowed(
                "lease", edit.routine.name, said("Redis cannot be reached: {error}", error=str(error))
            ) from error
        if released:
            edit.record(ChangeKind.LEASE_RELEASED, before={"holder": holder and holder[0]})
    return bool(released)
