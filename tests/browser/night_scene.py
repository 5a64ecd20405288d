"""What happened to a shop's routines: a chain that failed at three, a sale, and what is under way now."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from routines_app.coordination import leases
from routines_app.core.keys import slot_key
from routines_app.core.waits import entry_of
from routines_app.models import ChangeKind, Routine, RoutineRun, RoutineState, RunLog, ScheduleChange
from tests.browser.scenes import ended, make_run

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
THREE = {"hour": 3, "minute": 0, "second": 0, "microsecond": 0}
REFUSED = "ConnectionError: shop eu-1 did not answer within 30 s"
TRACEBACK = f"""Traceback (most recent call last):
  File "shop/tasks.py", line 41, in sync_orders
    orders = client.orders(since=since)
  File "shop/client.py", line 88, in orders
    raise ConnectionError(f"shop {{self.name}} did not answer within {{self.patience}} s")
{REFUSED}
"""


def a_bad_night(routine: Routine, before: datetime) -> RoutineRun:
    """At three it waited for room, failed, ran into its time-out, and succeeded."""
    three = before.astimezone(ZoneInfo("Europe/Paris")).replace(**THREE)  # type: ignore[arg-type]
    three = three if three < before else three - timedelta(days=1)
    RoutineRun.objects.filter(routine=routine, scheduled_for__range=(three, three + 5 * MINUTE)).delete()
    waited = entry_of("ceiling", three + 0.2 * SECOND, three + 6.5 * SECOND)
    first = make_run(
        routine,
        at=three + 0.2 * SECOND,
        status="FAILED",
        reason="exception",
        error=REFUSED,
        traceback=TRACEBACK,
        waits=waited,
        idempotency_key=slot_key(routine.pk, three, 1),
        **_stamps(routine, three, three + 0.2 * SECOND, three + 6.5 * SECOND, 31),
    )
    second = _again(routine, first, first, 2, "FAILED", seconds=90, reason="timeout", error="timed out after 90 s")
    _again(routine, first, second, 3, "SUCCESS", seconds=47, result={"orders": 1204})
    return first


def _stamps(
    routine: Routine, slot: datetime, eligible: datetime, admitted: datetime, seconds: float
) -> dict[str, object]:
    started = admitted + 0.9 * SECOND
    return {
        "scheduled_for": slot,
        "eligible_at": eligible,
        "admitted_at": admitted,
        "dispatched_at": admitted + 0.1 * SECOND,
        "started_at": started,
        "completed_at": started + seconds * SECOND,
        "worker": "worker@jobs-1",
        "pool": routine.pool,
        "timeout_ms": routine.timeout_ms,
        "source": "baseline-interval",
    }


def _again(
    routine: Routine,
    first: RoutineRun,
    last: RoutineRun,
    attempt: int,
    status: str,
    *,
    seconds: float,
    **fields: object,
) -> RoutineRun:
    assert last.completed_at is not None
    eligible = last.completed_at + 10 * (attempt - 1) * SECOND
    return make_run(
        routine,
        at=last.completed_at,
        status=status,
        attempt=attempt,
        budget_used=attempt,
        trigger="retry",
        chain=first.pk,
        retry_of=last,
        idempotency_key=slot_key(routine.pk, first.scheduled_for, attempt),
        **_stamps(routine, first.scheduled_for, eligible, eligible, seconds),
        **fields,
    )


def a_sale(routine: Routine, now: datetime) -> None:
    """An hour at another pace, some hours ago, and an edit before it."""
    since = now.replace(minute=0, second=0, microsecond=0) - timedelta(hours=4)
    for minutes in range(0, 60, 2):
        if minutes % 10:
            ended(routine, since + minutes * MINUTE, 9, source="hint-interval", worker="worker@jobs-2")
    RoutineRun.objects.filter(
        routine=routine, scheduled_for__range=(since + MINUTE, since + 59 * MINUTE), source="baseline-interval"
    ).update(source="hint-interval")
    for kind, at, actor, reason, changed in (
        (ChangeKind.UPDATED, since - timedelta(hours=5), "ada", "orders come first", ("MEDIUM", "HIGH")),
        ("hinted", since, "grace", "a sale: every 2 minutes", None),
        ("hints_cleared", since + timedelta(hours=1), "grace", "it is over", None),
    ):
        before, after = ({"priority": word} for word in changed) if changed else ({}, {})
        ScheduleChange.objects.create(
            routine=routine,
            routine_name=routine.name,
            kind=kind,
            at=at,
            actor=actor,
            reason=reason,
            before=before,
            after=after,
        )


def under_way(now: datetime) -> None:
    """Two that run and fill their pool, two that wait for room in it, and a retry that is due."""
    _running("sync-orders", now - 38 * SECOND, {"done": 340, "total": 800, "note": "page 17 of 40"})
    _running("import-prices", now - 95 * SECOND, {"done": 61_200, "total": 90_000})
    for name, by in (("import-prices", "grace"), ("sync-orders", "ada")):
        routine = Routine.objects.get(name=name)
        make_run(
            routine, at=now, trigger="manual", requested_by=by, requested_at=now, reason="ceiling", pool=routine.pool
        )
    last = RoutineRun.objects.filter(routine__name="warm-caches").latest("pk")
    RoutineRun.objects.filter(pk=last.pk).update(status="FAILED", reason="exception", error="OSError: no space left")
    retry = {"attempt": 2, "chain": last.pk, "retry_of": last, "trigger": "retry"}
    make_run(last.routine, at=now, scheduled_for=last.scheduled_for, **retry)


def _running(name: str, at: datetime, progress: dict[str, object]) -> None:
    routine = Routine.objects.get(name=name)
    run = make_run(
        routine,
        at=at,
        status="RUNNING",
        worker="worker@jobs-1" if name == "sync-orders" else "worker@jobs-2",
        started_at=at,
        admitted_at=at,
        dispatched_at=at,
        heartbeat_at=at,
        pool=routine.pool,
        running_key=routine.pk if routine.concurrency_policy == "FORBID" else None,
        fence=12,
        progress=progress,
        trigger="manual",
        requested_by="grace",
    )
    leases.acquire(routine.pk, str(run.pk), 600)
    RoutineState.objects.filter(pk=routine.pk).update(fence=run.fence)
    RunLog.objects.bulk_create([RunLog(run=run, at=at + n * SECOND, line=f"fetched page {n + 1}") for n in range(17)])
