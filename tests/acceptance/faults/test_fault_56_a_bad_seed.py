"""Fault 56: a seed callable that hangs, raises or yields nonsense costs that tick's seeding, visibly, and no more."""

from __future__ import annotations

from routines_app import service
from routines_app.core.rotation import SEEDING
from routines_app.core.words import Reason, RunStatus
from routines_app.models import Routine, RoutineRun
from tests.acceptance.fault import NOTE, Fault, ready_beats
from tests.acceptance.seeds import GOOD
from tests.acceptance.stack import Stack


def test_fault_56_a_bad_seed_fails_by_itself_and_the_ticks_go_on(stack: Stack, fault: Fault) -> None:
    """Each bad seeding is a FAILED run that says why; its tick has picked, and a later one seeds as ever."""
    stack.worker()
    stack.beat()
    ready_beats(stack, 1)
    rotation = service.create_rotation(
        "feeds",
        every="1s",
        max_in_flight=50,
        fresh_for="0s",
        task=NOTE,
        seed="tests.acceptance.seeds.worse_and_worse",
        timeout_ms=2_000,
        park_after=1,
        allow_unknown_task=True,
    )
    service.add_members(rotation, ["there"])
    seedings = RoutineRun.objects.filter(routine_id=rotation.pk, phase=SEEDING).order_by("id")
    stack.wait_until(lambda: seedings.filter(status=RunStatus.SUCCESS).exists(), 90, "no seeding was good in the end")

    hung, raised, nonsense, good = seedings[:4]
    assert [(run.status, run.reason) for run in (hung, raised, nonsense, good)] == [
        (RunStatus.FAILED, Reason.TIMEOUT),
        (RunStatus.FAILED, Reason.EXCEPTION),
        (RunStatus.FAILED, Reason.EXCEPTION),
        (RunStatus.SUCCESS, ""),
    ]
    assert "the source went away" in raised.error
    assert "seed[1].nam" in nonsense.error
    assert good.result["created"] == len(GOOD)
    assert set(Routine.objects.filter(rotation=rotation).values_list("name", flat=True)) == {"there", *GOOD}

    ticks = RoutineRun.objects.filter(routine_id=rotation.pk, rotation=None)
    assert ticks.get(pk=hung.tick).reason == Reason.PICKED
    meanwhile = ticks.filter(scheduled_for__gt=hung.started_at, scheduled_for__lt=hung.completed_at)
    assert meanwhile.exists()
    assert {tick.result["seeding"] for tick in meanwhile} <= {"still running", None}  # None: it idled, and did not look
    routine = Routine.objects.select_related("state").get(pk=rotation.pk)
    assert (routine.status, routine.state.failure_count) == ("ACTIVE", 0)
    assert hung.completed_at is not None
    assert raised.started_at is not None
    fault.recovered(
        (raised.started_at - hung.completed_at).total_seconds(), 5, "56: the next tick seeds after one hung"
    )
    fault.balances(stack)
