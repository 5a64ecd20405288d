"""Seeding on a worker: a callable that is wrong costs that tick's seeding, visibly, and nothing else."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from celery.app import app_or_default

from routines_app import service
from routines_app.core.errors import NotAllowed
from routines_app.core.limits import DEFAULT_SECONDS
from routines_app.core.rotation import SEEDING, TICK_TASK
from routines_app.models import Rotation, RotationMember, Routine, RoutineRun
from tests.integration.conftest import NOTE, Execute
from tests.integration.verbs.rotations import seeds


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    monkeypatch.setattr(seeds, "given", [])
    return seeds.given


def rotation(seed: str, **values: Any) -> Rotation:
    return service.create_rotation("feeds", task=NOTE, seed=f"{seeds.PATH}.{seed}", **values)


def seeding_of(tick: RoutineRun) -> RoutineRun:
    return RoutineRun.objects.get(tick=tick.pk, phase=SEEDING)


def test_a_tick_seeds_beside_itself_and_picks_of_what_is_new(given: list[Any], run_it: Execute) -> None:
    """It had looked before there was anybody; as many as its budget allows, it picks afterwards."""
    given += ["a", "b", "c"]
    feeds = rotation("of_the_test", budget=2)
    tick = service.tick_rotation(feeds)
    assert (tick.reason, tick.result["seeding"]) == ("idle", str(seeding_of(tick).pk))
    run = run_it(seeding_of(tick))
    assert (run.status, run.task, run.rotation_id) == ("SUCCESS", TICK_TASK, feeds.pk)
    told = {"created": 3, "kept": 0, "vanished": 0, "archived": 0, "revived": 0, "passed_over": 0, "note": ""}
    assert run.result == told | {"picked": 2}
    assert RoutineRun.objects.filter(tick=tick.pk).exclude(phase=SEEDING).count() == 2
    tick.refresh_from_db()
    assert (tick.reason, len(tick.result["picked"])) == ("picked", 2)
    status = service.rotation_status(feeds)
    assert (status.last_seeding, status.last_tick, status.in_flight) == (run, tick, 2)


@pytest.mark.parametrize(
    ("seed", "said"),
    [
        ("raises", "the source is away"),
        ("raises_in_the_middle", "the source went away"),
        ("nothing_at_all", "iterable of members"),
        ("nonsense", "seed[1]"),
    ],
)
def test_a_callable_that_is_wrong_fails_its_run_and_the_tick_has_picked(
    given: list[Any], run_it: Execute, seed: str, said: str
) -> None:
    """No failure is counted against the rotation, it is not parked, and the next tick seeds again."""
    given += ["fine", 5]
    feeds = rotation("of_the_test" if seed == "nonsense" else seed, park_after=1, budget=1)
    service.create_routine("there", task=NOTE, rotation=feeds)
    tick = service.tick_rotation(feeds)
    assert (tick.status, tick.reason) == ("SUCCESS", "picked")
    run = run_it(seeding_of(tick))
    assert (run.status, run.reason) == ("FAILED", "exception")
    assert said in run.error
    assert list(RotationMember.objects.values_list("routine__name", flat=True)) == ["there"]
    routine = Routine.objects.get(name="feeds")
    assert (routine.status, routine.state.failure_count) == ("ACTIVE", 0)
    again = service.tick_rotation(feeds)
    assert again.result["seeding"] == str(seeding_of(again).pk)
    assert service.rotation_status(feeds).last_seeding == seeding_of(again)


@pytest.mark.parametrize(("timeout_ms", "seconds"), [(None, DEFAULT_SECONDS), (2_000, 2.0)])
def test_a_seeding_is_asked_to_stop_after_five_minutes_unless_its_rotation_says_otherwise(
    given: list[Any], run_it: Execute, timeout_ms: int | None, seconds: float
) -> None:
    """So one that hangs ends by itself, where nobody has said anything."""
    feeds = rotation("notes_its_deadline", timeout_ms=timeout_ms)
    for ask in (lambda: seeding_of(service.tick_rotation(feeds)), lambda: service.ask_seeding(feeds)):
        run = run_it(ask())
        assert run.status == "SUCCESS", run.error
        assert run.started_at is not None
        assert given.pop() == run.started_at + timedelta(seconds=seconds)


def test_one_seeding_at_a_time(given: list[Any]) -> None:
    feeds = rotation("of_the_test")
    first, second = service.tick_rotation(feeds), service.tick_rotation(feeds)
    assert (first.result["seeding"], second.result["seeding"]) == (str(seeding_of(first).pk), "still running")


def test_a_seeding_of_an_archived_rotation_never_starts(given: list[Any], run_it: Execute) -> None:
    given += ["a"]
    feeds = rotation("of_the_test")
    tick = service.tick_rotation(feeds)
    service.archive_rotation(feeds)
    assert run_it(seeding_of(tick)).status == "CANCELLED"
    assert not RotationMember.objects.exists()


def test_the_task_is_nobodys_to_call(given: list[Any]) -> None:
    """A message that somebody sends without a run says what is wrong."""
    with pytest.raises(NotAllowed, match="tick_rotation"):
        app_or_default().tasks[TICK_TASK]()
