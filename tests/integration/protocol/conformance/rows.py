"""Rows that a case begins with, and all that they hold afterwards."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from django.db.models import Model

from routines_app.core.words import RunStatus
from routines_app.models import Routine, RoutineRun, RoutineState
from tests.acceptance.ringing import NOTE

SECOND = timedelta(seconds=1)
MOMENT = datetime(2024, 2, 29, 23, 59, 59, 999001, tzinfo=UTC)
ODD_TEXT = 'it\'s "100%s" of {a,b}\\ or NULL\n\N{PARTY POPPER}'

_ENDED = {RunStatus.SUCCESS, RunStatus.FAILED, RunStatus.SKIPPED, RunStatus.CANCELLED}
_numbers = count(1)


class _Recent:
    """Equal to every time of this minute: what a database's clock has said during the test."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, datetime) and abs(datetime.now(UTC) - other) < 60 * SECOND

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "RECENT"


RECENT: Any = _Recent()


def make_routine(state: dict[str, Any] | None = None, **values: Any) -> Routine:
    routine = Routine.objects.create(**{"name": f"routine {next(_numbers)}", "task": NOTE} | values)
    RoutineState.objects.create(routine=routine, **state or {})
    return routine


def make_run(routine: Routine, **values: Any) -> RoutineRun:
    """A PENDING run that was let through, or what the values make of it."""
    status = values.get("status", RunStatus.PENDING)
    now = datetime.now(UTC)
    known = {
        "task": routine.task,
        "queue": routine.queue,
        "timeout_ms": routine.timeout_ms,
        "pool_id": routine.pool_id,
        "scheduled_for": now,
        "eligible_at": now,
        "admitted_at": now,
        "publish_after": now + 45 * SECOND if status == RunStatus.PENDING else None,
        "started_at": None if status == RunStatus.PENDING else now - SECOND,
        "completed_at": now if status in _ENDED else None,
        "idempotency_key": f"{routine.pk}:{next(_numbers)}:1",
    }
    return RoutineRun.objects.create(routine=routine, **known | values)


def columns(row: Model) -> dict[str, Any]:
    """Every column of the row, as the database has it now."""
    found = type(row)._default_manager.get(pk=row.pk)
    return {field.attname: getattr(found, field.attname) for field in found._meta.concrete_fields}


def state_columns(routine: Routine) -> dict[str, Any]:
    return columns(RoutineState(routine_id=routine.pk))
