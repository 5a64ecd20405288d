"""`task_always_eager`: a run starts and finishes inline, without a broker, a beat or Redis."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from celery import current_app

from routines_app.coordination.envelope import EXECUTE_TASK

logger = logging.getLogger(__name__)


def is_eager() -> bool:
    return bool(current_app.conf.task_always_eager)


def run_inline(run_ids: Iterable[str]) -> None:
    """Execute these runs here and now, one after another, as a worker would: by the carrier's own tracer."""
    task: Any = current_app.tasks[EXECUTE_TASK]
    for run_id in run_ids:
        request = {"id": run_id, "is_eager": True, "delivery_info": {"is_eager": True}}
        try:
            task.__trace__(run_id, (run_id,), {}, request)
        except Exception:
            if current_app.conf.task_eager_propagates:
                raise
            logger.exception("run %s could not be executed inline", run_id)
