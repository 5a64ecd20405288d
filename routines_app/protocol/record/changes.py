"""The history of a schedule: append-only rows that say who changed what, when and why."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db.models import Model

from routines_app.masks import masked
from routines_app.models import ChangeKind, Routine, RoutineState, ScheduleChange
from routines_app.protocol.ledger.database import ledger_alias

LONGEST_ACTOR = 255
ARGUMENTS = frozenset({"args", "kwargs", "options", "phases"})


class Process(str):
    """Who acts where no person does. A person may be called the same: it is known by its type."""

    __slots__ = ()


BEAT, WORKER = Process("beat"), Process("worker")
CODE = Process("code (sync)")  # what is declared there, when `migrate` or a command brings it; no login has such a name


def record(
    kind: ChangeKind,
    routine: Routine,
    state: RoutineState | None,
    now: datetime,
    *,
    actor: str = "",
    reason: str = "",
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> None:
    """Write one change, in the transaction of the change itself. `before` and `after` hold what differs.

    Secrets are masked: nobody would find those that were changed for others in rows that are never deleted.
    """
    new(kind, routine, state, now, actor=actor, reason=reason, before=before, after=after).save(using=ledger_alias())


def new(
    kind: ChangeKind,
    routine: Routine,
    state: RoutineState | None,
    now: datetime,
    *,
    actor: str = "",
    reason: str = "",
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> ScheduleChange:
    """The same, for whoever writes many at once."""
    return ScheduleChange(
        routine_id=None if kind is ChangeKind.DELETED else routine.pk,
        routine_name=routine.name,
        kind=kind,
        at=now,
        actor=actor[:LONGEST_ACTOR],
        reason=reason,
        before=as_recorded(before),
        after=as_recorded(after),
        next_slot=None if state is None else state.next_slot,
    )


def as_recorded(values: Mapping[str, Any] | None) -> dict[str, Any]:
    """Values of fields as JSON, without secrets."""
    return {field: _stored(field, value) for field, value in (values or {}).items()}


def _stored(field: str, value: Any) -> Any:
    if field in ARGUMENTS:
        return masked(value)
    if isinstance(value, datetime):
        return value.isoformat()
    return value.pk if isinstance(value, Model) else value
