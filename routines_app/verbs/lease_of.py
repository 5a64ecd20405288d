"""Looking at a routine's lease."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

import redis

from routines_app.coordination import leases
from routines_app.core.said import said
from routines_app.models import Routine, RoutineRun
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.checking.lookup import RoutineRef, find_routine
from routines_app.verbs.reading import LARGE_FIELDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Who holds the routine, as Redis knows it; `problem` when Redis could not be asked."""

    token: str = ""
    seconds_left: float = 0.0
    run: RoutineRun | None = None
    problem: str = ""


def lease_of(routine: RoutineRef) -> Lease | None:
    """The lease that some run holds on the routine; None when there is none, or none is needed."""
    found = routine if isinstance(routine, Routine) else find_routine(routine)
    if not found.is_exclusive:
        return None
    try:
        held = leases.holder(found.pk)
    except redis.RedisError as error:
        return Lease(problem=said("Redis cannot be asked: {error}", error=str(error)))
    if held is None:
        return None
    token, seconds = held
    return Lease(token=token, seconds_left=seconds, run=_run_of(token))


def _run_of(token: str) -> RoutineRun | None:
    try:
        run_id = uuid.UUID(token)
    except ValueError:
        return None
    return RoutineRun.objects.using(ledger_alias()).defer(*LARGE_FIELDS).filter(pk=run_id).first()
