"""Random fleets in the middle of their work, the same for the same seed: for tests of what a look does with them."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import count
from random import Random
from typing import Any

from django.apps import apps

from routines_app.core.triggers import CronTrigger, next_slot
from routines_app.core.words import (
    CatchUpPolicy,
    ConcurrencyPolicy,
    Priority,
    Reason,
    RoutineStatus,
    RunStatus,
    RunTrigger,
    Source,
)
from routines_app.models import Pool, Routine, RoutineRun, RoutineState
from routines_app.protocol.plan.planning import fingerprint_of
from tests.integration.conftest import NOTE
from tests.integration.verbs.rows import made_at


def everything() -> dict[str, list[dict[str, Any]]]:
    """All tables of ours, row by row."""
    models = apps.get_app_config("routines").get_models()
    return {model.__name__: list(model.objects.order_by("pk").values()) for model in models}  # type: ignore[attr-defined]


POLICIES = tuple(ConcurrencyPolicy)
SECOND = timedelta(seconds=1)


class Fleet:
    """Pools, routines that are due, late, paused or parked, and runs in every state that a look may meet.

    No two runs are eligible at the same microsecond: between two that rank the same the ids decide, which are random.
    """

    def __init__(self, seed: int, now: datetime, size: int = 14) -> None:
        self.random = Random(seed)
        self.now = now
        self._numbers = count(1)
        self.pools = [
            Pool.objects.create(name=f"pool {number}", max_concurrent=self.random.randint(1, 4)) for number in range(3)
        ]
        self.default = self.pools[2] if seed % 2 else None
        if self.default is not None:
            Pool.objects.filter(pk=self.default.pk).update(is_default=True)
        for number in range(size):
            self._routine(number)

    def _ago(self, *choices: float) -> datetime:
        """About so many seconds before now, at a moment of its own."""
        seconds = self.random.choice(choices)
        return self.now - timedelta(seconds=seconds, microseconds=1000 * next(self._numbers))

    def _maybe(self, chance: float) -> bool:
        return self.random.random() < chance

    def _routine(self, number: int) -> None:
        choice = self.random.choice
        every = choice([30_000, 600_000, 3_600_000])
        cron = f"{number} */10 * * * *" if self._maybe(0.25) else ""  # at a second of its own
        catch_up = choice([*CatchUpPolicy])
        status = choice([*[RoutineStatus.ACTIVE] * 6, RoutineStatus.PAUSED, RoutineStatus.PARKED])
        routine = Routine.objects.create(
            name=f"routine {number:02}",
            task=NOTE,
            trigger_kind="CRON" if cron else "INTERVAL",
            cron=cron,
            interval_ms=None if cron else every,
            jitter_ms=choice([0, 0, 0, 20_000]),
            status=status,
            paused_until=self._ago(5) if status == RoutineStatus.PAUSED and self._maybe(0.5) else None,
            priority=choice([*Priority]),
            emphasis=choice([0.0, 1.0, 2.5]),
            depth=choice([0, 0, 1, 3]),
            concurrency_policy=choice(POLICIES),
            pool=choice([None, *self.pools]),
            catch_up_policy=catch_up,
            # Claim after claim, an ALL catch-up in shadow goes on at once; a plan is about one look.
            shadow=number % 5 == 3 and catch_up != CatchUpPolicy.ALL,
            expires_ms=choice([None, None, 40_000]),
            created_at=self.now - timedelta(days=30 + number),
        )
        self._state(routine, timedelta(minutes=10) if cron else timedelta(milliseconds=every))
        for _ in range(choice([0, 1, 1, 2, 3])):
            self._run(routine)
        if self._maybe(0.4):
            self._running(routine)

    def _state(self, routine: Routine, every: timedelta) -> None:
        slot = self._ago(0, 0, 10, 45, 400, 5_000, -500)
        if routine.cron:
            found = next_slot(CronTrigger(expression=routine.cron, timezone="UTC"), slot - every)
            assert found is not None
            slot = found
        awake = routine.status == RoutineStatus.ACTIVE
        baseline = Source.BASELINE_CRON if routine.cron else Source.BASELINE_INTERVAL
        RoutineState.objects.create(
            routine=routine,
            last_slot=slot - every,
            next_slot=slot,
            slot_source=baseline,
            grid_from=None if routine.cron else slot,
            next_run_at=slot if awake else routine.paused_until,
            next_source=baseline if awake else Source[routine.status],
            fingerprint=fingerprint_of(routine),
            last_success_at=None if self._maybe(0.3) else self._ago(60, 6_000, 600_000),
            **self._hint(),
        )

    def _hint(self) -> dict[str, Any]:
        """Most have none; it ends soon, or is over and nobody has looked since."""
        expires_at = self._ago(30, -600, -4_000)
        hints: list[dict[str, Any]] = [
            {"hint_interval_ms": self.random.choice([20_000, 1_200_000]), "hint_interval_expires_at": expires_at},
            {"hint_factor": self.random.choice([0.5, 3.0]), "hint_factor_expires_at": expires_at},
            {"hint_next_at": self._ago(-100), "hint_next_expires_at": self._ago(-1_900)},
        ]
        return self.random.choice(hints) if self._maybe(0.2) else {}

    def _run(self, routine: Routine) -> None:
        """A PENDING one: in the broker, on its way there, or held for one of the reasons."""
        slot = self._ago(1, 20, 60, 4_000)
        is_held = routine.status != RoutineStatus.ACTIVE
        trigger = self.random.choice([RunTrigger.SCHEDULE, RunTrigger.SCHEDULE, RunTrigger.RETRY, RunTrigger.MANUAL])
        past, soon = self._ago(1), self._ago(-3)
        standings: list[dict[str, Any]] = [
            {"admitted_at": past, "publish_after": soon, "dispatched_at": past},
            {"admitted_at": past, "publish_after": soon},
            {"admitted_at": past, "publish_after": past},
            {"publish_after": past, "reason": Reason.NOT_YET},
            {"publish_after": soon, "reason": Reason.NOT_YET},
            {"publish_after": past, "reason": Reason.OVERLAP},
            {"publish_after": past, "reason": Reason.LEASE_HELD},
            {"publish_after": past, "reason": Reason.REPLACING},
        ]
        if routine.pool_id is not None or self.default is not None:
            standings += [{"reason": Reason.CEILING}] * 6
        standing = self.random.choice(standings)
        if is_held and trigger != RunTrigger.MANUAL and "dispatched_at" not in standing:
            standing = {"reason": Reason(routine.status.lower())}
        self._insert(routine, slot, trigger=trigger, **standing)

    def _running(self, routine: Routine) -> None:
        asked = self._ago(2, 60) if self._maybe(0.3) else None
        self._insert(
            routine,
            self._ago(100),
            status=RunStatus.RUNNING,
            reason=Reason.OVERDUE if asked and self._maybe(0.3) else "",
            admitted_at=self._ago(99),
            dispatched_at=self._ago(99),
            started_at=self._ago(98),
            heartbeat_at=self._ago(1),
            stop_requested_at=asked,
            stop_reason=Reason.REPLACED if asked else "",
            running_key=routine.pk if routine.is_exclusive else None,
        )

    def _insert(self, routine: Routine, slot: datetime, **values: Any) -> None:
        number = next(self._numbers)
        RoutineRun.objects.create(
            id=made_at(self.now - timedelta(minutes=10) + timedelta(milliseconds=number)),
            routine=routine,
            task=routine.task,
            pool=routine.pool or (self.default if number % 4 else None),  # some are yet to be taken in
            scheduled_for=slot,
            eligible_at=slot,
            idempotency_key=f"fleet:{number}",
            requested_at=slot if values.get("trigger") == RunTrigger.MANUAL else None,
            **values,
        )
