"""The protocol beside the core in thought: tick after tick over members of many kinds, pick by pick the same.

ROUTINES_ROTATION_TICKS asks for more of them. What happens goes by the members' names, so that every run is the same.
"""

from __future__ import annotations

import heapq
import os
from datetime import datetime, timedelta
from random import Random
from uuid import UUID

import pytest

from routines_app import service
from routines_app.core.ranking import BANDS
from routines_app.core.words import Priority, Reason, RunStatus
from routines_app.models import Rotation, RotationMember, Routine, RoutineRun, RoutineState
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.end.finish import finish
from routines_app.protocol.record.facts import RunFacts
from routines_app.protocol.record.outcome import cancelled, succeeded
from routines_app.protocol.run.start import Started, start
from tests.integration.conftest import NOTE, Time
from tests.integration.protocol.end.finishing import BROKEN
from tests.unit.core.rotating import Rotating, Thing

BUDGET = 3
POISONOUS = 3
"""It fails in its second phase, so often that it ranks with those that begin."""
TICKS = int(os.environ.get("ROUTINES_ROTATION_TICKS", "36"))
PHASES = [{"name": name, "task": NOTE} for name in ("plan", "build", "check")]
OUTCOMES = {
    RunStatus.SUCCESS: succeeded(None),
    RunStatus.FAILED: BROKEN,
    RunStatus.CANCELLED: cancelled(Reason.CANCELLED),
}


class Ends:
    """When and how an attempt ends: the same whoever asks, by the member's number, its phase and the time."""

    def __init__(self, numbers: dict[int, int]) -> None:
        self.numbers = numbers

    def __call__(self, thing: Thing, now: datetime) -> tuple[datetime, RunStatus]:
        number = self.numbers[thing.id]
        random = Random(f"{number} {thing.phase} {now.isoformat()}")
        if number == POISONOUS and thing.phase == 1:
            return now + timedelta(seconds=59), RunStatus.FAILED
        status = random.choices(list(OUTCOMES), [85, 12, 3])[0]
        return now + timedelta(seconds=random.choice([60, 600, 1500, 3000, 6000]) + number % 60), status


class Deployment:
    """The real thing, without workers: runs start at once, and end when their time has come."""

    def __init__(self, rotation: Rotation, time: Time, ends: Ends) -> None:
        self.rotation, self.time, self.ends = rotation, time, ends
        self.under_way: list[tuple[datetime, int, UUID, RunFacts, RunStatus]] = []

    def tick(self) -> tuple[str, list[tuple[int, int]]]:
        due = RoutineState.objects.get(pk=self.rotation.pk).next_run_at
        assert due is not None
        self._end_until(due)
        self.time.now = due
        claim_due(due)
        row = RoutineRun.objects.filter(routine_id=self.rotation.pk).latest("id")
        saw = row.result
        assert isinstance(saw, dict)
        for pick in saw["picked"]:
            self._begin(row.pk, pick["routine"])
        return row.reason, [(pick["routine"], place(pick["phase"])) for pick in saw["picked"]]

    def _begin(self, tick: UUID, routine_id: int) -> None:
        run = RoutineRun.objects.get(tick=tick, routine_id=routine_id)
        begun = start(run.pk, "test@here")
        assert isinstance(begun, Started)
        ended_at, status = self.ends(Thing(id=routine_id, phase=place(run.phase)), self.time.now)
        heapq.heappush(self.under_way, (ended_at, routine_id, run.pk, begun.facts, status))

    def _end_until(self, now: datetime) -> None:
        while self.under_way and self.under_way[0][0] <= now:
            self.time.now, _, _, facts, status = heapq.heappop(self.under_way)
            finish(facts, OUTCOMES[status])


def place(phase: str) -> int:
    return ["plan", "build", "check"].index(phase)


@pytest.mark.usefixtures("ledger", "short_lived_threads")
@pytest.mark.parametrize(
    ("count", "ticks", "fresh_for", "what"), [(30, TICKS // 2, "1s", "full"), (8, TICKS, "4h", "idle")]
)
def test_every_tick_picks_what_the_core_picks(time: Time, count: int, ticks: int, fresh_for: str, what: str) -> None:
    rotation = made(count, fresh_for)
    routines = list(Routine.objects.filter(rotation=rotation).order_by("pk"))
    ends = Ends({routine.pk: int(routine.name.removeprefix("feed ")) for routine in routines})
    in_thought = Rotating(
        [thing(routine) for routine in routines],
        budget=BUDGET,
        fresh_for=timedelta(milliseconds=rotation.fresh_for_ms),
        depth_weight=rotation.depth_weight,
        end=ends,
    )
    deployment = Deployment(rotation, time, ends)
    seen = set()
    for _ in range(ticks):
        ticked = deployment.tick()
        expected = in_thought.tick(time.now)
        assert ticked == (expected.what, expected.picks), f"at tick {expected.number}"
        seen.add(expected.what)
    rotation.refresh_from_db()
    assert (rotation.ticks, rotation.idle_multiplier) == (ticks, in_thought.idle.multiplier)
    assert seen >= {"picked", what}
    stand = {member.pk: (member.phase, member.failures) for member in RotationMember.objects.all()}
    assert stand == {each.id: (each.phase, each.failures) for each in in_thought.things.values()}
    assert max(failures for _, failures in stand.values()) >= (5 if ticks == TICKS else 4)


def made(count: int, fresh_for: str) -> Rotation:
    rotation = service.create_rotation("feeds", budget=BUDGET, fresh_for=fresh_for, phases=PHASES, depth_weight=0.7)
    wanted = [
        service.Member(
            name=f"feed {at}",
            task=NOTE,
            parent=f"feed {at // 10}" if at % 4 == 3 else None,
            emphasis=(1.0, 2.0)[at % 8 == 7],
            phases=PHASES[: at % 3 + 1] if at % 5 == 0 else None,
        )
        for at in range(count)
    ]
    service.add_members(rotation, wanted)
    for at in range(0, count, 23):
        service.update_routine(f"feed {at}", priority=(Priority.HIGH, Priority.LOW)[at % 2])
    return rotation


def thing(routine: Routine) -> Thing:
    return Thing(
        id=routine.pk,
        phases=len(routine.phases or PHASES),
        band=BANDS[Priority(routine.priority)],
        depth=routine.depth,
        emphasis=routine.emphasis,
    )
