"""A body that outlived its row: somebody else has ended the run, and the body went on.

Of how it ended nothing is recorded. When it ended is, or nobody could tell that it ran beside the next attempt.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from uuid import UUID

from routines_app.core.transitions import TERMINAL
from routines_app.models import RoutineRun
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.locks import update_if
from routines_app.protocol.ledger.timeouts import bounded

logger = logging.getLogger(__name__)


def note_body_end(run_id: UUID, seconds_ago: float = 0.0) -> None:
    """Write when the body of a run that has ended already really ended. Tries once, and never raises."""
    try:
        at = clock.now() - timedelta(seconds=seconds_ago)
        ended = RoutineRun.objects.using(ledger_alias()).filter(status__in=sorted(TERMINAL), started_at__isnull=False)
        with bounded():
            update_if(ended.filter(body_ended_at=None), [run_id], body_ended_at=at)
    except Exception:
        logger.warning("when the body of run %s ended could not be noted", run_id, exc_info=True)
