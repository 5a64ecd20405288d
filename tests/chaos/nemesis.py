"""The nemesis: kills, freezes, locks, steps clocks, floods and edits at random, the same for the same seed."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Any

import psutil
import psycopg
import redis

from tests.acceptance.databases import ROOT
from tests.acceptance.nursery import PATHS
from tests.acceptance.process import Process
from tests.acceptance.stack import Stack
from tests.chaos.attendance import Attendance
from tests.chaos.people import People
from tests.chaos.router import HARMS
from tests.chaos.stranger import ROWS, Stranger

BEATS, WORKERS, CHILDREN = 3, 3, 2
STEPS = (-3600, -90, 90, 3600)  # seconds
LEAVE_SECONDS = 2.0
STEPPED_CLOCK = ROOT / "tests/acceptance/wall_clock"
LOST_SECONDS = "10"  # with the usual 45 s, and 90 s, a few minutes would hardly show that messages come back


class Nemesis(People):
    """Breaks a stack, and mends what it broke after a while."""

    def __init__(
        self, stack: Stack, random: Random, names: list[str], tell: Callable[[str], None], only: set[str] | None = None
    ) -> None:
        """`only` names groups of acts; all of them if it is empty."""
        self.acts = {kind: act for kind, act in ACTS.items() if not only or act.group in only}
        self.stack, self.tell = stack, tell
        super().__init__(random, names)
        self.beats: list[Process] = []
        self.workers: list[Process] = []
        self.injected: Counter[str] = Counter()
        self.to_mend: list[tuple[float, Callable[[], object]]] = []
        self.attendance = Attendance()
        self.frozen: set[int] = set()
        """Processes that were frozen at some time: of their bodies others may have thought that they are gone."""
        self.asleep: dict[int, float] = {}
        self.killed: set[int] = set()
        self.started_again = 0
        self.would_not_leave: list[str] = []
        self.routed_by = stack.directory / "router"
        self.raged_until = 0.0

    # What is there to be broken

    def start(self) -> None:
        """All at once: they wait more than they work."""
        self.beats = [self.start_beat() for _ in range(BEATS)]
        self.workers = [self.start_worker() for _ in range(WORKERS)]
        for process in self.workers:
            process.wait_for_log(" ready.", 60)
        if "hostile router" in self.acts:  # routes are remembered: the first time counts most
            self.misroute()

    def rage(self, seconds: float) -> None:
        """One act after another, until the time is over; then everything that is broken is mended."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.mend_due()
            self.act()
            time.sleep(self.random.uniform(0.3, 1.7))
        self.raged_until = time.monotonic()
        while self.to_mend:
            _, mend = self.to_mend.pop(0)
            mend()

    def act(self) -> None:
        kind = self.random.choices(list(self.acts), [act.weight for act in self.acts.values()])[0]
        if self.acts[kind].do(self):
            self.injected[kind] += 1
            self.tell(kind)

    def supervise(self) -> None:
        """Start workers again that have ended by themselves: kombu lets some die with their broker."""
        for at, worker in enumerate(self.workers):
            if not worker.running and worker.pid not in self.killed:
                self.workers[at] = self.start_worker()
                self.started_again += 1

    def mend_due(self) -> None:
        self.supervise()
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
        self.attendance.end(self.beats[at].pid)
        return self.mend_after(0.5, 4, lambda: self.replace(self.beats, at, self.start_beat))

    def stop_beat(self) -> bool:
        """As a deployment does. It leaves in time and in order, and another one takes its place."""
        at = self.random.randrange(BEATS)
        beat = self.beats[at]
        if not beat.running or beat.pid in self.asleep or not self.attendance.has_looked(beat.pid):
            return False  # before its first look it is not a beat yet, and has nothing to leave in order
        beat.terminate()
        self.attendance.end(beat.pid)
        try:
            code = beat.wait(LEAVE_SECONDS)
        except subprocess.TimeoutExpired:
            code = None
            beat.kill9()
        if code != 0:
            self.would_not_leave.append(f"{beat.name}: {'still there' if code is None else f'exit code {code}'}")
        self.beats[at] = self.start_beat()
        return True

    def kill_worker(self) -> bool:
        at = self.random.randrange(WORKERS)
        self.killed.add(self.workers[at].pid)
        self.workers[at].kill9()
        return self.mend_after(0.5, 6, lambda: self.replace(self.workers, at, self.start_worker))

    def start_beat(self) -> Process:
        looks = self.stack.directory / f"looks{len(self.stack.processes)}"
        environment = {"ROUTINES_LOST_SECONDS": LOST_SECONDS, "ROUTINES_LOOK_LOG": str(looks)}
        beat = self.stack.start_beat(**environment, **self.hooks())
        self.attendance.begin(beat.pid, beat.name, looks)
        return beat

    def start_worker(self) -> Process:
        hooks: dict[str, Any] = self.hooks()
        return self.stack.start_worker(concurrency=CHILDREN, **hooks)

    def hooks(self) -> dict[str, str]:
        """A wall clock of its own that can be stepped, and where the router looks."""
        step = self.stack.directory / f"step{len(self.stack.processes)}"
        step.write_text("0")
        hooks = {"ROUTINES_WALL_STEP": str(step), "ROUTINES_HOSTILE_ROUTER": str(self.routed_by)}
        return hooks | {"PYTHONPATH": f"{STEPPED_CLOCK}:{PATHS}"}

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
        self.frozen |= {process.pid, *(child.pid for child in process.children())}
        self.asleep.setdefault(process.pid, time.monotonic())
        process.freeze()
        return self.mend_after(2, 20, lambda: self.thaw(process))

    def thaw(self, process: Process) -> None:
        process.thaw()
        if process.pid in self.asleep:
            self.attendance.excuse(process.pid, self.asleep.pop(process.pid))

    def step_clock(self) -> bool:
        """An administrator sets the time of one process's machine, and later sets it right."""
        process = self.random.choice([*self.beats, *self.workers])
        step = self.stack.directory / f"step{process.name.lstrip('abcdefghijklmnopqrstuvwxyz')}"
        step.write_text(str(self.random.choice(STEPS)))
        return self.mend_after(3, 20, lambda: step.write_text("0"))

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

    def fill_redis(self) -> bool:
        """At its memory limit it refuses every write."""
        client = self.stack.redis.client()  # kept: workers that try again and again leave no room for a new one
        if self.stack.redis.process is None or not self.limit_redis(client, "1"):
            return False
        return self.mend_after(1, 8, lambda: self.empty_redis(client))

    def empty_redis(self, client: redis.Redis) -> None:
        """Again and again: it may be frozen. One that is gone comes back without any limit."""
        if self.stack.redis.process is not None and not self.limit_redis(client, "0"):
            self.mend_after(0.5, 0.5, lambda: self.empty_redis(client))

    def limit_redis(self, client: redis.Redis, size: str) -> bool:
        with suppress(redis.RedisError):
            client.config_set("maxmemory", size)
            return True
        return False

    def kill_database(self) -> bool:
        database = self.stack.postgres
        if database is None or database.process is None:
            return False
        killed_at = time.monotonic()
        database.kill()

        def start() -> None:
            database.start()
            self.attendance.excuse(None, killed_at)

        return self.mend_after(1, 8, start)

    # Strangers

    def hold_row(self) -> bool:
        """Somebody holds a row for some seconds, and is in no hurry."""
        seconds = self.random.uniform(3, 15)
        try:
            stranger = Stranger(self.stack.database_url, seconds)
        except psycopg.Error:
            return False
        if not stranger.hold(self.random.choice(list(ROWS)), self.random):
            return False
        return self.mend_after(seconds, seconds, stranger.go)

    def misroute(self) -> bool:
        self.routed_by.write_text(self.random.choice(HARMS))
        return self.mend_after(5, 15, lambda: self.routed_by.unlink(missing_ok=True))


