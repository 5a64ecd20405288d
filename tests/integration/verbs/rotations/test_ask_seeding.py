"""Asking for a seeding besides those of ticks: a worker does it, one at a time, and the run says what came of it."""

from __future__ import annotations

from typing import Any

import pytest

from routines_app import service
from routines_app.core.errors import NotAllowed, NotFound, RoutineError
from routines_app.core.rotation import SEEDING, TICK_TASK
from routines_app.models import Rotation, RotationMember, RoutineRun
from tests.integration.conftest import NOTE, Execute
from tests.integration.verbs.rotations import seeds


@pytest.fixture
def feeds(ledger: None, monkeypatch: pytest.MonkeyPatch) -> Rotation:
    monkeypatch.setattr(seeds, "given", ["a", "b"])
    return service.create_rotation("feeds", task=NOTE, seed=f"{seeds.PATH}.of_the_test")


def names() -> set[str]:
    return set(RotationMember.objects.values_list("routine__name", flat=True))


def test_a_worker_seeds_when_it_is_asked_for(feeds: Rotation, run_it: Execute) -> None:
    """Nobody's tick is waiting, so nothing is picked; nothing counts against the rotation's schedule."""
    asked = service.ask_seeding("feeds", requested_by="ada")
    assert (asked.status, asked.trigger, asked.phase, asked.task) == ("PENDING", "manual", SEEDING, TICK_TASK)
    assert (asked.routine_id, asked.rotation_id, asked.tick, asked.requested_by) == (feeds.pk, feeds.pk, None, "ada")
    assert names() == set()
    run = run_it(asked)
    assert run.status == "SUCCESS", run.error
    assert isinstance(run.result, dict)
    assert (run.result["created"], run.result["picked"]) == (2, 0)
    assert names() == {"a", "b"}
    assert service.rotation_status(feeds).last_seeding == run
    assert service.audit().balances


def test_one_that_is_under_way_is_the_answer_also_a_ticks(feeds: Rotation, run_it: Execute) -> None:
    """And a tick does not seed beside one that was asked for."""
    tick = service.tick_rotation(feeds)
    of_tick = RoutineRun.objects.get(tick=tick.pk, phase=SEEDING)
    assert service.ask_seeding(feeds) == of_tick
    run_it(of_tick)
    asked = service.ask_seeding(feeds)
    assert asked != of_tick
    assert service.ask_seeding(feeds) == asked
    service.touch_members(feeds)
    assert service.tick_rotation(feeds).result["seeding"] == "still running"


def test_a_paused_rotation_is_seeded_when_it_is_asked_for(feeds: Rotation, run_it: Execute) -> None:
    service.pause_rotation(feeds)
    assert run_it(service.ask_seeding(feeds)).status == "SUCCESS"
    assert names() == {"a", "b"}


def test_a_seeding_that_fails_costs_the_rotation_nothing(feeds: Rotation, run_it: Execute) -> None:
    service.update_rotation("feeds", seed=f"{seeds.PATH}.raises", park_after=1)
    run = run_it(service.ask_seeding("feeds"))
    assert (run.status, run.reason) == ("FAILED", "exception")
    routine = service.find_rotation("feeds").routine
    assert (routine.status, routine.state.failure_count) == ("ACTIVE", 0)
    assert service.audit().balances


def _unseeded() -> None:
    service.update_rotation("feeds", seed="")


def _archived() -> None:
    service.archive_rotation("feeds")


@pytest.mark.parametrize(
    ("become", "options", "error"),
    [
        (_unseeded, {}, NotAllowed),
        (_archived, {}, NotAllowed),
        (None, {"rotation": "nobody"}, NotFound),
        (None, {"requested_by": "x" * 1_000}, RoutineError),
    ],
    ids=["nothing to call", "archived", "unknown", "too long a name"],
)
@pytest.mark.usefixtures("feeds")
def test_what_cannot_be_seeded_is_refused_and_no_run_is_written(
    become: Any, options: dict[str, Any], error: type[RoutineError]
) -> None:
    if become is not None:
        become()
    with pytest.raises(error):
        service.ask_seeding(**({"rotation": "feeds"} | options))
    assert not RoutineRun.objects.exists()
