"""The record that django-celery-results keeps of a run, under the run's id and with the routine's name."""

from __future__ import annotations

import json
import logging
from functools import lru_cache
from typing import Any

from django.apps import apps
from django.db import connections, router
from django.utils import timezone

from routines_app.conf import get_settings
from routines_app.core.words import RunStatus
from routines_app.protocol.database import is_postgresql, sql
from routines_app.protocol.facts import RunFacts
from routines_app.protocol.outcome import Outcome

logger = logging.getLogger(__name__)

STATES = {RunStatus.SUCCESS: "SUCCESS", RunStatus.FAILED: "FAILURE", RunStatus.CANCELLED: "REVOKED"}


def write(run: RunFacts, outcome: Outcome, status: RunStatus) -> None:
    """Store the record. A copy must not disturb the original: what fails here is logged."""
    if not get_settings().mirror_results or not _installed():
        return
    try:
        _store(_record(run, outcome, status))
    except Exception:
        logger.exception("the result of run %s could not be mirrored to django-celery-results", run.id)


@lru_cache(maxsize=1)
def _installed() -> bool:
    return apps.is_installed("django_celery_results")


def _record(run: RunFacts, outcome: Outcome, status: RunStatus) -> dict[str, Any]:
    now = timezone.now()
    return {
        "task_id": str(run.id),
        "periodic_task_name": run.routine_name,
        "task_name": run.task,
        "task_args": json.dumps(run.args),
        "task_kwargs": json.dumps(run.kwargs),
        "status": STATES[status],
        "worker": run.worker[:100],
        "content_type": "application/json",
        "content_encoding": "utf-8",
        "result": _result(outcome, status),
        "traceback": outcome.traceback or None,
        "meta": '{"children": []}',
        "date_created": run.started_at or now,
        "date_started": run.started_at,
        "date_done": now,
    }


def _result(outcome: Outcome, status: RunStatus) -> str:
    """What Celery's own JSON backend would have stored."""
    if status == RunStatus.SUCCESS:
        return outcome.result or "null"
    name = outcome.exception_names[0] if outcome.exception_names else str(outcome.reason)
    module = outcome.exception_names[1].rpartition(".")[0] if len(outcome.exception_names) > 1 else "builtins"
    return json.dumps({"exc_type": name, "exc_message": [outcome.error], "exc_module": module})


def _store(record: dict[str, Any]) -> None:
    from django_celery_results.models import TaskResult

    alias = router.db_for_write(TaskResult)
    if is_postgresql(alias):
        with connections[alias].cursor() as cursor:
            cursor.execute(sql("mirror_result"), record)
        return
    TaskResult.objects.using(alias).update_or_create(task_id=record.pop("task_id"), defaults=record)
