"""Runs without a beat: a test writes the row that a claim would have written and rings it in."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone

from routines_app.coordination.envelope import EXECUTE_TASK
from routines_app.core.keys import slot_key
from routines_app.models import Routine, RoutineRun, RoutineState
from tests.acceptance.app import app

NOTE = "tests.acceptance.tasks.note"


def routine(name: str, task: str = NOTE, **policies: Any) -> Routine:
    """A MANUAL routine, so that no beat that a test starts fires it by itself."""
    defaults = {"retry_delay_ms": 0, "retry_jitter": 0}
    made = Routine.objects.create(name=name, task=task, **defaults | policies)
    RoutineState.objects.create(routine=made)
    return made


class Rung:
    """One run that was rung in, and what became of it."""

    def __init__(self, row: RoutineRun) -> None:
        self.row = row

    @property
    def id(self) -> UUID:
        return self.row.id

    def refresh(self) -> str:
        self.row.refresh_from_db()
        return self.row.status

    def send(self, **options: Any) -> None:
        """Over a connection of its own: Celery's pool is closed whenever a test points it at another broker."""
        said: dict[str, Any] = {"ignore_result": True, "shadow": self.row.task} | options
        with app.connection_for_write() as connection:
            app.send_task(EXECUTE_TASK, args=[str(self.id)], task_id=str(self.id), connection=connection, **said)

    def retries(self) -> list[RoutineRun]:
        return list(RoutineRun.objects.filter(chain=self.id).order_by("attempt"))


def ring(routine: Routine, *, times: int = 1, send: bool = True, **fields: Any) -> Rung:
    """A PENDING row as a claim writes it, and `times` messages for it."""
    now = timezone.now()
    before = RoutineRun.objects.filter(routine=routine).count()
    slot = fields.pop("scheduled_for", now + timedelta(milliseconds=before))
    values = {
        "task": routine.task,
        "queue": routine.queue,
        "timeout_ms": routine.timeout_ms,
        "scheduled_for": slot,
        "eligible_at": now,
        "admitted_at": now,
        "dispatched_at": now,
        "publish_after": now + timedelta(seconds=45),
        "publish_count": 1,
        "idempotency_key": slot_key(routine.pk, slot, 1),
    }
    rung = Rung(RoutineRun.objects.create(routine=routine, **values | fields))
    for _ in range(times if send else 0):
        rung.send()
    return rung
