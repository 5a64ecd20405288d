"""Creating rotations, and the routines that name one."""

from __future__ import annotations

from typing import Any

import pytest

from routines_app import service
from routines_app.core.errors import DuplicateName, InvalidValue, NotAllowed, NotFound, RoutineError
from routines_app.core.rotation import TICK_TASK
from routines_app.core.words import MemberStatus
from routines_app.models import Rotation, RotationMember, Routine, ScheduleChange
from tests.integration.conftest import NOTE, Time

pytestmark = pytest.mark.django_db

PHASES = [{"name": "plan", "task": NOTE}, {"name": "build", "task": NOTE, "args": [1], "kwargs": {"deep": True}}]


def test_a_rotation_ticks_every_half_hour_unless_something_else_is_said(time: Time) -> None:
    """Its own routine is the clock: ALLOW, one attempt, the task that ticks."""
    rotation = service.create_rotation("feeds", actor="ada")
    routine = Routine.objects.get(name="feeds")
    assert (rotation.pk, rotation.budget, rotation.max_in_flight) == (routine.pk, 1, 1)
    assert (rotation.fresh_for_ms, rotation.depth_weight) == (86_400_000, 0.5)
    assert (routine.task, routine.interval_ms, routine.concurrency_policy) == (TICK_TASK, 1_800_000, "ALLOW")
    assert (routine.max_attempts, routine.state.next_run_at) == (1, time.pass_by(minutes=30))
    assert ScheduleChange.objects.get().after["budget"] == 1


def test_in_flight_as_many_as_the_budget_unless_something_else_is_said() -> None:
    assert service.create_rotation("a", cron="0 * * * *", budget=5).max_in_flight == 5
    assert service.create_rotation("b", budget=5, max_in_flight=2).max_in_flight == 2


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("budget", {"budget": 0}),
    ("budget", {"budget": 1_001}),
    ("budget", {"budget": "many"}),
    ("max_in_flight", {"max_in_flight": -1}),
    ("fresh_for", {"fresh_for": 5}),
    ("fresh_for", {"fresh_for": "soon"}),
    ("depth_weight", {"depth_weight": float("nan")}),
    ("depth_weight", {"depth_weight": -1}),
    ("task", {"task": "no.such.task"}),
    ("task", {"task": TICK_TASK}),
    ("seed", {"seed": "nowhere.at.all"}),
    ("seed", {"seed": "os.sep"}),
    ("seed", {"seed": "os; import sys"}),
    ("archive_vanished", {"archive_vanished": "yes"}),
    ("phases", {"phases": "plan"}),
    ("phases[0]", {"phases": ["plan"]}),
    ("phases[0].task", {"phases": [{"name": "plan"}]}),
    ("phases[0].name", {"phases": [{"name": "seed", "task": NOTE}]}),
    ("phases[0].name", {"phases": [{"name": "a:b", "task": NOTE}]}),
    ("phases[0].name", {"phases": [{"name": "x" * 65, "task": NOTE}]}),
    ("phases[0].taks", {"phases": [{"name": "plan", "taks": NOTE}]}),
    ("phases[1].args", {"phases": [PHASES[0], {"name": "b", "task": NOTE, "args": "no list"}]}),
    ("phases", {"phases": [PHASES[0], PHASES[0]]}),
    ("phases", {"phases": [{"name": str(number), "task": NOTE} for number in range(21)]}),
    ("phases", {"phases": [{"name": str(number), "task": NOTE, "args": ["x" * 60_000]} for number in range(20)]}),
    ("catch_up_policy", {"catch_up_policy": "ALL"}),
    ("concurrency_policy", {"concurrency_policy": "FORBID"}),
    ("max_attempts", {"max_attempts": 3}),
    ("args", {"args": [1]}),
    ("every", {"every": "0s"}),
    ("cron", {"cron": "0 0 31 2 *"}),
    ("shape", {"shape": "round"}),
]


