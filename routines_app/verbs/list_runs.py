"""Reading the ledger."""

from __future__ import annotations

from routines_app.models import RoutineRun
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.checking.lookup import RoutineRef, find_routine, id_of
from routines_app.verbs.checking.rules import Integer
from routines_app.verbs.reading import LARGE_FIELDS

LIMIT = Integer(least=1, most=10_000)


def list_runs(routine: RoutineRef, limit: int = 50, *, large: bool = True) -> list[RoutineRun]:
    """A routine's runs, newest first. `large=False` leaves arguments, results and errors to be read when asked for."""
    runs = RoutineRun.objects.using(ledger_alias()).filter(routine_id=id_of(routine)).order_by("-id")
    found = list((runs if large else runs.defer(*LARGE_FIELDS))[: LIMIT("limit", limit)])
    if not found:
        find_routine(routine)  # a routine that is gone has none either, and is not found
    return found
