"""Tables filled by the million: routines, the peers' entries, history."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import redis
from celery.schedules import schedule
from redbeat.decoder import RedBeatJSONEncoder

from benchmarks.deployment import Deployment
from benchmarks.tasks import EMPTY
from routines_app.core.fingerprint import schedule_fingerprint

DAY_SECONDS = 86_400
SPREAD_POOLS = 10

_ROUTINES = """
INSERT INTO routines_routine (
    name, tags, task, args, kwargs, trigger_kind, interval_ms, concurrency_policy, pool_id, end_at, keep_result,
    retry_delay_ms, retry_for, no_retry_for, created_at, updated_at
)
SELECT 'bench-' || n, '[]', %(task)s, CASE WHEN %(number)s THEN jsonb_build_array(n) ELSE '[]' END, '{}', 'INTERVAL',
       %(interval_ms)s, %(policy)s,
       CASE WHEN %(pooled)s THEN (SELECT min(id) FROM routines_pool) + n %% %(pools)s END, %(end_at)s, true,
       100, '[]', '[]', now(), now()
FROM generate_series(0, %(count)s - 1) AS n
"""
_STATES = """
INSERT INTO routines_routinestate (
    routine_id, last_slot, grid_from, next_slot, slot_source, next_run_at, next_source, fingerprint
)
SELECT id, slot - %(interval_ms)s * interval '1 ms', slot, slot,
       'baseline-interval', slot, 'baseline-interval', %(fingerprint)s
FROM routines_routine,
     LATERAL (SELECT %(first)s + substr(name, 7)::bigint * %(step_ms)s * interval '1 ms' AS slot) AS planned
WHERE name LIKE 'bench-%%'
"""
_ENTRIES = """
INSERT INTO django_celery_beat_periodictask (
    name, task, args, kwargs, interval_id, last_run_at, enabled, one_off, total_run_count, date_changed, description,
    headers
)
SELECT 'bench-' || n, %(task)s, '[]', '{}', %(interval_id)s,
       %(first)s + n * %(step_ms)s * interval '1 ms' - %(interval_ms)s * interval '1 ms',
       true, false, 0, now(), '', '{}'
FROM generate_series(0, %(count)s - 1) AS n
"""


def number_of(name: str) -> int:
    """The place of a routine or entry among its kind; its first slot is that many steps after the first one's."""
    return int(name.rpartition("-")[2])


def add_routines(
    at: Deployment,
    count: int,
    *,
    first: float,
    step_ms: float = 0,
    interval_seconds: int = DAY_SECONDS,
    policy: str = "ALLOW",
    pooled: bool = False,
    task: str = EMPTY,
    number: bool = False,
    end: float | None = None,
) -> None:
    """So many interval routines; the first is due at `first` (epoch seconds), each other one a step later.

    `number` gives each its place as its task's argument.
    """
    if pooled:
        ceiling = -(-count // SPREAD_POOLS)
        rows = "SELECT 'pool-' || n, %s FROM generate_series(1, %s) AS n"
        at.sql(f"INSERT INTO routines_pool (name, max_concurrent) {rows}", ceiling, SPREAD_POOLS)
    end_at = None if end is None else moment(end)
    facts: dict[str, Any] = {
        "count": count,
        "first": moment(first),
        "step_ms": step_ms,
        "interval_ms": interval_seconds * 1000,
        "policy": policy,
        "pooled": pooled,
        "pools": SPREAD_POOLS,
        "task": task,
        "number": number,
        "end_at": end_at,
        "fingerprint": _fingerprint(interval_seconds * 1000, end_at),
    }
    at.database.execute(_ROUTINES, facts)
    at.database.execute(_STATES, facts)
    at.sql("VACUUM ANALYZE routines_routine, routines_routinestate")


def _fingerprint(interval_ms: int, end_at: datetime | None) -> str:
    return schedule_fingerprint(
        trigger_kind="INTERVAL",
        cron="",
        interval_ms=interval_ms,
        once_at=None,
        timezone="UTC",
        start_at=None,
        end_at=end_at,
        min_interval_ms=None,
        max_interval_ms=None,
    )


def add_django_celery_beat_entries(
    at: Deployment, count: int, *, first: float, step_ms: float = 0, interval_seconds: int = DAY_SECONDS
) -> None:
    """The same schedule as `add_routines` makes, as django-celery-beat's entries."""
    new = "INSERT INTO django_celery_beat_intervalschedule (every, period) VALUES (%s, 'seconds') RETURNING id"
    facts = {
        "count": count,
        "first": moment(first),
        "step_ms": step_ms,
        "interval_ms": interval_seconds * 1000,
        "interval_id": at.count(new, interval_seconds),
        "task": EMPTY,
    }
    at.database.execute(_ENTRIES, facts)
    at.sql("INSERT INTO django_celery_beat_periodictasks VALUES (1, now()) ON CONFLICT DO NOTHING")
    at.sql("VACUUM ANALYZE django_celery_beat_periodictask")


def add_redbeat_entries(
    client: redis.Redis, count: int, *, first: float, step_ms: float = 0, interval_seconds: int = DAY_SECONDS
) -> None:
    """The same schedule as `add_routines` makes, as redbeat's entries."""
    every = timedelta(seconds=interval_seconds)
    pipeline = client.pipeline(transaction=False)
    for number in range(count):
        slot = moment(first + number * step_ms / 1000)
        key, definition = f"redbeat:bench-{number}", _redbeat_definition(f"bench-{number}", every)
        pipeline.hset(key, mapping={"definition": definition, "meta": _redbeat_meta(slot - every)})
        pipeline.zadd("redbeat::schedule", {key: slot.timestamp()})
        if number % 1000 == 999:
            pipeline.execute()
    pipeline.execute()


def _redbeat_definition(name: str, every: timedelta) -> str:
    definition = {
        "name": name,
        "task": EMPTY,
        "args": [],
        "kwargs": {},
        "options": {"shadow": name},
        "schedule": schedule(every),
        "enabled": True,
    }
    return json.dumps(definition, cls=RedBeatJSONEncoder)


def _redbeat_meta(last_run_at: datetime) -> str:
    return json.dumps({"last_run_at": last_run_at, "total_run_count": 0}, cls=RedBeatJSONEncoder)


def moment(epoch_seconds: float) -> datetime:
    return datetime.fromtimestamp(epoch_seconds, tz=UTC)