@dataclass(frozen=True)
class Act:
    group: str
    weight: int
    do: Callable[[Nemesis], bool]


ACTS: dict[str, Act] = {
    "kill -9 a beat": Act("kills", 5, Nemesis.kill_beat),
    "kill -9 a worker": Act("kills", 4, Nemesis.kill_worker),
    "kill -9 a child": Act("kills", 8, Nemesis.kill_child),
    "SIGTERM to a beat": Act("sigterm", 5, Nemesis.stop_beat),
    "freeze a beat": Act("freezes", 4, Nemesis.freeze_beat),
    "freeze a worker": Act("freezes", 3, Nemesis.freeze_worker),
    "step a clock": Act("clocks", 5, Nemesis.step_clock),
    "kill Redis": Act("servers", 2, Nemesis.kill_redis),
    "flush Redis": Act("servers", 3, Nemesis.flush_redis),
    "freeze Redis": Act("servers", 2, Nemesis.freeze_redis),
    "fill Redis": Act("memory", 3, Nemesis.fill_redis),
    "kill the database": Act("servers", 2, Nemesis.kill_database),
    "hold a row": Act("locks", 8, Nemesis.hold_row),
    "hostile router": Act("routers", 3, Nemesis.misroute),
    "hold the GIL": Act("gil", 3, Nemesis.hold_gil),
    "edit": Act("people", 10, Nemesis.edit),
    "pause": Act("people", 8, Nemesis.pause),
    "resume": Act("people", 14, Nemesis.resume),
    "cancel": Act("people", 8, Nemesis.cancel),
    "run now": Act("people", 12, Nemesis.run_now),
    "flood": Act("people", 2, Nemesis.flood),
    "hint": Act("people", 8, Nemesis.hint),
    "reset": Act("people", 4, Nemesis.reset),
    "rotate": Act("people", 8, Nemesis.rotate),
}
GROUPS = sorted({act.group for act in ACTS.values()})
