"""Sentry Crons: the runs of a cron or interval routine are check-ins of the monitor with the routine's name.

Sentry's SDK begins check-ins where Celery's beat sends an entry, which ours does not. It ends them when the task ends,
by what it has left in the headers of the task's request. So a check-in begins here, with the body, and the headers say
what the SDK wants to know at the end. All of that only in a process that has set up the SDK with `monitor_beat_tasks`:
it is not imported here, and does not have to be installed.
"""

from __future__ import annotations

import logging
import sys
import time
from typing import Any, NamedTuple

from routines_app.core.words import TriggerKind
from routines_app.models import Routine
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.record.facts import RunFacts

logger = logging.getLogger(__name__)

UNITS = (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000))  # in milliseconds; Sentry knows no shorter ones
CRON_FIELDS = 5
SLOT = "s:"  # how the key of a scheduled run and of its retries begins: others do not come when Sentry expects one


class Schedule(NamedTuple):
    kind: str
    cron: str
    interval_ms: int | None
    timezone: str


def begin(facts: RunFacts) -> dict[str, Any]:
    """Begin the run's check-in; the headers by which Sentry ends it. None where nobody watches, which costs nothing."""
    if "sentry_sdk" not in sys.modules or not facts.idempotency_key.startswith(SLOT):
        return {}
    try:
        return _begin(facts) if _watches(facts.routine_name) else {}
    except Exception as error:  # noqa: BLE001 - whatever the SDK raises, or the database: it is not the run's business
        logger.warning("no check-in for run %s: %r", facts.id, error)
        return {}


def _watches(name: str) -> bool:
    sdk: Any = sys.modules["sentry_sdk"]
    integration = sdk.get_client().get_integration("celery")
    if integration is None or not integration.monitor_beat_tasks:
        return False
    return not sdk.utils.match_regex_list(name, integration.exclude_beat_tasks)


def _begin(facts: RunFacts) -> dict[str, Any]:
    config = monitor_config(_schedule_of(facts.routine_id))
    if config is None:
        return {}
    crons: Any = sys.modules["sentry_sdk.crons"]
    check_in = {"monitor_slug": facts.routine_name, "monitor_config": config}
    check_in_id = crons.capture_checkin(**check_in, status=crons.MonitorStatus.IN_PROGRESS)
    return {
        "sentry-monitor-slug": facts.routine_name,
        "sentry-monitor-config": config,
        "sentry-monitor-check-in-id": check_in_id,
        "sentry-monitor-start-timestamp-s": f"{time.time():.9f}",  # Sentry compares it with the same clock
    }


def _schedule_of(routine_id: int) -> Schedule:
    routines = Routine.objects.using(ledger_alias()).filter(pk=routine_id)
    return Schedule(*routines.values_list("trigger_kind", "cron", "interval_ms", "timezone").get())


def monitor_config(schedule: Schedule) -> dict[str, Any] | None:
    """The schedule in Sentry's words; None for one that it cannot follow: Sentry counts in whole minutes."""
    found = _crontab(schedule.cron) if schedule.kind == TriggerKind.CRON else _interval(schedule.interval_ms)
    return None if found is None else {"schedule": found, "timezone": schedule.timezone}


def _crontab(cron: str) -> dict[str, Any] | None:
    fields = cron.split()
    if len(fields) == CRON_FIELDS + 1 and fields[0] in ("0", "00"):
        fields = fields[1:]
    if len(fields) != CRON_FIELDS and not cron.startswith("@"):
        return None
    return {"type": "crontab", "value": " ".join(fields)}


def _interval(interval_ms: int | None) -> dict[str, Any] | None:
    for unit, length in UNITS:
        if interval_ms and interval_ms % length == 0:
            return {"type": "interval", "value": interval_ms // length, "unit": unit}
    return None
