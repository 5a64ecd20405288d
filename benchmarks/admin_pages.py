"""Every page of the admin, each of its filters, orders, windows and fragments, by what it is called in the table."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from benchmarks.deployment import Deployment

LISTED = 10_000  # rows that a list counts: nobody can leaf beyond them
PER_PAGE = 50
NEXT_FIRE = 4  # the column of the list of routines

ROUTINE_LISTS: dict[str, dict[str, str] | list[tuple[str, str]]] = {
    "": {},
    "searched": {"q": "bench-77"},
    "searched, one hit": {"q": "bench-777777"},
    "searched, in every name": {"q": "bench"},
    "searched by two words": {"q": "bench-77 team-7"},
    "searched by a part, many hits": {"q": "ench-9"},
    "searched by a part, few hits": {"q": "98765"},
    "searched by two letters": {"q": "be"},
    "searched in vain": {"q": "nowhere"},
    "searched among paused": {"q": "bench-8", "status__exact": "PAUSED"},
    **{status.lower(): {"status__exact": status} for status in ("ACTIVE", "PAUSED", "PARKED", "ARCHIVED")},
    **{health: {"health": health} for health in ("failing", "late", "hinted", "shadow", "overdue")},
    **{f"by trigger {kind}": {"trigger_kind__exact": kind} for kind in ("CRON", "INTERVAL", "ONCE", "MANUAL")},
    **{f"by overlap {one}": {"concurrency_policy__exact": one} for one in ("ALLOW", "FORBID", "REPLACE", "QUEUE")},
    **{f"by priority {one}": {"priority__exact": one} for one in ("LOW", "MEDIUM", "HIGH")},
    "task not registered": {"task": "unregistered"},
    "never ran": {"ran": "never"},
    "declared in code": {"declared": "code"},
    "made here": {"declared": "database"},
    "of a pool": {"pool": "1"},
    "of no pool": {"pool": "none"},
    "of a group": {"group": "team-8"},
    "of a rare group": {"group": "rare"},
    "by a rare tag": {"tag": "rare"},
    "by a common tag": {"tag": "nightly"},
    "by two tags": [("tag", "rare"), ("tag", "nightly"), ("tags", "any")],
    "by group and tag": {"group": "rare", "tag": "rare"},
    "failing and of a pool": {"health": "failing", "pool": "1"},
}
"""What is asked of the list of routines; each in the order of names, and in that of the next fire."""

RUN_LISTS: dict[str, dict[str, str]] = {
    "": {},
    **{status.lower(): {"status": status} for status in ("PENDING", "RUNNING", "SUCCESS", "FAILED", "SKIPPED")},
    **{
        f"by trigger {one}": {"trigger": one} for one in ("schedule", "manual", "retry", "hint", "backfill", "rotation")
    },
    **{f"by reason {one}": {"reason": one} for one in ("overlap", "timeout", "exception")},
    "of a pool": {"pool": "pool-1"},
    "of a queue": {"queue": "slow"},
    "of a worker": {"worker": "worker-7@bench"},
    "of a task": {"task": "gone.tasks.old"},
    "final failures": {"final": "1"},
    "failed, by error": {"error": "KeyError: row # of table_# is not as it was"},
    "of the last hour": {"range": "hour"},
    "of last week, failed": {"range": "7d", "status": "FAILED"},
    "made days ago": {"from": "5d ago", "until": "4d ago"},
    "searched by a routine's name": {"q": "bench-0"},
    "at a slot": {"slot": "3d ago"},
}


def pages(at: Deployment) -> Iterator[tuple[str, str]]:
    """What people open."""
    yield from _routine_lists(at)
    yield from _run_lists(at)
    yield from _one_routine(at)
    yield from _one_run(at)
    yield from _others(at)


def fragments(at: Deployment) -> Iterator[tuple[str, str]]:
    """What a page asks for again and again while somebody looks at it."""
    yield "fleet, live", _url("routines_fleet_live")
    yield "fleet of a pool, live", _url("routines_fleet_live") + "?pool=pool-1"
    yield "health bar", _url("routines_health")
    yield "run, live", _url("routines_routinerun_live", _run(at, "RUNNING"))
    yield "failed run, live", _url("routines_routinerun_live", _run(at, "FAILED"))
    yield "rotation, live", _url("routines_rotation_live", _rotation(at))
    yield "backfill, live", _url("routines_routine_backfill_live", *_backfill(at))


def _routine_lists(at: Deployment) -> Iterator[tuple[str, str]]:
    listed = _url("routines_routine_changelist")
    for label, asked in ROUTINE_LISTS.items():
        given = asked if isinstance(asked, list) else [*asked.items()]
        name = f"routines, {label}" if label else "routines"
        yield name, f"{listed}?{urlencode(given)}"
        yield f"{name}, by next fire", f"{listed}?{urlencode([*given, ('o', NEXT_FIRE)])}"
    yield "routines, last by next fire", f"{listed}?o=-{NEXT_FIRE}"
    last = min(LISTED, at.count("SELECT count(*) FROM routines_routine")) // PER_PAGE
    yield "routines, last page", f"{listed}?p={last}"
    yield "routines, last page by next fire", f"{listed}?p={last}&o={NEXT_FIRE}"


def _run_lists(at: Deployment) -> Iterator[tuple[str, str]]:
    listed, busiest = _url("routines_routinerun_changelist"), _busiest(at)
    for label, asked in RUN_LISTS.items():
        yield f"runs, {label}" if label else "runs", f"{listed}?{urlencode(asked)}"
    for label, asked in RUN_LISTS.items():
        if "q" not in asked:
            query = urlencode({"routine": busiest, **asked})
            yield f"runs of the busiest routine{', ' if label else ''}{label}", f"{listed}?{query}"
    middle = at.sql("SELECT id FROM routines_routinerun ORDER BY id OFFSET 1000 LIMIT 1")[0][0]
    yield "runs, far back", f"{listed}?before={middle}"
    yield "failures by error", _url("routines_run_groups")
    yield "failures by error of a week", _url("routines_run_groups") + "?range=7d"
    yield "failures by error of the busiest routine", _url("routines_run_groups") + f"?range=7d&routine={busiest}"
    yield "retry of many", _url("routines_run_many", "retry") + "?range=7d"
    yield "cancel of many", _url("routines_run_many", "cancel") + "?pool=pool-1"


def _one_routine(at: Deployment) -> Iterator[tuple[str, str]]:
    yesterday = f"{datetime.now(UTC) - timedelta(days=1):%Y-%m-%dT%H:%M:%SZ}"
    kinds = {"routine": at.count("SELECT max(id) FROM routines_routine WHERE name LIKE 'bench-%'")}
    kinds["busiest routine"] = _busiest(at)
    for name, routine in kinds.items():
        page = _url("routines_routine_overview", routine)
        for window in ("1h", "6h", "24h", "7d", "30d"):
            yield f"{name}, {window}", f"{page}?window={window}"
        yield f"{name}, why", f"{page}?{urlencode({'why': yesterday})}"
        yield f"{name}'s form", _url("routines_routine_change", routine)
        yield f"{name}'s history", _url("routines_routine_history", routine)
        for verb in ("run", "pause", "archive", "backfill", "hint-factor"):
            yield f"{name}, {verb}", _url("routines_routine_verb", routine, verb)
    yield "copy of a routine", _url("routines_routine_copy", _busiest(at))
    yield "new routine", _url("routines_routine_add")
    yield "backfill", _url("routines_routine_backfill", *_backfill(at))


def _one_run(at: Deployment) -> Iterator[tuple[str, str]]:
    for status in ("PENDING", "RUNNING", "SUCCESS", "FAILED"):
        yield f"{status.lower()} run", _url("routines_routinerun_change", _run(at, status))
    retry = at.sql("SELECT id FROM routines_routinerun WHERE chain IS NOT NULL ORDER BY id DESC LIMIT 1")[0][0]
    yield "retry", _url("routines_routinerun_change", retry)
    yield "run, cancel", _url("routines_routinerun_cancel", _run(at, "PENDING"))


def _others(at: Deployment) -> Iterator[tuple[str, str]]:
    rotation, pool = _rotation(at), at.count("SELECT min(id) FROM routines_pool")
    batch = at.count("SELECT min(id) FROM routines_pausebatch")
    yield "index", _url("index")
    yield "fleet", _url("routines_fleet")
    yield "fleet of a pool", _url("routines_fleet") + "?pool=pool-1"
    for label, asked in {"": {}, "of a day": {"window": "1d"}}.items():
        for whose, chosen in {"": {}, "of a pool": {"pool": "pool-1"}, "of a tag": {"tag": "nightly"}}.items():
            name = " ".join(filter(None, ("agenda", label, whose)))
            yield name, f"{_url('routines_agenda')}?{urlencode(asked | chosen)}"
    yield "agenda of a queue", _url("routines_agenda") + "?queue=slow"
    yield "plan of leases", _url("routines_plan")
    yield "plan of leases of a pool", _url("routines_plan") + "?pool=pool-1"
    yield "clear overrides", _url("routines_fleet_verb", "clear-overrides")
    yield "batches", _url("routines_batches")
    yield "batch", _url("routines_batch", batch)
    yield "new batch", f"{_url('routines_batch_new')}?{urlencode({'filter': 'status__exact=ACTIVE'})}"
    yield "new batch of a search", f"{_url('routines_batch_new')}?{urlencode({'filter': 'q=bench-77'})}"
    yield "pools", _url("routines_pool_changelist")
    yield "pool", _url("routines_pool_change", pool)
    yield "drain a pool", _url("routines_pool_verb", pool, "drain")
    yield "rotations", _url("routines_rotation_changelist")
    for window in ("24h", "7d", "30d"):
        yield f"rotation, {window}", _url("routines_rotation_overview", rotation) + f"?window={window}"
    yield "rotation, members by name", _url("routines_rotation_overview", rotation) + "?q=member%2049"
    yield "rotation, owed members", _url("routines_rotation_overview", rotation) + "?status=owed"
    yield "rotation's form", _url("routines_rotation_change", rotation)
    yield "new rotation", _url("routines_rotation_add")


def _url(name: str, *args: Any) -> str:
    from django.urls import reverse

    return reverse(f"admin:{name}", args=args)


def _busiest(at: Deployment) -> int:
    return at.count("SELECT id FROM routines_routine WHERE name = 'bench-0'")


def _backfill(at: Deployment) -> tuple[Any, ...]:
    """The routine, and the name of the batch."""
    newest = "FROM routines_routinerun WHERE trigger = 'backfill' ORDER BY id DESC LIMIT 1"
    return at.sql(f"SELECT routine_id, split_part(idempotency_key, ':', 2) {newest}")[0]


def _rotation(at: Deployment) -> int:
    return at.count("SELECT min(routine_id) FROM routines_rotation")


def _run(at: Deployment, status: str) -> str:
    newest = "SELECT id FROM routines_routinerun WHERE status = %s ORDER BY id DESC LIMIT 1"
    return str(at.sql(newest, status)[0][0])
