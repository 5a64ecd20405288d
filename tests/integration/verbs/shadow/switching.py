"""A switch-over that waits for nobody, and the slots that the ledger has after it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from routines_app import service
from routines_app.models import RoutineRun


def switch(*routines: str, **options: Any) -> service.SwitchOver:
    return service.switch_over(routines or None, **({"settle": 0.0} | options))


def rows(status: str | None = None) -> list[datetime]:
    runs = RoutineRun.objects.order_by("scheduled_for")
    found = runs.filter(status=status) if status else runs.filter(reason="shadow")
    return list(found.values_list("scheduled_for", flat=True))
