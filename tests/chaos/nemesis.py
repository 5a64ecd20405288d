"""The nemesis: kills, freezes, flushes, floods and edits at random, the same for the same seed."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import psutil
from django.db import DatabaseError, InterfaceError, connection

from routines_app import service
from routines_app.models import RoutineRun
from tests.acceptance.process import Process
from tests.acceptance.stack import Stack

BEATS, WORKERS, CHILDREN = 3, 3, 2
LOST_SECONDS = "10"  # with the usual 45 s, and 90 s, a few minutes would hardly show that messages come back


class Nemesis:
    """Breaks a stack, and mends what it broke after a while."""

    def __init__(self, stack: Stack, random: Random, names: list[str], tell: Callable[[str], None]) -> None:
        self.stack = stack
        self.random = random
        self.names = names
        self.tell = tell
        self.beats: list[Process] = []
        self.workers: list[Process] = []
        self.injected: Counter[str] = Counter()
        self.refused = 0
        self.to_mend: list[tuple[float, Callable[[], object]]] = []

    # What is there to be broken

    def start(self) -> None:
        """All at once: they wait more than they work."""
        self.beats = [self.start_beat() for _ in range(BEATS)]
        self.workers = [self.start_worker() for _ in range(WORKERS)]
        for process in self.workers:
            process.wait_for_log(" ready.", 60)

    def rage(self, seconds: float) -> None:
        """One act after another, until the time is over; then everything that is broken is mended."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.mend_due()
            self.act()
            time.sleep(self.random.uniform(0.3, 1.7))
        for _, mend in self.to_mend:
            mend()
        self.to_mend.clear()

    def act(self) -> None:
        kind = self.random.choices(list(ACTS), [weight for weight, _ in ACTS.values()])[0]
        if ACTS[kind][1](self):
            self.injected[kind] += 1
            self.tell(kind)

    def mend_due(self) -> None:
        due = [mend for at, mend in self.to_mend if at <= time.monotonic()]
        self.to_mend = [(at, mend) for at, mend in self.to_mend if at > time.monotonic()]
        for mend in due:
            mend()

    def mend_after(self, low: float, high: float, mend: Callable[[], object]) -> bool:
        self.to_mend.append((time.monotonic() + self.random.uniform(low, high), mend))
        return True

    # Processes

    def kill_beat(self) -> bool:
        at = self.random.randrange(BEATS)
        self.beats[at].kill9()
        return self.mend_after(0.5, 4, lambda: self.replace(self.beats, at, self.start_beat))

    def kill_worker(self) -> bool:
        at = self.random.randrange(WORKERS)
        self.workers[at].kill9()
        return self.mend_after(0.5, 6, lambda: self.replace(self.workers, at, self.start_worker))

    def start_beat(self) -> Process:
        return self.stack.start_beat(ROUTINES_LOST_SECONDS=LOST_SECONDS)

    def start_worker(self) -> Process:
        return self.stack.start_worker(concurrency=CHILDREN)

    def replace(self, processes: list[Process], at: int, start: Callable[[], Process]) -> None:
        if not processes[at].running:
            processes[at] = start()

    def kill_child(self) -> bool:
        children = [child for worker in self.workers for child in worker.children()]
        if not children:
            return False
        try:
            self.random.choice(children).kill()
        except psutil.NoSuchProcess:
            return False
        return True

    def freeze_beat(self) -> bool:
        return self.freeze(self.random.choice(self.beats))

    def freeze_worker(self) -> bool:
        return self.freeze(self.random.choice(self.workers))

    def freeze(self, process: Process) -> bool:
        process.freeze()
        return self.mend_after(2, 20, process.thaw)

    # Servers

    def kill_redis(self) -> bool:
        if self.stack.redis.process is None:
            return False
        self.stack.redis.kill()
        return self.mend_after(1, 8, self.stack.redis.start)

    def flush_redis(self) -> bool:
        if self.stack.redis.process is None:
            return False
        self.stack.redis.thaw()
        self.stack.redis.flushall()
        return True

    def freeze_redis(self) -> bool:
        if self.stack.redis.process is None:
            return False
        self.stack.redis.freeze()
        return self.mend_after(1, 5, self.thaw_redis)

    def thaw_redis(self) -> None:
        if self.stack.redis.process is not None:
            self.stack.redis.thaw()

    def kill_database(self) -> bool:
        database = self.stack.postgres
        if database is None or database.process is None:
            return False
        database.kill()
        return self.mend_after(1, 8, database.start)

    # People

    def edit(self) -> bool:
        every: dict[str, Any] = self.random.choice(
            [{"every": self.random.randrange(12_000, 40_000)}, {"cron": "*/20 * * * * *"}]
        )
        return self.ask(lambda: service.update_routine(self.name(), **every))

    def pause(self) -> bool:
        until = self.random.choice([None, datetime.now(UTC) + timedelta(seconds=self.random.uniform(1, 15))])
        return self.ask(lambda: service.pause_routine(self.name(), until=until))

    def resume(self) -> bool:
        return self.ask(
            lambda: service.resume_routine(self.name(), release=self.random.choice(["SKIP", "LAST", "ALL"]))
        )

    def cancel(self) -> bool:
        def cancel_some() -> None:
            active = RoutineRun.objects.filter(status__in=["PENDING", "RUNNING"]).order_by("id")
            found = list(active.values_list("id", flat=True)[:20])
            if found:
                service.cancel_run(self.random.choice(found))

        return self.ask(cancel_some)

    def run_now(self) -> bool:
        return self.ask(lambda: service.run_now(self.name()))

    def flood(self) -> bool:
        return self.ask(lambda: [service.run_now(self.name()) for _ in range(30)])

    def hint(self) -> bool:
        soon = datetime.now(UTC) + timedelta(seconds=2)
        verbs: list[Callable[[], object]] = [
            lambda: service.propose_interval(self.name(), "10s", ttl="30s"),
            lambda: service.propose_next_time(self.name(), soon, ttl="30s"),
            lambda: service.clear_hints(self.name()),
        ]
        return self.ask(self.random.choice(verbs))

    def reset(self) -> bool:
        return self.ask(lambda: service.reset_routine(self.name()))

    def name(self) -> str:
        return self.random.choice(self.names)

    def ask(self, verb: Callable[[], object]) -> bool:
        """A verb that makes no sense now is refused; a database that is away is somebody else's act."""
        try:
            verb()
        except service.RoutineError:
            self.refused += 1
            return False
        except (DatabaseError, InterfaceError):
            connection.close()
            return False
        return True


ACTS: dict[str, tuple[int, Callable[[Nemesis], bool]]] = {
    "kill -9 a beat": (5, Nemesis.kill_beat),
    "kill -9 a worker": (4, Nemesis.kill_worker),
    "kill -9 a child": (8, Nemesis.kill_child),
    "freeze a beat": (4, Nemesis.freeze_beat),
    "freeze a worker": (3, Nemesis.freeze_worker),
    "kill Redis": (2, Nemesis.kill_redis),
    "flush Redis": (3, Nemesis.flush_redis),
    "freeze Redis": (2, Nemesis.freeze_redis),
    "kill the database": (2, Nemesis.kill_database),
    "edit": (10, Nemesis.edit),
    "pause": (8, Nemesis.pause),
    "resume": (14, Nemesis.resume),
    "cancel": (8, Nemesis.cancel),
    "run now": (12, Nemesis.run_now),
    "flood": (2, Nemesis.flood),
    "hint": (8, Nemesis.hint),
    "reset": (4, Nemesis.reset),
}
