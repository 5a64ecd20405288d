"""A fleet that is filled by the million in minutes, and skewed as fleets are.

What is rare, and where it stands, is what lists are slow at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from benchmarks.deployment import Deployment
from benchmarks.tasks import EMPTY

SQL = Path(__file__).parent / "sql"
POOLS = 10
ACTIVE = 12_000  # runs that wait or run, at most
MEMBERS = 5_000  # of one rotation, at most
TABLES = ("routines_routine", "routines_routinestate", "routines_routinerun")

_RUN_ID = """
CREATE FUNCTION pg_temp.run_id(n bigint, made timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
SELECT (lpad(to_hex((extract(epoch FROM made) * 1000)::bigint), 12, '0') || '7' || substr(md5(n::text), 1, 3)
        || '8' || substr(md5(n::text), 4, 15))::uuid
$$
"""
_INDEXES = """
SELECT indexdef, indexname FROM pg_indexes WHERE tablename = ANY(%s)
AND indexname NOT IN (SELECT conname FROM pg_constraint)
"""


def fill(at: Deployment, routines: int, runs: int, say: Callable[[str], None]) -> None:
    """In minutes: constraints that hold by themselves are not asked, and indexes are made at the end."""
    at.sql(
        f"INSERT INTO routines_pool (name, max_concurrent) SELECT 'pool-' || n, 50 FROM generate_series(1, {POOLS}) n"
    )
    facts = {"count": routines, "routines": routines, "task": EMPTY}
    with _without_indexes(at, say):
        say(f"{routines:,} routines")
        _run(at, "skewed_routines", facts)
        _run(at, "skewed_states", {})
        say(f"{runs:,} runs")
        at.sql(_RUN_ID)
        _run(at, "skewed_runs", facts | {"count": runs, "active": min(ACTIVE, runs // 10)})
    say("all else")
    _run(at, "skewed_rest", None)
    _add_rotation(min(MEMBERS, routines // 10))
    _add_backfill()
    say("statistics")
    at.sql("VACUUM ANALYZE")


@contextmanager
def _without_indexes(at: Deployment, say: Callable[[str], None]) -> Iterator[None]:
    made = at.sql(_INDEXES, list(TABLES))
    at.sql("SET session_replication_role = replica")  # foreign keys
    at.sql("SET maintenance_work_mem = '1GB'")
    for _, name in made:
        at.sql(f"DROP INDEX {name}")
    yield
    for definition, name in made:
        say(f"index {name}")
        at.sql(definition)
    at.sql("SET session_replication_role = origin")


def _run(at: Deployment, name: str, facts: dict[str, Any] | None) -> None:
    at.database.execute((SQL / f"{name}.sql").read_bytes(), facts)


def _add_rotation(members: int) -> None:
    from routines_app import service

    rotation = service.create_rotation("rotation", task=EMPTY, allow_unknown_task=True)
    named = [service.Member(name=f"member {number}", args=[number]) for number in range(members)]
    service.add_members(rotation, named, allow_unknown_task=True)


def _add_backfill() -> None:
    """A day of a routine that fires every five minutes."""
    from routines_app import service

    now = service.now()
    service.backfill("bench-4", now - timedelta(days=1), now)
