"""Whatever is paused, for however long, and resumed in whatever way: every slot of every kind of schedule is in the
ledger once. The real verbs and claims, hints and clamps, and a beat that is away at times."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from hypothesis import example, given, note
from hypothesis import strategies as st

from routines_app import service
from routines_app.core.words import RunStatus
from routines_app.models import PauseBatch, Routine, RoutineRun, RoutineState, ScheduleChange
from routines_app.protocol.claim.claim import claim_due
from tests.integration.conftest import Hours
from tests.integration.fuzzing import fuzzed
from tests.integration.verbs.test_hints_account import assert_balances

NAME, BATCH = "report", "night"


@dataclass(frozen=True)
class Passes:
    minutes: float
    beat: bool = True
    ends: bool = True
    """Whether runs end meanwhile, so that a catch-up goes on."""


@dataclass(frozen=True)
class Pauses:
    minutes: float | None
    as_batch: bool = False


@dataclass(frozen=True)
class Resumes:
    release: str


@dataclass(frozen=True)
class Hints:
    kind: str
    minutes: float
    """How long a hinted interval is, or until a hinted moment."""
    ttl: str


Step = Passes | Pauses | Resumes | Hints
MINUTES = st.sampled_from([0.5, 1, 4, 9.5, 10, 30, 61, 150])
PASSES = st.builds(Passes, MINUTES, st.booleans(), st.booleans())
PAUSES = st.builds(Pauses, st.none() | MINUTES, st.booleans())
RESUMES = st.builds(Resumes, st.sampled_from(["SKIP", "LAST", "ALL"]))
HINTS = st.builds(
    Hints, st.sampled_from(["interval", "moment", "factor"]), MINUTES, st.sampled_from(["20m", "3h", "2d"])
)
STEPS: st.SearchStrategy[list[Step]] = st.tuples(
    st.lists(PASSES | PAUSES | RESUMES | HINTS, max_size=4),
    st.tuples(PAUSES, PASSES, RESUMES),
    st.lists(PASSES | PAUSES | RESUMES | HINTS, max_size=4),
).map(lambda parts: [step for part in parts for step in part])

SCHEDULES: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {"cron": "*/10 * * * *"},
        {"cron": "0,7,20 * * * *"},
        {"cron": "30 */2 * * *"},
        {"every": "10m"},
        {"every": "7m"},
        {"every": "1h"},
        {"at": 9.5},
        {"at": 120},
    ]
)
BOUNDS = st.fixed_dictionaries(
    {
        "start_at": st.sampled_from([None, None, -30, 0.5, 25]),
        "end_at": st.sampled_from([None, 29.5, 60, 95, 200]),
    }
)
POLICIES = st.fixed_dictionaries(
    {
        "catch_up_policy": st.sampled_from(["SKIP", "LAST", "ALL"]),
        "concurrency_policy": st.sampled_from(["ALLOW", "FORBID", "REPLACE", "QUEUE"]),
        "misfire_grace_ms": st.sampled_from([0, 60_000, 3_600_000]),
        "catch_up_limit": st.sampled_from([None, None, 0, 2]),
        "min_interval_ms": st.sampled_from([None, None, None, 900_000, 36_000_000]),
    }
)


class Life:
    """A routine that somebody pauses, resumes and hints, alone or with a batch."""

    def __init__(self, hours: Hours, fields: dict[str, Any]) -> None:
        self.hours = hours
        hours.now = hours.began
        moments = {name: self.at(fields[name]) for name in ("at", "start_at", "end_at") if fields.get(name) is not None}
        hours.make(NAME, **(fields | moments))

    def at(self, minutes: float) -> datetime:
        return self.hours.now + timedelta(minutes=minutes)

    def do(self, step: Step) -> None:
        match step:
            case Passes(minutes, beat, ends):
                for _ in range(4):
                    self.hours.pass_by(minutes=minutes / 4, beat=beat)
                    if ends:
                        self.end_runs()
            case Pauses(minutes, as_batch):
                self.pause(None if minutes is None else self.at(minutes), as_batch=as_batch)
            case Resumes(release):
                self.resume(release)
            case Hints(kind, minutes, ttl):
                with suppress(service.RoutineError):  # one of which nothing could come
                    self.hint(kind, minutes, ttl)

    def pause(self, until: datetime | None, *, as_batch: bool) -> None:
        if as_batch and not service.list_pause_batches():
            service.pause_batch(BATCH, routines=Routine.objects.all(), until=until)
        else:
            service.pause_routine(NAME, until=until)

    def resume(self, release: str) -> None:
        if Routine.objects.get().pause_batch_id is not None:
            service.resume_pause_batch(BATCH, release=release)
        else:
            service.resume_routine(NAME, release=release)

    def hint(self, kind: str, minutes: float, ttl: str) -> None:
        match kind:
            case "interval":
                service.propose_interval(NAME, f"{minutes}m", ttl=ttl)
            case "moment":
                service.propose_next_time(NAME, self.at(minutes), ttl=ttl)
            case "factor":
                service.propose_factor(max(minutes / 10, 0.5), routine=NAME, ttl=ttl)

    def end_runs(self) -> None:
        for run in RoutineRun.objects.filter(status=RunStatus.PENDING):
            service.cancel_run(run)

    def come_to_rest(self) -> None:
        """No pause goes on, and whatever is due is claimed, now and when the audit asks for it."""
        self.resume("SKIP")
        for _ in range(2):
            while claim_due(self.hours.now).claimed:
                self.end_runs()
            self.end_runs()
            self.hours.now += timedelta(seconds=61)
        while claim_due(self.hours.now).claimed:
            self.end_runs()


SLOW = Hints("factor", 150, "2d")
AWAY = Passes(150, beat=False)


@fuzzed(20)
@example(
    schedule={"cron": "*/10 * * * *"}, bounds={"end_at": 95}, rules={}, steps=[SLOW, Pauses(30), AWAY, Resumes("SKIP")]
)
@example(
    schedule={"cron": "*/10 * * * *"},
    bounds={"end_at": 60},
    rules={"min_interval_ms": 36_000_000},
    steps=[Pauses(None, as_batch=True), Passes(30), Resumes("SKIP"), Passes(61)],
)
@given(schedule=SCHEDULES, bounds=BOUNDS, rules=POLICIES, steps=STEPS)
def test_fuzzed_pauses_leave_a_ledger_that_balances(
    hours: Hours, schedule: dict[str, Any], bounds: dict[str, Any], rules: dict[str, Any], steps: list[Step]
) -> None:
    """By the audit and by the oracle. In the first example a hint had left nothing to plan before the end, and slots
    between the end of the pause and the resume had no row."""
    for model in (RoutineRun, ScheduleChange, RoutineState, Routine, PauseBatch):
        model.objects.all().delete()  # of the example before: the oracle reads in a transaction of its own
    try:
        life = Life(hours, schedule | bounds | rules)
    except service.RoutineError:
        return  # no slot lies between its bounds
    for step in steps:
        life.do(step)
    life.come_to_rest()
    for run in RoutineRun.objects.order_by("scheduled_for"):
        note(f"{run.scheduled_for} {run.occurrences} {run.status} {run.reason} {run.next_planned_for}")
    assert_balances(hours)
