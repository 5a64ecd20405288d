"""The state machine of hints: the real verbs and claims, and a user who hints, pauses and edits clamps all the time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from routines_app import service
from routines_app.models import Pool, Routine, RoutineRun, RoutineState, ScheduleChange
from tests.model.distances import check_promises
from tests.model.invariants import check_rest, check_step, is_at_rest
from tests.model.machine import QUICK
from tests.model.people import Beat, Workers
from tests.model.world import World

ROUTINES: dict[str, dict[str, Any]] = {
    "cron": {"cron": "*/4 * * * * *", "min_interval_ms": 5000, "misfire_grace_ms": 5000},
    "uneven": {
        "cron": "0,5,7,30 * * * * *",
        "min_interval_ms": 6000,
        "max_interval_ms": 11_000,
        "catch_up_policy": "LAST",
    },
    "interval": {"every": "3s", "min_interval_ms": 5000, "concurrency_policy": "FORBID", "misfire_grace_ms": 3000},
    "all": {"every": "6s", "catch_up_policy": "ALL", "misfire_grace_ms": 1000, "catch_up_limit": 4},
    "manual": {"min_interval_ms": 3000},
}
ONCE = "once"  # which clamps say nothing about
NAMES = st.sampled_from([*sorted(ROUTINES), ONCE])
CLAMPED = st.sampled_from(sorted(ROUTINES))
TTLS = st.sampled_from(["3s", "9s", "25s", "100s"])


class Hinting(RuleBasedStateMachine):
    """A few routines, a beat that is often late, and hints of every kind."""

    def __init__(self) -> None:
        super().__init__()
        for model in (RoutineRun, ScheduleChange, RoutineState, Routine, Pool):
            model.objects.all().delete()
        self.world = World()
        self.entered = self.world.entered()
        self.entered.__enter__()
        self.began = self.world.now
        self.beat = Beat(self.world)
        self.workers = Workers(self.world)
        for name, policies in ROUTINES.items():
            service.create_routine(name, **(QUICK | policies))
        service.create_routine(ONCE, **QUICK, at=self.began + timedelta(seconds=9), catch_up_policy="LAST")

    @rule(seconds=st.sampled_from([0.4, 1, 2, 5, 12, 61]))
    def time_passes_without_a_beat(self, seconds: float) -> None:
        self.world.advance(seconds)

    @rule(seconds=st.sampled_from([3, 8, 20]))
    def time_passes(self, seconds: int) -> None:
        for _ in range(seconds):
            self.world.advance(1)
            self.beat.tick()

    @precondition(lambda self: self.world.queue or self.workers.bodies)
    @rule(outcome=st.sampled_from(["success", "success", "failure"]))
    def bodies_end(self, outcome: str) -> None:
        while self.world.queue:
            self.workers.take(0)
        while self.workers.bodies:
            self.workers.end(0, outcome)

    @rule(name=NAMES, seconds=st.sampled_from([1, 2, 9, 30]), ttl=TTLS)
    def the_user_hints_an_interval(self, name: str, seconds: int, ttl: str) -> None:
        self.try_verb(service.propose_interval, name, f"{seconds}s", ttl=ttl)

    @rule(name=NAMES, factor=st.sampled_from([0.5, 1, 2, 5]), ttl=TTLS)
    def the_user_hints_a_factor(self, name: str, factor: float, ttl: str) -> None:
        self.try_verb(service.propose_factor, factor, routine=name, ttl=ttl)

    @rule(name=NAMES, seconds=st.sampled_from([-3, 0, 1.5, 4, 8, 25]), ttl=st.none() | TTLS)
    def the_user_hints_a_time(self, name: str, seconds: float, ttl: str | None) -> None:
        self.try_verb(service.propose_next_time, name, self.world.now + timedelta(seconds=seconds), ttl=ttl)

    @rule(name=NAMES, whole=st.sampled_from([4, 8, 12, 20]))
    def the_user_hints_a_slot(self, name: str, whole: int) -> None:
        """Often one of the cron's own."""
        at = self.world.now.replace(microsecond=0, second=self.world.now.second // 4 * 4) + timedelta(seconds=whole)
        self.try_verb(service.propose_next_time, name, at)

    @rule(name=NAMES)
    def the_user_clears_hints(self, name: str) -> None:
        self.try_verb(service.clear_hints, name)

    @rule(seconds=st.sampled_from([0.5, 3, 8, 25]))
    def the_user_moves_the_moment(self, seconds: float) -> None:
        self.try_verb(service.update_routine, ONCE, at=self.world.now + timedelta(seconds=seconds))

    @rule(name=CLAMPED, low=st.sampled_from([None, 2000, 8000]), high=st.sampled_from([None, 9000]))
    def the_user_edits_the_clamps(self, name: str, low: int | None, high: int | None) -> None:
        self.try_verb(service.update_routine, name, min_interval_ms=low, max_interval_ms=high)

    @rule(name=NAMES, seconds=st.sampled_from([None, 3, 20]))
    def the_user_pauses(self, name: str, seconds: int | None) -> None:
        until = None if seconds is None else self.world.now + timedelta(seconds=seconds)
        self.try_verb(service.pause_routine, name, until=until)

    @rule(name=NAMES, release=st.sampled_from(["SKIP", "LAST", "ALL"]))
    def the_user_resumes(self, name: str, release: str) -> None:
        self.try_verb(service.resume_routine, name, release=release)

    def try_verb(self, verb: Any, *args: Any, **kwargs: Any) -> None:
        """A verb that makes no sense in this state is refused, and that is all right.

        It takes a moment, as everything does: nobody takes a one-shot back and asks for it again in one microsecond.
        """
        self.world.advance(0.001)
        try:
            verb(*args, **kwargs)
        except service.RoutineError:
            return

    @invariant()
    def the_ledger_balances_and_hints_keep_their_word(self) -> None:
        check_step()
        check_promises()

    def teardown(self) -> None:
        try:
            self.come_to_rest()
        finally:
            self.entered.__exit__(None, None, None)

    def come_to_rest(self) -> None:
        """Nobody asks for anything any more: whatever is owed happens, and all hints are over."""
        for name in (*ROUTINES, ONCE):
            self.try_verb(service.resume_routine, name)
        for seconds in (1, 30, 31, 100):
            self.round()
            self.world.advance(seconds)
        for _ in range(100):
            self.round()
            if is_at_rest(self.world.now):
                break
        check_step()
        check_promises()
        check_rest(self.world.now, self.began)

    def round(self) -> None:
        self.beat.tick()
        self.beat.reconcile()
        self.bodies_end("success")