@pytest.mark.parametrize(("field", "values"), REFUSED, ids=lambda value: str(value)[:60])
def test_what_no_rotation_can_be_is_refused_and_nothing_is_written(field: str, values: dict[str, Any]) -> None:
    with pytest.raises(RoutineError) as refused:
        service.create_rotation("feeds", **values)
    assert refused.value.field == field
    assert not Routine.objects.exists()
    assert not Rotation.objects.exists()


def test_a_name_is_unique_among_all_routines() -> None:
    service.create_routine("feeds", task=NOTE)
    with pytest.raises(DuplicateName):
        service.create_rotation("feeds")
    assert not Rotation.objects.exists()


def test_a_seed_or_a_task_that_only_workers_know_is_taken_when_asked_for() -> None:
    values: dict[str, Any] = {"seed": "elsewhere.members", "task": "elsewhere.poll"}
    rotation = service.create_rotation("feeds", **values, allow_unknown_task=True)
    assert (rotation.seed, rotation.member_task) == ("elsewhere.members", "elsewhere.poll")


def test_a_rotation_is_found_by_name_by_id_and_by_its_routine() -> None:
    rotation = service.create_rotation("feeds")
    for ref in ("feeds", rotation.pk, rotation.routine, rotation):
        assert service.find_rotation(ref).pk == rotation.pk
    other = service.create_routine("other", task=NOTE)
    for unknown in ("other", other, other.pk, "nobody"):
        with pytest.raises(NotFound):
            service.find_rotation(unknown)
    with pytest.raises(InvalidValue):
        service.find_rotation(1.5)  # type: ignore[arg-type]
    assert [each.name for each in service.list_rotations()] == ["feeds"]


def test_a_routine_that_names_a_rotation_is_its_member(time: Time) -> None:
    """Owed from now on, one phase at a time; its history says what it was created as."""
    rotation = service.create_rotation("feeds")
    routine = service.create_routine(
        "feed 1", task=NOTE, rotation="feeds", phases=PHASES, priority="HIGH", emphasis=2.0
    )
    member = RotationMember.objects.get()
    assert (member.pk, member.rotation_id, member.status) == (routine.pk, rotation.pk, MemberStatus.OWED)
    assert (member.band, member.emphasis, member.stale_since) == (0, 2.0, time.now)
    assert (routine.concurrency_policy, routine.phases) == ("FORBID", PHASES)
    assert ScheduleChange.objects.get(routine=routine).after["rotation"] == rotation.pk


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("rotation", {"rotation": "feeds", "every": "5m"}),
        ("rotation", {"rotation": "feeds", "cron": "0 * * * *"}),
        ("rotation", {"rotation": "nobody"}),
        ("concurrency_policy", {"rotation": "feeds", "concurrency_policy": "ALLOW"}),
        ("phases", {"phases": PHASES}),
        ("phases[0].task", {"rotation": "feeds", "phases": [{"name": "plan", "task": "no.such"}]}),
    ],
    ids=str,
)
def test_what_no_member_can_be_is_refused(field: str, values: dict[str, Any]) -> None:
    service.create_rotation("feeds")
    with pytest.raises(RoutineError) as refused:
        service.create_routine("feed 1", task=NOTE, **values)
    assert refused.value.field == field
    assert not Routine.objects.filter(name="feed 1").exists()


def test_an_archived_rotation_takes_no_members() -> None:
    service.archive_rotation(service.create_rotation("feeds"))
    with pytest.raises(NotAllowed, match="archived"):
        service.create_routine("feed 1", task=NOTE, rotation="feeds")


def test_nobody_has_the_task_that_ticks() -> None:
    for allowed in (False, True):
        with pytest.raises(InvalidValue):
            service.create_routine("mine", task=TICK_TASK, allow_unknown_task=allowed)
    assert TICK_TASK not in service.registered_tasks()
