"""The state machine: two beats, two workers' bodies, a reconciler and a user, in any order, cut off at any point."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from routines_app import service
from routines_app.models import Pool, Routine, RoutineRun, RoutineState, ScheduleChange
from tests.model.invariants import check_rest, check_step, is_at_rest
from tests.model.people import Beat, Workers
from tests.model.world import World

NOTE = "tests.acceptance.tasks.note"
QUICK: dict[str, Any] = {
    "max_attempts": 2,
    "retry_delay_ms": 1000,
    "retry_jitter": 0,
    "keep_result": False,
    "misfire_grace_ms": 2000,
    "task": NOTE,
}
ROUTINES: dict[str, dict[str, Any]] = {
    "allow": {"every": "3s", "catch_up_policy": "LAST", "misfire_grace_ms": 2000},
    "forbid": {"cron": "*/4 * * * * *", "concurrency_policy": "FORBID", "misfire_grace_ms": 5000},
    "replace": {"every": "5s", "concurrency_policy": "REPLACE"},
    "queue": {"every": "3s", "concurrency_policy": "QUEUE", "misfire_grace_ms": 5000, "catch_up_policy": "LAST"},
    "queue pooled": {"cron": "*/2 * * * * *", "concurrency_policy": "QUEUE", "pool": "narrow", "jitter_ms": 1500},
    "edited": {"every": "4s", "concurrency_policy": "QUEUE", "catch_up_policy": "ALL", "catch_up_limit": 4},
    "pooled": {"cron": "*/3 * * * * *", "pool": "narrow"},
    "also pooled": {"every": "4s", "pool": "narrow", "jitter_ms": 2000, "priority": "HIGH"},
    "all": {"every": "6s", "catch_up_policy": "ALL", "misfire_grace_ms": 1000, "catch_up_limit": 4},
    "all cron": {
        "cron": "*/7 * * * * *",
        "catch_up_policy": "ALL",
        "catch_up_limit": 8,
        "concurrency_policy": "FORBID",
    },
    "clamped": {"cron": "*/2 * * * * *", "min_interval_ms": 5000, "misfire_grace_ms": 3000},
    "pulled": {"every": "9s", "max_interval_ms": 4000, "min_interval_ms": 2000, "catch_up_policy": "LAST"},
    "parks": {"every": "3s", "park_after": 2, "max_attempts": 1},
}
BEATS = st.sampled_from([0, 1])
NAMES = st.sampled_from(sorted(ROUTINES))
TICK_CUTS = st.sampled_from(["", "", "", "before commit", "after commit", "after publish", "slow after commit"])
SCHEDULES = st.sampled_from([{"every": "2s"}, {"every": "7s"}, {"cron": "*/3 * * * * *"}, {"cron": "1-59/5 * * * * *"}])


class Protocol(RuleBasedStateMachine):
    """Rows of a small deployment, under whatever hypothesis thinks of."""

    def __init__(self) -> None:
        super().__init__()
        for model in (RoutineRun, ScheduleChange, RoutineState, Routine, Pool):
            model.objects.all().delete()
        self.world = World()
        self.entered = self.world.entered()
        self.entered.__enter__()
        self.began = self.world.now
        self.beats = [Beat(self.world), Beat(self.world)]
        self.workers = Workers(self.world)
        Pool.objects.create(name="narrow", max_concurrent=2)
        for name, policies in ROUTINES.items():
            service.create_routine(name, **(QUICK | policies))

    # Time and the outside

    @rule(seconds=st.sampled_from([0.4, 1, 2, 5, 12, 30, 61]))
    def time_passes(self, seconds: float) -> None:
        self.world.advance(seconds)

    @rule(what=st.sampled_from(["leases", "messages", "redis away", "redis back", "broker away", "broker back"]))
    def the_outside_fails(self, what: str) -> None:
        match what.split():
            case ["leases"]:
                self.world.leases.clear()
            case ["messages"]:
                self.world.queue.clear()
            case ["redis", state]:
                self.world.redis_away = state == "away"
            case ["broker", state]:
                self.world.broker_away = state == "away"

    # Beats

    @rule(beat=BEATS, cut_at=TICK_CUTS)
    def a_beat_ticks(self, beat: int, cut_at: str) -> None:
        self.beats[beat].tick(cut_at)

    @rule(beat=BEATS)
    def a_slow_beat_publishes(self, beat: int) -> None:
        self.beats[beat].send_late()

    @rule(beat=BEATS)
    def a_beat_reconciles(self, beat: int) -> None:
        self.beats[beat].reconcile()

    # Workers

    @precondition(lambda self: self.world.queue)
    @rule(
        index=st.integers(0, 9),
        cut_at=st.sampled_from(["", "", "", "", "before start", "after start"]),
        again=st.booleans(),
    )
    def a_worker_takes_a_message(self, index: int, cut_at: str, again: bool) -> None:
        self.workers.take(index, cut_at, again=again)

    @precondition(lambda self: self.workers.bodies)
    @rule(
        index=st.integers(0, 9),
        outcome=st.sampled_from(["success", "success", "failure", "interrupted"]),
        cut_at=st.sampled_from(["", "", "", "before finish"]),
    )
    def a_body_ends(self, index: int, outcome: str, cut_at: str) -> None:
        self.workers.end(index, outcome, cut_at)

    @precondition(lambda self: self.workers.bodies)
    @rule()
    def hearts_beat(self) -> None:
        self.workers.beat_hearts()

    # The user

    @rule(name=NAMES)
    def the_user_runs_now(self, name: str) -> None:
        service.run_now(name)

    @rule(name=NAMES, seconds=st.sampled_from([None, 3, 20]))
    def the_user_pauses(self, name: str, seconds: int | None) -> None:
        until = None if seconds is None else self.world.now + timedelta(seconds=seconds)
        self.try_verb(service.pause_routine, name, until=until)

    @rule(name=NAMES, release=st.sampled_from(["SKIP", "LAST", "ALL"]))
    def the_user_resumes(self, name: str, release: str) -> None:
        self.try_verb(service.resume_routine, name, release=release)

    @rule(name=NAMES, schedule=SCHEDULES)
    def the_user_edits(self, name: str, schedule: dict[str, str]) -> None:
        self.try_verb(service.update_routine, name, **schedule)

    @rule(name=NAMES, seconds=st.sampled_from([1, 4, 20]))
    def the_user_asks_for_one_moment(self, name: str, seconds: int) -> None:
        self.try_verb(service.update_routine, name, at=self.world.now + timedelta(seconds=seconds))

    @rule(policy=st.sampled_from(["FORBID", "REPLACE", "QUEUE"]))
    def the_user_changes_the_policy(self, policy: str) -> None:
        self.try_verb(service.update_routine, "edited", concurrency_policy=policy)

    @rule(index=st.integers(0, 30))
    def the_user_cancels(self, index: int) -> None:
        active = list(RoutineRun.objects.filter(status__in=["PENDING", "RUNNING"]).order_by("id"))
        if active:
            service.cancel_run(active[index % len(active)].pk)

    @rule(name=NAMES, seconds=st.sampled_from([1, 2, 9]), ttl=st.sampled_from(["3s", "20s", "2m"]))
    def the_user_hints_an_interval(self, name: str, seconds: int, ttl: str) -> None:
        self.try_verb(service.propose_interval, name, f"{seconds}s", ttl=ttl)

    @rule(name=NAMES, seconds=st.sampled_from([-3, 0, 1.5, 8]), ttl=st.sampled_from([None, "9s", "20s"]))
    def the_user_hints_a_time(self, name: str, seconds: float, ttl: str | None) -> None:
        self.try_verb(service.propose_next_time, name, self.world.now + timedelta(seconds=seconds), ttl=ttl)

    @rule(name=NAMES, factor=st.sampled_from([0.3, 1, 2, 5]), ttl=st.sampled_from(["3s", "20s", "2m"]))
    def the_user_hints_a_factor(self, name: str, factor: float, ttl: str) -> None:
        self.try_verb(service.propose_factor, factor, routine=name, ttl=ttl)

    @rule(pool=st.just("narrow"), factor=st.sampled_from([1, 3]), ttl=st.sampled_from(["3s", "20s"]))
    def the_user_slows_a_pool_down(self, pool: str, factor: float, ttl: str) -> None:
        service.propose_factor(factor, pool=pool, ttl=ttl)

    @rule(name=NAMES)
    def the_user_clears_hints(self, name: str) -> None:
        service.clear_hints(name)

    @rule(name=NAMES)
    def the_user_resets(self, name: str) -> None:
        self.try_verb(service.reset_routine, name)

    def try_verb(self, verb: Any, *args: Any, **kwargs: Any) -> None:
        """A verb that makes no sense in this state is refused, and that is all right."""
        try:
            verb(*args, **kwargs)
        except service.RoutineError:
            return

    # What holds

    @invariant()
    def the_ledger_balances_and_each_body_starts_once(self) -> None:
        check_step()
        assert max(self.workers.starts.values(), default=0) <= 1
        assert max(self.workers.recorded.values(), default=0) <= 1

    def teardown(self) -> None:
        try:
            self.come_to_rest()
        finally:
            self.entered.__exit__(None, None, None)

    def come_to_rest(self) -> None:
        """Nobody crashes any more and nobody asks for anything: everything that is owed happens."""
        self.world.redis_away = self.world.broker_away = False
        for beat in self.beats:
            beat.send_late()
        for name in ROUTINES:
            self.try_verb(service.resume_routine, name)
            self.try_verb(service.reset_routine, name)
        # Long enough for leases to run out, silence to be noticed, and messages to be missed again and again.
        for seconds in (1, 30, 31, 60, 120, 400, 4000):
            self.round()
            self.world.advance(seconds)
        for _ in range(100):
            self.round()
            if is_at_rest(self.world.now):
                break
        check_step()
        check_rest(self.world.now, self.began)

    def round(self) -> None:
        """Everybody does what there is to do now."""
        for beat in self.beats:
            beat.tick()
            beat.reconcile()
        while self.world.queue:
            self.workers.take(0)
        self.workers.beat_hearts()
        while self.workers.bodies:
            self.workers.end(0, "success")
