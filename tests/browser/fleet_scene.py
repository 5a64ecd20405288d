"""A shop's fleet after a night that did not go well: what the documentation's pictures show.

Written with the ORM, no beat and no worker runs here. Runs stand at real slots of their schedules, so that lists, charts,
the agenda and the answers of *why* agree with each other as they do in a ledger.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

from routines_app import service
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
from tests.browser.night_scene import a_bad_night, a_sale, under_way
from tests.browser.scenes import ended

MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
WORKERS = ("worker@jobs-1", "worker@jobs-2")
MOST = 150  # runs of one routine: a day of every ten minutes


@dataclass(frozen=True, kw_only=True)
class Work:
    """A routine to be, how long it takes, and how often it fails by what. A number in the error is another each time."""

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
        """Those who live report, however long the pictures take."""
        now = clock.now()
        Node.objects.exclude(host="jobs-3").update(seen_at=now - timedelta(seconds=4))
        RoutineRun.objects.filter(status="RUNNING").update(heartbeat_at=now)


EVERY_TEN = {"trigger_kind": "INTERVAL", "interval_ms": 600_000}
SHOP: tuple[Work, ...] = (
    Work(
        name="archive-invoices",
        seconds=190,
        fields={"cron": "15 1 * * *", "timezone": "Europe/Berlin", "tags": ["finance"], "catch_up_policy": "ALL"},
        failing=0.06,
        error="timed out after 300 s",
    ),
    Work(name="close-quarter", seconds=60, fields={"trigger_kind": "MANUAL", "tags": ["finance"]}),
    Work(name="expire-sessions", seconds=0.6, fields={"cron": "@hourly", "priority": "LOW"}),
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
        error="ValueError: line 1187 of prices.csv has 7 columns",
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
        error="HTTPError: 503 for account 40817",
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
        silent=timedelta(hours=30),
    ),
    Work(
        name="rebuild-search-index",
        seconds=640,
        fields={"cron": "30 2 * * *", "timezone": "Europe/Berlin", "concurrency_policy": "REPLACE"},
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
        error="PermissionError: blocked, request 88121",
        silent=timedelta(hours=5),
    ),
    Work(
        name="send-invoices",
        seconds=31,
        fields={"cron": "*/15 6-20 * * *", "timezone": "Europe/Paris", "tags": ["finance"], "priority": "HIGH"},
    ),
    Work(
        name="send-reminders",
        seconds=4,
        fields={"cron": "*/15 8-18 * * *", "timezone": "Europe/Paris", "tags": ["mail"]},
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
            "timeout_ms": 60_000,
            "kwargs": {"shop": "eu-1", "api_key": "k-123", "since_minutes": 15},
        },
        failing=0.03,
        error="ConnectionError: shop eu-1 did not answer",
    ),
    Work(name="warm-caches", seconds=11, fields=EVERY_TEN),
)


def a_shop() -> Fleet:
    """Routines with their history, a fleet with one worker gone, and what went wrong last night."""
    dice, now = Random(3), clock.now()
    pools = {name: Pool.objects.create(name=name, max_concurrent=most) for name, most in (("warehouse", 2), ("mail", 10))}
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
        created_at=midnight - 90 * DAY,
        start_at=midnight - 90 * DAY,  # intervals count from there: at full minutes, as people begin them
        **fields | {"pool": pools.get(fields.get("pool", ""))},
    )
    state = RoutineState(routine=routine)
    slots = _slots(routine, state, now)
    _history(routine, work, [slot for slot in slots if slot < now - max(work.silent, 2 * MINUTE)], dice)
    state.last_slot = slots[-1] if slots else None
    replan(routine, state, now)
    done = RoutineRun.objects.filter(routine=routine, status="SUCCESS").order_by("pk").last()
    state.last_success_at = state.last_run_at = done.started_at if done else None
    state.save(force_insert=True)


def _slots(routine: Routine, state: RoutineState, now: datetime) -> tuple[datetime, ...]:
    """The last ones of its schedule; of one without any, some days on which somebody asked."""
    if routine.trigger_kind == "MANUAL":
        return tuple(now - days * DAY for days in range(88, 0, -29))
    trigger = trigger_of(routine, state)
    day = slots_between(trigger, now - DAY, now).slots
    return (day if len(day) > 20 else slots_between(trigger, now - 45 * DAY, now).slots)[-MOST:]


def _history(routine: Routine, work: Work, slots: list[datetime], dice: Random) -> None:
    by = {"trigger": "manual", "requested_by": "grace"} if routine.trigger_kind == "MANUAL" else {}
    source = "manual" if by else "baseline-interval" if routine.interval_ms else "baseline-cron"
    for slot in slots:
        seconds = max(work.seconds / 3, dice.gauss(work.seconds, work.seconds / 5))
        of = {"late": abs(dice.gauss(0.09, 0.05)), "worker": dice.choice(WORKERS), "source": source, **by}
        if dice.random() < work.failing:
            _failed(routine, slot, seconds / 2, work.error, of, dice)
        else:
            ended(routine, slot, seconds, **of)


def _failed(routine: Routine, slot: datetime, seconds: float, error: str, of: dict[str, Any], dice: Random) -> None:
    said = "".join(str(dice.randint(1, 9)) if sign.isdigit() and sign != "0" else sign for sign in error[20:])
    reason = "timeout" if error.startswith("timed out") else "exception"
    ended(routine, slot, seconds, "FAILED", reason=reason, error=error[:20] + said, **of)


def _troubles(now: datetime) -> None:
    """One is parked, one fails again and again, one has not been claimed, one was paused by somebody."""
    for name, count in (("scrape-competitor", 5), ("poll-bank", 3)):
        routine = Routine.objects.get(name=name)
        RoutineState.objects.filter(pk=routine.pk).update(failure_count=count)
        last = RoutineRun.objects.filter(routine=routine).order_by("-pk").values("pk")[:count]
        error = next(work.error for work in SHOP if work.name == name)
        RoutineRun.objects.filter(pk__in=list(last.values_list("pk", flat=True))).update(
            status="FAILED", reason="exception", error=error
        )
    late = now - 4 * MINUTE
    RoutineState.objects.filter(routine__name="send-invoices").update(next_run_at=late, next_slot=late)
    paused = Routine.objects.get(name="push-to-crm")
    RoutineState.objects.filter(pk=paused.pk).update(next_slot=now - timedelta(hours=30))
    ScheduleChange.objects.create(
        routine=paused,
        routine_name=paused.name,
        kind=ChangeKind.PAUSED,
        at=now - timedelta(hours=30),
        actor="ada",
        reason=paused.pause_reason,
    )


def _batch(now: datetime) -> PauseBatch:
    """All that sends mail, for three hours already."""
    batch = service.pause_batch("mail-provider-down", tag="mail", reason="the provider answers 421", actor="grace")
    since = now - timedelta(hours=3)
    RoutineState.objects.filter(routine__tags__icontains="mail").update(next_slot=since, last_slot=since)
    PauseBatch.objects.filter(pk=batch.pk).update(created_at=since)
    return batch


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
