"""A shop's fleet after a night that did not go well: what the documentation's pictures show.

Written with the ORM, no beat and no worker runs here. Runs stand at real slots of their schedules, so that lists,
charts, the agenda and the answers of *why* agree with each other as they do in a ledger.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

from routines_app import service
from routines_app.core.keys import slot_key
from routines_app.core.triggers import slots_between
from routines_app.models import (
    ChangeKind,
    Node,
    NodeLifetime,
    PauseBatch,
    Pool,
    Role,
    Routine,
    RoutineRun,
    RoutineState,
    ScheduleChange,
)
from routines_app.protocol.ledger import clock
from routines_app.protocol.plan.planning import replan, trigger_of
from tests.browser.night_scene import REFUSED, a_bad_night, a_sale, under_way
from tests.browser.scenes import ended

MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
WORKERS = ("worker@jobs-1", "worker@jobs-2")
MOST = 150  # runs of one routine: a day of every ten minutes


@dataclass(frozen=True, kw_only=True)
class Work:
    """A routine to be, how long it takes, and how often it fails by what; `{}` in the error is a number."""

    name: str
    seconds: float
    fields: dict[str, Any]
    failing: float = 0.0
    error: str = ""
    silent: timedelta = field(default_factory=timedelta)
    """How long ago its last run was: it was paused or parked then."""


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """What the pictures begin from."""

    sync: Routine
    failed: RoutineRun
    report: Routine
    batch: PauseBatch

    def breathe(self) -> None:
        """Those who live report, and what waits has waited for moments, however long the pictures take."""
        now = clock.now()
        asked = now - timedelta(seconds=20)
        Node.objects.exclude(host="jobs-3").update(seen_at=now - timedelta(seconds=4))
        RoutineRun.objects.filter(status="RUNNING").update(heartbeat_at=now)
        RoutineRun.objects.filter(status="PENDING").update(eligible_at=asked, publish_after=now)
        RoutineRun.objects.filter(status="PENDING", trigger="manual").update(scheduled_for=asked, requested_at=asked)


EVERY_TEN = {"trigger_kind": "INTERVAL", "interval_ms": 600_000}
SHOP: tuple[Work, ...] = (
    Work(
        name="archive-invoices",
        seconds=190,
        fields={"cron": "15 1 * * *", "timezone": "Europe/Berlin", "tags": ["finance"], "catch_up_policy": "ALL"},
        failing=0.06,
        error="timed out after 300 s",
    ),
    Work(
        name="follow-up-carts",
        seconds=6,
        fields={"cron": "*/30 * * * *", "timezone": "Europe/Paris", "tags": ["mail"]},
        silent=timedelta(hours=3),
    ),
    Work(
        name="import-prices",
        seconds=240,
        fields={"cron": "0 */2 * * *", "timezone": "Europe/Paris", "catch_up_policy": "LAST", "pool": "warehouse"},
        failing=0.05,
        error="ValueError: line {} of prices.csv has 7 columns",
    ),
    Work(
        name="nightly-report",
        seconds=95,
        fields={
            "cron": "0 3 * * MON-FRI",
            "timezone": "Europe/Paris",
            "tags": ["reports"],
            "catch_up_policy": "LAST",
            "concurrency_policy": "FORBID",
            "description": "Yesterday's sales, for the people who come in at eight.",
        },
    ),
    Work(
        name="poll-bank",
        seconds=2,
        fields={**EVERY_TEN, "concurrency_policy": "FORBID", "tags": ["payments"], "max_attempts": 1},
        failing=0.25,
        error="HTTPError: 503 for account {}",
    ),
    Work(
        name="push-to-crm",
        seconds=12,
        fields={
            "cron": "*/20 * * * *",
            "timezone": "Europe/Paris",
            "status": "PAUSED",
            "pause_reason": "the CRM moves house this week",
        },
        silent=timedelta(hours=8),
    ),
    Work(
        name="scrape-competitor",
        seconds=3,
        fields={
            "trigger_kind": "INTERVAL",
            "interval_ms": 3_600_000,
            "status": "PARKED",
            "park_after": 5,
            "pause_reason": "5 chains failed in a row",
        },
        failing=0.3,
        error="PermissionError: blocked, request {}",
        silent=timedelta(hours=5),
    ),
    Work(
        name="send-invoices",
        seconds=31,
        fields={"cron": "*/15 * * * *", "timezone": "Europe/Paris", "tags": ["finance"], "priority": "HIGH"},
    ),
    Work(
        name="send-reminders",
        seconds=4,
        fields={"cron": "*/15 * * * *", "timezone": "Europe/Paris", "tags": ["mail"]},
        silent=timedelta(hours=3),
    ),
    Work(
        name="sync-orders",
        seconds=24,
        fields={
            **EVERY_TEN,
            "timezone": "Europe/Paris",
            "description": "Pulls new orders from the shop into the warehouse.",
            "tags": ["orders", "shop"],
            "concurrency_policy": "FORBID",
            "pool": "warehouse",
            "priority": "HIGH",
            "timeout_ms": 90_000,
            "kwargs": {"shop": "eu-1", "api_key": "k-123", "since_minutes": 15},
        },
        failing=0.03,
        error=REFUSED,
    ),
    Work(name="warm-caches", seconds=11, fields=EVERY_TEN),
)


def a_shop() -> Fleet:
    """Routines with their history, a fleet with one worker gone, and what went wrong last night."""
    dice, now = Random(3), clock.now()
    pools = {
        name: Pool.objects.create(name=name, max_concurrent=most) for name, most in (("warehouse", 2), ("mail", 10))
    }
    for work in SHOP:
        _routine(work, pools, now, dice)
    _nodes(now)
    sync = Routine.objects.get(name="sync-orders")
    failed = a_bad_night(sync, before=now - 20 * MINUTE)
    a_sale(sync, now)
    under_way(now)
    _troubles(now)
    return Fleet(sync=sync, failed=failed, report=Routine.objects.get(name="nightly-report"), batch=_batch(now))


def _routine(work: Work, pools: dict[str, Pool], now: datetime, dice: Random) -> None:
    fields = {"trigger_kind": "CRON", "timezone": "UTC"} | work.fields
    midnight = now.astimezone(ZoneInfo("UTC")).replace(hour=0, minute=0, second=0, microsecond=0)
    routine = Routine.objects.create(
        name=work.name,
        task=f"shop.tasks.{work.name.replace('-', '_')}",
        created_at=midnight - 90 * DAY,  # intervals count from there: at full minutes, as people begin them
        **fields | {"pool": pools.get(fields.get("pool", ""))},
    )
    state = RoutineState(routine=routine)
    slots = _slots(routine, state, now)
    _history(routine, work, [slot for slot in slots if slot < now - max(work.silent, 2 * MINUTE)], dice)
    state.last_slot = slots[-1]
    replan(routine, state, now)
    done = RoutineRun.objects.filter(routine=routine, status="SUCCESS").latest("pk")
    state.last_success_at = state.last_run_at = done.started_at
    state.save(force_insert=True)


def _slots(routine: Routine, state: RoutineState, now: datetime) -> tuple[datetime, ...]:
    """The last ones of its schedule: a day of them, or a month and a half where that is little."""
    trigger = trigger_of(routine, state)
    day = slots_between(trigger, now - DAY, now).slots
    return (day if len(day) > 20 else slots_between(trigger, now - 45 * DAY, now).slots)[-MOST:]


def _history(routine: Routine, work: Work, slots: list[datetime], dice: Random) -> None:
    source = "baseline-interval" if routine.interval_ms else "baseline-cron"
    for slot in slots:
        seconds = max(work.seconds / 3, dice.gauss(work.seconds, work.seconds / 5))
        late = abs(dice.gauss(1.2, 1.0) if routine.pool else dice.gauss(0.09, 0.05))
        key = slot_key(routine.pk, slot, 1)
        of: dict[str, Any] = {"late": late, "worker": dice.choice(WORKERS), "source": source, "idempotency_key": key}
        if dice.random() < work.failing:
            _failed(routine, slot, seconds / 2, work.error, of, dice)
        else:
            ended(routine, slot, seconds, **of)


def _failed(routine: Routine, slot: datetime, seconds: float, error: str, of: dict[str, Any], dice: Random) -> None:
    reason = "timeout" if error.startswith("timed out") else "exception"
    ended(routine, slot, seconds, "FAILED", reason=reason, error=error.format(dice.randint(1_000, 99_999)), **of)


def _troubles(now: datetime) -> None:
    """One is parked, one fails again and again, one has not been claimed, one was paused by somebody."""
    for name, count in (("scrape-competitor", 5), ("poll-bank", 3)):
        runs = RoutineRun.objects.filter(routine__name=name).order_by("-pk")
        error = next(work.error for work in SHOP if work.name == name).format(40_817)
        last = list(runs.values_list("pk", flat=True)[:count])
        runs.filter(pk__in=last).order_by().update(status="FAILED", reason="exception", error=error)
        RoutineState.objects.filter(routine__name=name).update(failure_count=count)
    late = RoutineRun.objects.filter(routine__name="send-invoices").latest("pk")
    RoutineState.objects.filter(pk=late.routine_id).update(next_run_at=late.scheduled_for, next_slot=late.scheduled_for)
    late.delete()
    paused = Routine.objects.get(name="push-to-crm")
    since = _stopped(["push-to-crm"], now - timedelta(hours=8))
    ScheduleChange.objects.create(
        routine=paused,
        routine_name=paused.name,
        kind=ChangeKind.PAUSED,
        at=since,
        actor="ada",
        reason=paused.pause_reason,
    )


def _batch(now: datetime) -> PauseBatch:
    """All that sends mail, for three hours already."""
    batch = service.pause_batch("mail-provider-down", tag="mail", reason="the provider answers 421", actor="grace")
    since = _stopped(["follow-up-carts", "send-reminders"], now - timedelta(hours=3))
    PauseBatch.objects.filter(pk=batch.pk).update(created_at=since - MINUTE)
    batch.refresh_from_db()
    return batch


def _stopped(names: list[str], at: datetime) -> datetime:
    """They have not run since the full hour before that, which was a slot of each."""
    since = at.replace(minute=0, second=0, microsecond=0)
    RoutineRun.objects.filter(routine__name__in=names, scheduled_for__gte=since).delete()
    for state in RoutineState.objects.filter(routine__name__in=names):
        last = RoutineRun.objects.filter(routine_id=state.pk).latest("pk")
        state.last_slot, state.next_slot = last.scheduled_for, since
        state.last_run_at = state.last_success_at = last.started_at
        state.save()
    return since


def _nodes(now: datetime) -> None:
    """Two beats, two workers, and a worker that nobody has heard of for a while."""
    for role, host, pid, runs, silent in (
        (Role.BEAT, "web-1", 411, 0, 4),
        (Role.BEAT, "web-2", 388, 0, 4),
        (Role.WORKER, "jobs-1", 702, 1, 4),
        (Role.WORKER, "jobs-2", 715, 1, 4),
        (Role.WORKER, "jobs-3", 698, 0, 560),
    ):
        lived = {
            "name": f"{role}@{host}:{pid}",
            "role": role,
            "host": host,
            "pid": pid,
            "started_at": now - 6 * DAY,
            "seen_at": now - timedelta(seconds=silent),
        }
        NodeLifetime.objects.create(**lived)
        Node.objects.create(
            **lived, queues=["celery"], load=0.4 + runs, memory_bytes=140_000_000 + pid * 10_000, running_runs=runs
        )
