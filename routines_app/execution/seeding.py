"""The Celery task of a rotation's own routine: a worker seeds the rotation, beside the tick that asked for it.

Whatever somebody's callable does, it does it here and to this run alone: its tick has picked already.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from celery import shared_task

from routines_app.core.errors import NotAllowed
from routines_app.core.rotation import TICK_TASK
from routines_app.models import RoutineRun
from routines_app.protocol.claim.tick import fill
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.record.changes import WORKER
from routines_app.protocol.run.current import CurrentRun, current_run
from routines_app.verbs.rotations.seed import seed_rotation


@shared_task(name=TICK_TASK)  # type: ignore[untyped-decorator, unused-ignore]
def seed() -> dict[str, Any]:
    """Seed the rotation whose run this is; then its tick may pick of what is new. Returns the counts of both."""
    run = current_run()
    if run is None:
        raise NotAllowed("task", TICK_TASK, "only a rotation's tick asks for it: use tick_rotation or seed_rotation")
    seeded = seed_rotation(run.routine_id, actor=WORKER, progress=run.progress)
    picked = _let_tick_pick(run) if seeded.created or seeded.revived else 0
    return asdict(seeded) | {"picked": picked}


def _let_tick_pick(run: CurrentRun) -> int:
    """Its tick has looked before there was anybody: what it had left to pick, it picks now."""
    runs = RoutineRun.objects.using(ledger_alias()).filter(pk=run.id)
    tick = runs.values_list("tick", flat=True).first()
    return 0 if tick is None else fill(tick, clock.now())
