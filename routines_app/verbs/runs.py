"""Reading the ledger."""

from __future__ import annotations

from routines_app.models import RoutineRun
from routines_app.protocol.database import ledger_alias
from routines_app.verbs.lookup import RoutineRef, find_routine
from routines_app.verbs.rules import Integer

LIMIT = Integer(least=1, most=10_000)


def list_runs(routine: RoutineRef, limit: int = 50) -> list[RoutineRun]:
    """A routine's runs, newest first."""
    found = find_routine(routine)
    runs = RoutineRun.objects.using(ledger_alias()).filter(routine_id=found.pk).order_by("-id")
    return list(runs[: LIMIT("limit", limit)])
