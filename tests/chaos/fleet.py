"""Five hundred routines with crons, intervals or none, under every policy, the same for the same seed."""

from __future__ import annotations

from random import Random
from typing import Any

from routines_app import service
from routines_app.models import Pool

TASKS = "tests.acceptance.tasks"
POOLS = {"narrow": 1, "middle": 3, "wide": 8}
MANUAL_SHARE = 0.06

# Healthy bodies that let no other thread of their process have a turn, for longer than an orphan may be silent here.
GIL_HOLDERS = ["gil0", "gil1"]
GIL_HOLDER: dict[str, Any] = {
    "task": f"{TASKS}.hold_gil",
    "args": [12.0],
    "timeout_ms": 60_000,
    "concurrency_policy": "FORBID",
    "max_attempts": 2,
}
MISROUTED = ["misrouted0", "misrouted1", "misrouted2"]
ROTATION = "rotation"
MEMBERS = [f"member{number:02}" for number in range(24)]


def create_fleet(random: Random, count: int) -> list[str]:
    """Create the routines through the service; their names."""
    for name, ceiling in POOLS.items():
        Pool.objects.create(name=name, max_concurrent=ceiling)
    names = [f"r{number:03}" for number in range(count)]
    for name in names:
        service.create_routine(name, **policies(random))
    for name in GIL_HOLDERS:
        service.create_routine(name, **GIL_HOLDER)
    for name in MISROUTED:
        service.create_routine(name, task=f"{TASKS}.misrouted", interval_ms=random.randrange(8_000, 15_000))
    create_rotation()
    return [*names, *MISROUTED]


def create_rotation() -> None:
    """Members of two phases, one of which needs some luck; every eighth always fails."""
    phases: list[dict[str, Any]] = [
        {"name": "plan", "task": f"{TASKS}.note"},
        {"name": "build", "task": f"{TASKS}.sleepy", "args": [0.8]},
    ]
    service.create_rotation(ROTATION, every="4s", budget=3, max_in_flight=5, fresh_for="12s", phases=phases)
    fails = [{"name": "plan", "task": f"{TASKS}.fail"}]
    service.add_members(
        ROTATION,
        [
            service.Member(name=name, task=f"{TASKS}.note", phases=fails if number % 8 == 7 else None)
            for number, name in enumerate(MEMBERS)
        ],
    )


def policies(random: Random) -> dict[str, Any]:
    chosen = schedule(random) | body(random) | catch_up(random)
    chosen |= {
        "concurrency_policy": random.choices(["ALLOW", "FORBID", "REPLACE", "QUEUE"], [5, 4, 2, 3])[0],
        "priority": random.choice(["LOW", "MEDIUM", "HIGH"]),
        "max_attempts": random.choice([1, 2, 3]),
        "retry_delay_ms": random.choice([0, 500, 2000]),
        "retry_max_delay_ms": 4000,
        "keep_result": False,
    }
    if random.random() < 0.2:
        chosen["pool"] = random.choice(list(POOLS))
    if random.random() < 0.1:
        chosen["park_after"] = 3
    if random.random() < 0.1:
        chosen["jitter_ms"] = 3000
    return chosen


def schedule(random: Random) -> dict[str, Any]:
    """About one fire in half a minute: two cores have to keep up with all of them."""
    drawn = random.random()
    if drawn < MANUAL_SHARE:
        return {}
    if drawn < 0.45:
        step = random.choice([15, 20, 30])
        return {"cron": f"{random.randrange(step)}/{step} * * * * *", "timezone": random.choice(ZONES)}
    if drawn < 0.55:
        return {"cron": "* * * * *", "timezone": random.choice(ZONES)}
    if drawn < 0.6:
        return {"cron": "*/10 * * * * *", "min_interval_ms": 25_000}
    every: dict[str, Any] = {"interval_ms": random.randrange(12_000, 50_000)}
    if random.random() < 0.1:
        every |= {"max_interval_ms": 45_000, "min_interval_ms": 12_000}
    return every


ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe"]


def body(random: Random) -> dict[str, Any]:
    task = random.choices(list(BODIES), [weight for weight, _ in BODIES.values()])[0]
    details: dict[str, Any] = BODIES[task][1](random)
    return {"task": f"{TASKS}.{task}"} | details


BODIES: dict[str, tuple[int, Any]] = {
    "note": (60, lambda random: {}),
    "sleepy": (25, lambda random: {"args": [round(random.uniform(0.05, 2.5), 2)], "timeout_ms": 4000}),
    "fail": (5, lambda random: {}),
    "flaky": (5, lambda random: {"args": [1]}),
    "swallow": (1, lambda random: {"args": [8.0], "timeout_ms": 2000}),
    "exit_hard": (1, lambda random: {"max_attempts": 1}),
}


def catch_up(random: Random) -> dict[str, Any]:
    policy = random.choice(["SKIP", "LAST", "ALL"])
    limits = {"catch_up_limit": random.choice([2, 4])} if policy == "ALL" else {}
    return {"catch_up_policy": policy, "misfire_grace_ms": random.choice([2000, 10_000, 60_000])} | limits
