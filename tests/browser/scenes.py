"""Real-looking data for the admin's tests and pictures, written with the ORM: no beat and no worker runs here."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

from django.urls import reverse

from routines_app import service
from routines_app.coordination import leases
from routines_app.core.keys import uuid7_int
from routines_app.models import ChangeKind, Node, Pool, Role, Routine, RoutineRun, RoutineState, RunLog, ScheduleChange
from routines_app.protocol.ledger import clock
from routines_app.protocol.plan.planning import replan

TASK = "tests.acceptance.tasks.note"
MINUTE = timedelta(minutes=1)

dice = Random()  # not everybody's: who seeds that gives free ports out twice


def make_routine(name: str = "nightly-report", **fields: Any) -> Routine:
    """A routine with a planned state."""
    defaults: dict[str, Any] = {"task": TASK, "trigger_kind": "CRON", "cron": "0 9 * * 1-5", "timezone": "Europe/Paris"}
    if fields.get("interval_ms"):
        defaults |= {"trigger_kind": "INTERVAL", "cron": ""}
    routine = Routine.objects.create(name=name, **(defaults | fields))
    state = RoutineState(routine=routine)
    replan(routine, state, clock.now())
    state.save(force_insert=True)
    return routine


def make_run(routine: Routine, *, at: datetime, **fields: Any) -> RoutineRun:
    """A run whose slot is `at`; the id carries that time, as it would have."""
    number = dice.getrandbits(74)
    defaults: dict[str, Any] = {
        "pk": UUID(int=uuid7_int(int(at.timestamp() * 1000), number)),
        "task": routine.task,
        "scheduled_for": at,
        "eligible_at": at,
        "idempotency_key": f"test:{number}",
    }
    return RoutineRun.objects.create(routine=routine, **(defaults | fields))


def ended(
    routine: Routine, at: datetime, seconds: float = 2.0, status: str = "SUCCESS", late: float = 0.05, **fields: Any
) -> RoutineRun:
    """A run that started a little late and took some seconds."""
    started = at + timedelta(seconds=late)
    done = started + timedelta(seconds=seconds)
    times = {"admitted_at": at, "dispatched_at": at, "started_at": started, "completed_at": done}
    return make_run(routine, at=at, status=status, **({"worker": "worker@web-1"} | times | fields))


def a_working_day() -> Routine:
    """A dozen routines with a day of history, and a fleet; returns the routine that is best to look at."""
    dice.seed(7)
    now = clock.now()
    warehouse = Pool.objects.create(name="warehouse", max_concurrent=4)
    Pool.objects.create(name="mail", max_concurrent=10)
    sync = make_routine(
        "sync-orders",
        task="shop.tasks.sync_orders",
        interval_ms=600_000,
        description="Pulls new orders from the shop into the warehouse.",
        tags=["orders", "shop"],
        concurrency_policy="FORBID",
        pool=warehouse,
        priority="HIGH",
        kwargs={"shop": "eu-1", "api_key": "k-123", "since_minutes": 15},
    )
    _history(sync, now, every=10 * MINUTE, count=140, seconds=24, spread=10, failing=0.06)
    _hinted(sync, now)
    make_run_with_retry(sync, now - 47 * MINUTE)
    _described(now, warehouse)
    _running(sync, now)
    _queue(now)
    _fleet(now)
    return sync


def backfilled(routine: Routine) -> str:
    """The page of a backfill."""
    runs = service.backfill(routine, clock.now() - timedelta(hours=12), clock.now())
    return reverse("admin:routines_routine_backfill", args=[routine.pk, service.batch_of(runs[0].idempotency_key)])


def make_run_with_retry(routine: Routine, at: datetime) -> None:
    """A chain: failed, failed, succeeded."""
    first = ended(routine, at, 8, "FAILED", reason="exception", error="ConnectionError: shop did not answer")
    second = ended(
        routine,
        at + 2 * MINUTE,
        9,
        "FAILED",
        reason="timeout",
        attempt=2,
        chain=first.pk,
        retry_of=first,
        trigger="retry",
    )
    ended(routine, at + 6 * MINUTE, 21, attempt=3, chain=first.pk, retry_of=second, trigger="retry")


def _history(
    routine: Routine,
    now: datetime,
    *,
    every: timedelta,
    count: int,
    seconds: float,
    spread: float,
    failing: float = 0.0,
) -> None:
    source = "baseline-interval" if routine.interval_ms else "baseline-cron"
    for step in range(count, 0, -1):
        at = now - step * every
        chance = dice.random()
        length = max(0.05, dice.gauss(seconds, spread / 2))
        if chance < failing:
            why: dict[str, Any] = {"reason": "exception", "error": "ConnectionError: shop did not answer"}
            ended(routine, at, length / 2, "FAILED", source=source, **why)
        elif chance < failing * 1.6:
            make_run(routine, at=at, status="SKIPPED", reason="overlap", completed_at=at, source=source)
        else:
            late = abs(dice.gauss(0.08, 0.06))
            ended(routine, at, length, late=late, result={"orders": step}, source=source)
    RoutineState.objects.filter(pk=routine.pk).update(last_run_at=now - every, last_success_at=now - every)


def _hinted(routine: Routine, now: datetime) -> None:
    """An hour at another pace, three hours ago."""
    for minutes in range(178, 120, -2):
        if minutes % 10:
            ended(routine, now - minutes * MINUTE, 9, source="hint-interval")
    RoutineRun.objects.filter(routine=routine, scheduled_for__range=(now - 178 * MINUTE, now - 121 * MINUTE)).update(
        source="hint-interval"
    )
    for kind, minutes, reason in (("hinted", 180, "a sale: every 2 minutes"), ("hints_cleared", 120, "it is over")):
        ScheduleChange.objects.create(
            routine=routine,
            routine_name=routine.name,
            kind=kind,
            at=now - minutes * MINUTE,
            actor="grace",
            reason=reason,
        )


def _described(now: datetime, warehouse: Pool) -> None:
    specs: list[tuple[str, dict[str, Any], float, float]] = [
        ("nightly-report", {"tags": ["reports"], "cron": "0 9 * * 1-5", "catch_up_policy": "LAST"}, 95, 0.0),
        (
            "rebuild-search-index",
            {"cron": "30 2 * * *", "timezone": "Europe/Berlin", "concurrency_policy": "REPLACE"},
            640,
            0.02,
        ),
        ("send-reminders", {"cron": "*/15 8-18 * * *", "tags": ["mail"], "timezone": "America/New_York"}, 4, 0.0),
        ("expire-sessions", {"cron": "@hourly", "timezone": "UTC", "priority": "LOW"}, 0.4, 0.0),
        ("poll-bank", {"interval_ms": 30_000, "tags": ["payments"], "concurrency_policy": "FORBID"}, 2, 0.25),
        ("import-prices", {"cron": "0 6 * * MON", "catch_up_policy": "ALL", "pool": warehouse}, 300, 0.1),
        ("warm-caches", {"interval_ms": 300_000}, 11, 0.0),
        ("close-quarter", {"trigger_kind": "MANUAL", "cron": "", "timezone": "UTC"}, 60, 0.0),
    ]
    for name, fields, seconds, failing in specs:
        routine = make_routine(name, task=f"shop.tasks.{name.replace('-', '_')}", **fields)
        _history(routine, now, every=31 * MINUTE, count=30, seconds=seconds, spread=seconds / 2, failing=failing)
    _troubled(now)


def _troubled(now: datetime) -> None:
    paused = make_routine(
        "push-to-crm",
        task="crm.tasks.push",
        cron="*/20 * * * *",
        status="PAUSED",
        pause_reason="CRM migration this week",
    )
    RoutineState.objects.filter(pk=paused.pk).update(next_slot=now - timedelta(hours=3))
    parked = make_routine(
        "scrape-competitor",
        task="shop.tasks.scrape",
        interval_ms=3_600_000,
        status="PARKED",
        pause_reason="5 chains failed in a row",
    )
    RoutineState.objects.filter(pk=parked.pk).update(failure_count=5)
    _history(parked, now, every=61 * MINUTE, count=12, seconds=3, spread=1, failing=0.9)
    ScheduleChange.objects.create(
        routine=paused,
        routine_name=paused.name,
        kind=ChangeKind.PAUSED,
        at=now,
        actor="ada",
        reason="CRM migration this week",
    )


def _running(routine: Routine, now: datetime) -> RoutineRun:
    at = now - timedelta(seconds=40)
    run = make_run(
        routine,
        at=at,
        status="RUNNING",
        worker="worker@web-2",
        started_at=at,
        admitted_at=at,
        dispatched_at=at,
        heartbeat_at=now,
        pool=routine.pool,
        running_key=routine.pk,
        fence=12,
        progress={"done": 340, "total": 800, "note": "page 17 of 40"},
    )
    leases.acquire(routine.pk, str(run.pk), 27)
    RoutineState.objects.filter(pk=routine.pk).update(fence=run.fence)
    RunLog.objects.bulk_create(
        [RunLog(run=run, at=at + timedelta(seconds=n), line=f"fetched page {n + 1}") for n in range(17)]
    )
    ScheduleChange.objects.create(
        routine=routine,
        routine_name=routine.name,
        kind=ChangeKind.UPDATED,
        at=now - timedelta(hours=5),
        actor="grace",
        reason="orders come first",
        before={"priority": "MEDIUM"},
        after={"priority": "HIGH"},
    )
    for number in range(3):
        make_run(routine, at=now - MINUTE, status="PENDING", reason="ceiling", pool=routine.pool, attempt=number + 1)
    return run


def _queue(now: datetime) -> None:
    """What waits: an override, a run of a paused routine, and one that was never sent."""
    for name, fields in (
        ("import-prices", {"trigger": "manual", "requested_by": "grace", "requested_at": now - 2 * MINUTE}),
        ("push-to-crm", {"reason": "paused"}),
        ("expire-sessions", {}),
    ):
        routine = Routine.objects.get(name=name)
        make_run(routine, at=now - 2 * MINUTE, pool=routine.pool, publish_after=now - MINUTE, **fields)


def _fleet(now: datetime) -> None:
    for role, host, runs in (
        (Role.BEAT, "web-1", 0),
        (Role.BEAT, "web-2", 0),
        (Role.WORKER, "web-1", 1),
        (Role.WORKER, "web-2", 3),
    ):
        Node.objects.create(
            name=f"{role}@{host}:{1000 + runs}",
            role=role,
            host=host,
            pid=1000 + runs,
            queues=["celery"],
            load=0.4 + runs,
            memory_bytes=140_000_000 + 9_000_000 * runs,
            running_runs=runs,
            started_at=now - timedelta(hours=9),
            seen_at=now - timedelta(seconds=20 + runs),
        )


def what_if() -> str:
    """A question for the plan of leases: another ceiling, a pause and another priority."""
    pool = Pool.objects.get(name="warehouse")
    return f"?ceiling_{pool.pk}=2&paused=import-prices&routine=sync-orders&priority=LOW"
