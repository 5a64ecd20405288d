"""A batch does to each routine what pausing and resuming it by itself does: the same plans, rows and history."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from django.db.models import QuerySet

from routines_app import service
from routines_app.core.words import CatchUpPolicy
from routines_app.models import ChangeKind, PauseBatch, Routine, RoutineRun, RoutineState, ScheduleChange
from routines_app.protocol.claim.claim import claim_due
from tests.integration.conftest import MONDAY, Time
from tests.integration.verbs.rows import running_run, waiting_run

Make = Callable[..., Routine]

TWINS = 24
OF_RUNS = ["status", "reason", "trigger", "source", "scheduled_for", "scheduled_until", "occurrences", "attempt"]
OF_RUNS += ["next_planned_for", "eligible_at", "completed_at", "publish_after", "admitted_at", "dispatched_at"]
OF_CHANGES = ["kind", "at", "actor", "reason", "before", "after", "next_slot"]
OF_ROUTINES = ["status", "paused_until", "pause_reason", "pause_batch_id", "version"]


def policies(random: Random) -> dict[str, Any]:
    """A schedule of any kind, with any way of catching up and of overlapping."""
    schedule = random.choice(
        [
            {"every": "10m"},
            {"every": "7m", "min_interval_ms": 900_000},
            {"cron": "*/5 * * * *"},
            {"cron": "30 2 * * *", "timezone": "Europe/Berlin"},
            {"cron": "0 * * * *", "end_at": MONDAY + timedelta(hours=3)},
            {"at": MONDAY + timedelta(minutes=45)},
            {"at": MONDAY + timedelta(days=3)},
            {},
        ]
    )
    return schedule | {
        "catch_up_policy": random.choice([*CatchUpPolicy]),
        "concurrency_policy": random.choice(["ALLOW", "FORBID", "QUEUE"]),
    }


def begun(routine: Routine, random: Random, number: int) -> None:
    """Hints, and runs that wait, run or were sent."""
    hint = random.choice(["none", "none", "interval", "once", "factor", "gone"])
    if hint == "interval" and routine.trigger_kind != "ONCE":
        service.propose_interval(routine, "3m", ttl="2h")
    elif hint == "once" and routine.trigger_kind != "ONCE":
        service.propose_next_time(routine, MONDAY + timedelta(minutes=50), ttl="3h")
    elif hint == "factor" and routine.trigger_kind in ("CRON", "INTERVAL"):
        service.propose_factor(3, routine=routine, ttl="2d")
    elif hint == "gone" and routine.trigger_kind == "INTERVAL":
        service.propose_interval(routine, "1h", ttl="90m")
    waits = {"eligible_at": MONDAY + timedelta(minutes=random.choice([0, 400])), "scheduled_for": MONDAY}
    match random.choice(["", "waits", "sent", "runs", "asked"]):
        case "waits":
            waiting_run(routine, number, **waits)
        case "sent":
            waiting_run(routine, number, dispatched_at=MONDAY, **waits)
        case "runs":
            running_run(routine, number, scheduled_for=MONDAY)
        case "asked":
            waiting_run(routine, number, requested_at=MONDAY, **waits)


def of(routine: Routine) -> dict[str, Any]:
    """Everything that is stored about it, but ids and names."""
    state = RoutineState.objects.values().get(pk=routine.pk)
    del state["routine_id"]
    changes = [
        {**change, "after": {field: value for field, value in change["after"].items() if field != "batch"}}
        for change in _changes(routine).order_by("id").values(*OF_CHANGES)
    ]
    return {
        "routine": Routine.objects.values(*OF_ROUTINES).get(pk=routine.pk),
        "state": state,
        "runs": list(RoutineRun.objects.filter(routine=routine).order_by("scheduled_for", "id").values(*OF_RUNS)),
        "changes": changes,
    }


def _changes(routine: Routine) -> QuerySet[ScheduleChange]:
    return ScheduleChange.objects.filter(routine=routine).exclude(kind=ChangeKind.CREATED)


@pytest.mark.parametrize("release", [*CatchUpPolicy])
@pytest.mark.parametrize(
    "until", [None, timedelta(hours=1, minutes=7), timedelta(days=2)], ids=["open", "over", "later"]
)
def test_a_batch_does_what_each_by_itself_gets(
    make: Make, time: Time, release: CatchUpPolicy, until: timedelta | None
) -> None:
    """Twins: one goes with the batch, the other by itself; afterwards a beat goes on with both."""
    seed = [*CatchUpPolicy].index(release) + (0 if until is None else until.seconds)
    pairs = []
    for number in range(TWINS):
        wanted = policies(Random(f"{seed} {number}"))
        twins = [make(f"{kind} {number:02}", tags=[kind], **wanted) for kind in ("batch", "alone")]
        for place, twin in enumerate(twins):
            begun(twin, Random(f"{seed} {number} begun"), number * 2 + place)
        pairs.append(twins)
    time.pass_by(minutes=41)
    claim_due(time.now)  # what catches up is in the middle of that
    time.pass_by(minutes=2)
    ends = None if until is None else time.now + until

    service.pause_batch("night", tag="batch", until=ends, reason="a sale", actor="ann")
    for _, alone in pairs:
        service.pause_routine(alone, until=ends, reason="a sale", actor="ann")
    for taken, alone in pairs:
        # The link is all that differs, and the batch's name in the history.
        assert {**of(taken)["routine"], "pause_batch_id": None} == of(alone)["routine"]
        assert of(taken)["state"] == of(alone)["state"]
        assert (of(taken)["runs"], of(taken)["changes"]) == (of(alone)["runs"], of(alone)["changes"])

    time.pass_by(hours=4, minutes=3)
    done = service.resume_pause_batch("night", release=release, actor="bob", reason="over")
    for _, alone in pairs:
        service.resume_routine(alone, release=release, actor="bob", reason="over")
    assert (done.batch.resumed, done.refused, done.batch.is_open) == (TWINS, [], None)
    for taken, alone in pairs:
        assert of(taken) == of(alone)

    assert RoutineRun.objects.filter(reason="paused").exists() == (release is CatchUpPolicy.SKIP)
    time.pass_by(minutes=1)
    while claim_due(time.now).claimed:
        pass
    assert [str(each) for each in service.audit(MONDAY, now=time.now).imbalances] == []
    assert not PauseBatch.objects.filter(is_open=True).exists()
