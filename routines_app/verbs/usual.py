"""How long routines usually take, by their last runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import median

from routines_app.core.words import RunStatus
from routines_app.models import RoutineRun
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.moments import readable
from routines_app.verbs.reading import SecondsBetween, rows_together

LOOKED_AT = 10  # runs of each routine, the newest
AT_ONCE = 100  # routines in a statement


def usual_seconds(routine_ids: Sequence[int]) -> dict[int, float]:
    """The median of the successes among each routine's last ten runs; who has none is left out."""
    lengths: dict[int, list[float]] = defaultdict(list)
    runs = RoutineRun.objects.using(ledger_alias()).filter(readable("started_at", "completed_at")).order_by("-id")
    rows = runs.values_list("routine_id", "status", SecondsBetween("started_at", "completed_at"))
    for first in range(0, len(routine_ids), AT_ONCE):
        some = [{"routine_id": routine_id} for routine_id in routine_ids[first : first + AT_ONCE]]
        for routine_id, status, seconds in rows_together(rows, some, limit=LOOKED_AT):
            if status == RunStatus.SUCCESS and seconds is not None:
                lengths[routine_id].append(float(seconds))
    return {routine_id: median(found) for routine_id, found in lengths.items()}
