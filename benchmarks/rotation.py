"""Rotation: what a tick costs with 1,000 and with 100,000 members, and adding 10,000 of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.bench import Bench
from benchmarks.deployment import Deployment
from benchmarks.figures import Figure, ours_at_most, ratio_at_most
from benchmarks.tasks import EMPTY

OWED = 500
BUDGET = 10
TICKS = 30
MOVING = 20
"""Members that become due at each tick, and as many whose ticks after a failure are over."""

_MEMBERS = """
WITH created AS (
    INSERT INTO routines_routine (
        name, tags, task, args, kwargs, trigger_kind, concurrency_policy, rotation_id, phases, retry_for, no_retry_for,
        created_at, updated_at
    )
    SELECT %(name)s || '-' || n, '[]', %(task)s, '[]', '{}', 'MANUAL', 'FORBID', %(rotation)s, '[]', '[]', '[]', now(),
           now()
    FROM generate_series(1, %(count)s) AS n
    RETURNING id, split_part(name, '-', 2)::int AS n
), planned AS (
    INSERT INTO routines_routinestate (routine_id, next_source) SELECT id, 'manual' FROM created
)
INSERT INTO routines_rotationmember (
    routine_id, rotation_id, status, phase, failures, attempted_at, stale_since, due_at, retry_tick
)
SELECT id, %(rotation)s, status, CASE WHEN %(moving)s > 0 THEN n %% 3 ELSE 0 END,
       CASE WHEN status = 'FAILED' THEN 1 + n %% 5 ELSE 0 END,
       now() - n * interval '1 second', now() - n * interval '1 second',
       CASE WHEN status = 'FRESH' AND n <= %(owed)s + 2 * %(ticks)s * %(moving)s
            THEN now() + (n - %(owed)s) %% %(ticks)s * interval '30 minutes'
            WHEN status = 'FRESH' THEN now() + interval '30 days' END,
       CASE WHEN status = 'FAILED' THEN 1 + (n - %(owed)s) %% %(ticks)s END
FROM (
    SELECT id, n, CASE WHEN n <= %(owed)s THEN 'OWED' WHEN n <= %(owed)s + %(ticks)s * %(moving)s THEN 'FAILED'
                       ELSE 'FRESH' END AS status
    FROM created
) AS members
"""


@dataclass(frozen=True)
class Cost:
    """Of a tick: the median of many."""

    ms: float
    statements: float


def measure(bench: Bench) -> Iterator[Figure]:
    few, many = bench.size((1_000, 100_000), (1_000, 10_000))
    bench.progress.begin(f"rotation: ticks of {few:,} and {many:,} members")
    with bench.deployment() as at, at.orm():
        small, large = tick_cost(at, "few", few, OWED), tick_cost(at, "many", many, OWED)
        owed = tick_cost(at, "owed", many, many)
        moving = tick_cost(at, "moving", many, OWED, MOVING)
    against = f"{few:,} members, {OWED} owed"
    what = f"rotation: a tick that picks {BUDGET} of {many:,} members"
    yield Figure(
        name=f"{what}, {OWED} owed", ours=large.ms, unit="ms", peer=small.ms, against=against, bar=ratio_at_most(1.5)
    )
    yield Figure(name=f"{what}, all owed", ours=owed.ms, unit="ms", peer=small.ms, against=against)
    yield Figure(
        name=f"{what} of three phases, {MOVING} due and {MOVING} failed ones again owed at each",
        ours=moving.ms,
        unit="ms",
        peer=small.ms,
        against=against,
        bar=ratio_at_most(3),
    )
    yield Figure(name="rotation: statements of such a tick", ours=moving.statements, unit="", peer=small.statements)
    yield Figure(name="rotation: statements of a tick", ours=large.statements, unit="", peer=small.statements)
    count = bench.size(10_000, 1_000)
    bench.progress.begin(f"rotation: adding {count:,} members")
    with bench.deployment() as at, at.orm():
        seconds, statements = adding(count)
    yield Figure(name=f"rotation: adding {count:,} members", ours=seconds, unit="s", bar=ours_at_most(60))
    yield Figure(name=f"rotation: statements to add {count:,}", ours=statements, unit="")


def tick_cost(at: Deployment, name: str, members: int, owed: int, moving: int = 0) -> Cost:
    """As a beat's claim does it, at one tick after another; what it sends is not sent."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    from routines_app import service
    from routines_app.models import RoutineState
    from routines_app.protocol.claim.claim import claim_due

    phases = [{"name": f"phase {number}", "task": EMPTY} for number in range(3)] if moving else []
    rotation = service.create_rotation(
        name, budget=BUDGET, max_in_flight=members, task=EMPTY, phases=phases, allow_unknown_task=True
    )
    facts = {"name": name, "task": EMPTY, "rotation": rotation.pk, "count": members, "owed": owed}
    at.database.execute(_MEMBERS, facts | {"ticks": TICKS, "moving": moving})
    at.sql("VACUUM ANALYZE")
    found, statements = [], []
    for _ in range(TICKS):
        now = RoutineState.objects.get(pk=rotation.pk).next_run_at
        assert now is not None
        with CaptureQueriesContext(connection) as asked:
            began = time.perf_counter()
            claim_due(now)
            found.append((time.perf_counter() - began) * 1000)
        statements.append(len(asked))
    picked = at.count("SELECT count(*) FROM routines_routinerun WHERE rotation_id = %s", rotation.pk)
    if picked != TICKS * BUDGET:
        raise RuntimeError(f"{TICKS} ticks of {name} picked {picked} members")
    again = at.count(
        "SELECT count(*) FROM routines_rotationmember WHERE rotation_id = %s AND status = 'OWED'", rotation.pk
    )
    if moving and again < owed + (2 * moving - BUDGET) * TICKS - 4 * moving:
        raise RuntimeError(f"{again} members of {name} are owed after {TICKS} ticks: too few have become so")
    service.pause_rotation(rotation)
    return Cost(statistics.median(found), statistics.median(statements))


def adding(count: int) -> tuple[float, int]:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    from routines_app import service

    rotation = service.create_rotation("new", task=EMPTY, allow_unknown_task=True)
    members = [service.Member(name=f"new {number}", args=[number]) for number in range(count)]
    with CaptureQueriesContext(connection) as asked:
        began = time.perf_counter()
        added = service.add_members(rotation, members, allow_unknown_task=True)
        seconds = time.perf_counter() - began
    if added.created != count:
        raise RuntimeError(f"{added.created} of {count} members were added")
    return seconds, len(asked)
