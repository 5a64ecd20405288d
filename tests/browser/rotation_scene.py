"""A rotation in the middle of its work, written with the ORM: no beat and no worker runs here."""

from __future__ import annotations

from datetime import datetime, timedelta
from math import sin
from typing import Any

from routines_app.core.keys import EPOCH
from routines_app.core.rotation import SEEDING, TICK_TASK
from routines_app.models import Rotation, RotationMember, RotationSample, Routine, RoutineRun, RoutineState
from routines_app.protocol.ledger import clock
from tests.browser.scenes import TASK, ended, make_routine, make_run

HOUR = timedelta(hours=1)
PHASES: list[dict[str, Any]] = [
    {"name": "plan", "task": TASK},
    {"name": "build", "task": TASK, "kwargs": {"api_key": "k-123"}},
    {"name": "check", "task": TASK},
]


def make_rotation(name: str = "shops", *, routine: dict[str, Any] | None = None, **fields: Any) -> Rotation:
    """A rotation with its own routine, and no members."""
    own = {"task": TICK_TASK, "interval_ms": 600_000, "max_attempts": 1, **(routine or {})}
    return Rotation.objects.create(routine=make_routine(name, **own), **({"phases": PHASES} | fields))


def make_member(
    rotation: Rotation, name: str, *, routine: dict[str, Any] | None = None, **fields: Any
) -> RotationMember:
    """A member as a routine and its row; owed unless it is said otherwise."""
    own: dict[str, Any] = {"trigger_kind": "MANUAL", "cron": "", "concurrency_policy": "FORBID", "rotation": rotation}
    made = make_routine(name, **(own | (routine or {})))
    return RotationMember.objects.create(routine=made, rotation=rotation, **({"stale_since": clock.now()} | fields))


def fill_rotation(rotation: Rotation, count: int) -> None:
    """Very many members, in a few statements."""
    now = clock.now()
    named = [
        Routine(
            name=f"{rotation.name}-{number:06}",
            task=TASK,
            trigger_kind="MANUAL",
            concurrency_policy="FORBID",
            rotation=rotation,
        )
        for number in range(count)
    ]
    made = Routine.objects.bulk_create(named, batch_size=2_000)
    RoutineState.objects.bulk_create([RoutineState(routine=routine) for routine in made], batch_size=2_000)
    RotationMember.objects.bulk_create(
        [
            RotationMember(
                routine=routine,
                rotation=rotation,
                status="FRESH" if number % 10 else "OWED",
                due_at=now + timedelta(days=1) if number % 10 else None,
                stale_since=now - timedelta(minutes=number),
            )
            for number, routine in enumerate(made)
        ],
        batch_size=2_000,
    )


def a_rotation_at_work() -> Rotation:
    """Members of every standing, a day of ticks and samples, and a seeding that failed."""
    now = clock.now()
    rotation = make_rotation(
        routine={"description": "Crawls every shop once a day, the stalest first.", "tags": ["crawl"]},
        budget=2,
        max_in_flight=3,
        seed="shop.feeds.shops",
        member_task="shop.tasks.crawl",
        ticks=400,
    )
    _members(rotation, now)
    _ticks(rotation, now)
    _samples(rotation, now)
    error = "ConnectionError: the directory of shops did not answer"
    ended(rotation.routine, now - 20 * timedelta(minutes=1), 4, "FAILED", phase=SEEDING, rotation=rotation, error=error)
    return rotation


def _members(rotation: Rotation, now: datetime) -> None:
    for number, town in enumerate(["aachen", "bremen", "celle", "dresden", "emden", "fulda", "gera", "halle"]):
        member = make_member(
            rotation,
            f"shop-{town}",
            phase=number % 3,
            stale_since=now - (30 - number) * HOUR,
            attempted_at=now - number * HOUR if number % 3 else EPOCH,
            cycles=number * 3,
        )
        if number % 3:
            ended(member.routine, now - number * HOUR, 12, phase=PHASES[number % 3 - 1]["name"], rotation=rotation)
    for town in ("ilmenau", "jena"):
        make_member(rotation, f"shop-{town}", status="FRESH", stale_since=now - HOUR, due_at=now + 23 * HOUR, cycles=9)
    make_member(
        rotation,
        "shop-kassel",
        status="FAILED",
        phase=1,
        failures=3,
        retry_tick=406,
        stale_since=now - 40 * HOUR,
        attempted_at=now - HOUR,
    )
    paused = {"status": "PAUSED", "pause_reason": "the shop moves house"}
    make_member(rotation, "shop-leipzig", routine=paused, status="LEFT_OUT", stale_since=now - 90 * HOUR)
    for phase, town in enumerate(["mainz", "norden"]):
        _in_flight(rotation, f"shop-{town}", phase + 1, now)


def _in_flight(rotation: Rotation, name: str, phase: int, now: datetime) -> None:
    member = make_member(rotation, name, phase=phase, stale_since=now - 26 * HOUR, attempted_at=now - HOUR)
    tick = ended(
        rotation.routine, now - timedelta(minutes=4), 0, reason="picked", result={"picked": [{"name": name}], "owed": 9}
    )
    of = {"rotation": rotation, "phase": PHASES[phase]["name"], "tick": tick.pk, "trigger": "rotation"}
    at = now - timedelta(minutes=4)
    run = make_run(
        member.routine, at=at, status="RUNNING", started_at=at, heartbeat_at=now, worker="worker@web-1", **of
    )
    RotationMember.objects.filter(pk=member.pk).update(status="IN_FLIGHT", run=run.pk)


def _ticks(rotation: Rotation, now: datetime) -> None:
    members = list(Routine.objects.filter(rotation=rotation, name__lt="shop-i").order_by("name"))
    for number in range(40, 0, -1):
        at = now - number * timedelta(minutes=10)
        if number % 9 in (0, 1):
            make_run(rotation.routine, at=at, status="SKIPPED", reason="idle", completed_at=at)
        elif number % 7 == 0:
            make_run(rotation.routine, at=at, status="SKIPPED", reason="full", completed_at=at)
        else:
            tick = ended(rotation.routine, at, 0, reason="picked", result={"picked": []})
            member, phase = members[number % len(members)], PHASES[number % 3]["name"]
            status = "FAILED" if number % 5 == 0 else "SUCCESS"
            ended(member, at, 9, status, rotation=rotation, phase=phase, tick=tick.pk, trigger="rotation")


def _samples(rotation: Rotation, now: datetime) -> None:
    RotationSample.objects.bulk_create(
        [
            RotationSample(
                rotation=rotation,
                at=now - number * timedelta(minutes=10),
                owed=10,
                in_flight=2,
                fresh=2,
                failing=1,
                left_out=1,
                stalest_seconds=86_400 * (1.4 + 0.4 * sin(number / 18)),
                median_seconds=86_400 * (0.5 + 0.2 * sin(number / 11)),
            )
            for number in range(7 * 144)
        ]
    )


def a_tick(rotation: Rotation) -> RoutineRun:
    """One that has picked somebody."""
    found = RoutineRun.objects.filter(routine_id=rotation.pk, reason="picked").earliest("pk")
    assert RoutineRun.objects.filter(tick=found.pk).exists()
    return found
