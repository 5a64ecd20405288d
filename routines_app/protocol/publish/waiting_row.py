"""What is read of a run that waits, to decide about it."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from routines_app.protocol.record.messages import SHOWN_COLUMNS


class WaitingRow(NamedTuple):
    """A waiting run and what admission needs to know about its routine."""

    id: UUID
    routine_id: int
    pool_id: int | None
    task: str
    queue: str
    timeout_ms: int | None
    trigger: str
    requested_at: datetime | None
    scheduled_for: datetime
    eligible_at: datetime
    rotation_id: int | None
    name: str
    status: str
    priority: str
    policy: str
    expires_ms: int | None
    args: str | None
    kwargs: str | None
    options: str | None


WAITING_COLUMNS = (
    "id",
    "routine_id",
    "pool_id",
    "task",
    "queue",
    "timeout_ms",
    "trigger",
    "requested_at",
    "scheduled_for",
    "eligible_at",
    "rotation_id",
    "routine__name",
    "routine__status",
    "routine__priority",
    "routine__concurrency_policy",
    "routine__expires_ms",
    *SHOWN_COLUMNS,
)
