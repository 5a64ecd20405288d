"""The record that django-celery-results keeps of a run, under the run's id and with the routine's name.

Others read and search these records, so secrets are masked in them; the ledger's own columns keep what they were given.
"""

from __future__ import annotations

import json
import logging
from contextlib import nullcontext
from functools import lru_cache
from typing import Any

from django.apps import apps
from django.db import connections, router

from routines_app.conf import get_settings
from routines_app.core.words import RunStatus
from routines_app.masks import masked, masked_json, masked_line
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import is_postgresql, sql
from routines_app.protocol.ledger.database_errors import retrying_conflicts
from routines_app.protocol.ledger.prepared import run_statement
from routines_app.protocol.ledger.timeouts import bounded
from routines_app.protocol.record.facts import RunFacts
from routines_app.protocol.record.outcome import Outcome

logger = logging.getLogger(__name__)

STATES = {RunStatus.SUCCESS: "SUCCESS", RunStatus.FAILED: "FAILURE", RunStatus.CANCELLED: "REVOKED"}
_STANDALONE = "(SELECT %(ended_status)s::text AS status) AS ended"


def is_wanted(run: RunFacts, outcome: Outcome) -> bool:
    """Whether this run has a record at all."""
    return outcome.mirrored and run.keep_result and get_settings().mirror_results and _installed()


def write(run: RunFacts, outcome: Outcome, status: RunStatus, *, limited: bool = False) -> None:
    """Store the record. A copy must not disturb the original: what fails here is logged.

    `limited`: for a beat, who does not wait for a record that somebody holds.
    """

    def store() -> None:
        with bounded(using=_alias()) if limited else nullcontext():
            _store(_record(run, outcome), status)

    try:
        retrying_conflicts(store)
    except Exception:
        logger.exception("the result of run %s could not be mirrored to django-celery-results", run.id)


def in_finish(alias: str, run: RunFacts, outcome: Outcome) -> tuple[str, dict[str, Any]] | None:
    """The part of the finish statement that stores the record, and its arguments.

    None where it cannot be part of it: the records are in another database, or what a wrong record would spoil is a
    transaction of the caller's.
    """
    if not is_wanted(run, outcome) or _alias() != alias or connections[alias].in_atomic_block:
        return None
    try:
        return f", mirrored AS ({_statement('ended')})", _arguments(_record(run, outcome))
    except Exception:
        logger.exception("the result of run %s cannot be mirrored to django-celery-results", run.id)
        return None


@lru_cache(maxsize=1)
def _installed() -> bool:
    return apps.is_installed("django_celery_results")


def _alias() -> str:
    from django_celery_results.models import TaskResult

    return router.db_for_write(TaskResult)


def _record(run: RunFacts, outcome: Outcome) -> dict[str, Any]:
    now = clock.now()
    return _told(run, outcome) | {
        "task_id": str(run.id),
        "periodic_task_name": run.routine_name,
        "task_name": run.task,
        "worker": run.worker[:100],
        "meta": '{"children": []}',
        "date_created": run.started_at or now,
        "date_started": run.started_at,
        "date_done": now,
    }


def _told(run: RunFacts, outcome: Outcome) -> dict[str, Any]:
    """What the run was given and what came of it, without secrets unless the project wants them there."""
    if get_settings().mirror_secrets:
        args, kwargs, result, traceback = run.args, run.kwargs, _result(outcome), outcome.traceback
    else:
        args, kwargs = masked(run.args), masked(run.kwargs)
        result, traceback = masked_json(_result(outcome)), masked_line(outcome.traceback)
    return {
        "task_args": json.dumps(args),
        "task_kwargs": json.dumps(kwargs),
        "result": result,
        "traceback": traceback or None,
    }


def _result(outcome: Outcome) -> str:
    """What Celery's own JSON backend would have stored. A success stays one, whoever has asked the run to stop."""
    if outcome.status == RunStatus.SUCCESS:
        return outcome.result or "null"
    name = outcome.exception_names[0] if outcome.exception_names else str(outcome.reason)
    module = outcome.exception_names[1].rpartition(".")[0] if len(outcome.exception_names) > 1 else "builtins"
    return json.dumps({"exc_type": name, "exc_message": [outcome.error], "exc_module": module})


def _store(record: dict[str, Any], status: RunStatus) -> None:
    alias = _alias()
    store = _store_in_one_statement if is_postgresql(alias) else _store_portably
    store(alias, record, status)


def _store_in_one_statement(alias: str, record: dict[str, Any], status: RunStatus) -> None:
    run_statement(alias, _statement(_STANDALONE), _arguments(record) | {"ended_status": status.value})


def _store_portably(alias: str, record: dict[str, Any], status: RunStatus) -> None:
    from django_celery_results.models import TaskResult

    records = TaskResult.objects.using(alias)
    task_id, times = record.pop("task_id"), {"date_done": record.pop("date_done")}
    created_at = record.pop("date_created")
    record |= {"status": STATES[status], "content_type": "application/json", "content_encoding": "utf-8"}
    is_new = not records.filter(task_id=task_id).exists()
    # Not `update_or_create`: it locks the place where no record is yet, and of two who insert beside each other there
    # MariaDB ends one as a deadlock.
    records.bulk_create(
        [TaskResult(task_id=task_id, **record)],
        update_conflicts=True,
        update_fields=sorted(record),
        unique_fields=["task_id"] if connections[alias].features.supports_update_conflicts_with_target else None,
    )
    if is_new:
        times["date_created"] = created_at
    # The model has put this machine's present there, as it would whatever it is given.
    records.filter(task_id=task_id).update(**times)


def _statement(ended: str) -> str:
    return sql("end/mirror_result").replace("{ended}", ended)


def _arguments(record: dict[str, Any]) -> dict[str, Any]:
    return {f"mirror_{name}": value for name, value in record.items()}
