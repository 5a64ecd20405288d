"""The audit of rotations: content with ticks and members as they come, and not with ledgers that somebody forged."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from routines_app import service
from routines_app.core.rotation import SEEDING
from routines_app.core.words import Reason, RunStatus, RunTrigger
from routines_app.models import Rotation, Routine, RoutineRun, new_run_id
from routines_app.protocol.record.outcome import succeeded
from routines_app.verbs import audit_rotations, delete
from tests.integration.conftest import NOTE, Hours
from tests.integration.protocol.end.finishing import BROKEN
from tests.integration.ticking import change, end_all, fired, first, pass_ticks, picked, saw, say, tick_of, ticks
from tests.integration.verbs.rotations import seeds

PHASES = [{"name": "plan", "task": NOTE}, {"name": "build", "task": NOTE}]


@pytest.fixture
def feeds(hours: Hours, redis_url: str) -> Rotation:
    """Ten ticks of a rotation with two phases, whose members succeed."""
    rotation = service.create_rotation("feeds", every="10m", budget=2, fresh_for="1h", phases=PHASES)
    service.add_members("feeds", [{"name": f"feed {number}", "task": NOTE} for number in range(5)])
    pass_ticks(hours, 10)
    return rotation


@pytest.mark.usefixtures("feeds")
def test_a_rotations_ledger_balances(hours: Hours) -> None:
    """With ticks that picked, were idle or full; phases that changed; runs by hand; failures; those that left."""
    service.update_rotation("feeds", phases=[{"name": "other", "task": NOTE}])
    service.touch_members("feeds")
    pass_ticks(hours, 3, BROKEN)
    service.tick_rotation("feeds")
    service.pause_routine("feed 1")
    service.run_now("feed 1")
    service.run_now("feed 2")
    end_all(succeeded(None))
    service.remove_members("feeds", ["feed 3"])
    service.update_routine("feed 4", phases=PHASES)
    pass_ticks(hours, 4)
    service.archive_routine("feed 4")
    pass_ticks(hours, 2)
    assert {tick.reason for tick in ticks()} >= {Reason.PICKED, Reason.IDLE}
    assert hours.found() == []


@pytest.mark.usefixtures("feeds")
def test_a_tick_that_is_gone_is_missed_as_a_slot_and_by_its_runs(hours: Hours) -> None:
    tick = first(picked())
    runs = fired().filter(tick=tick.pk).count()
    ticks().filter(pk=tick.pk).delete()
    found = hours.found()
    assert found.count("was planned and has no row") == 1
    assert found.count(f"has a run whose tick ({tick.pk}) has no row") == runs == 2


def cut_the_rotation() -> None:
    change(first(fired()), rotation=None)


def cut_the_tick() -> None:
    change(first(fired()), tick=None)


def link_to_a_stranger() -> None:
    change(first(fired()), tick=first(fired()).pk)


def link_to_an_idle_tick() -> None:
    change(first(fired()), tick=first(ticks().filter(reason=Reason.IDLE)).pk)


def rename_the_phase() -> None:
    run = first(fired())
    change(run, phase="deploy")
    tick = tick_of(run)
    say(tick, picked=[{**pick, "phase": "deploy"} for pick in saw(tick)["picked"]][:1])
    change(fired().filter(tick=run.tick)[1], tick=None, trigger=RunTrigger.MANUAL)


def delete_a_run() -> None:
    first(fired()).delete()


def pick_somebody_else() -> None:
    tick = first(picked())
    say(tick, picked=saw(tick)["picked"][:1])


def fire_one_more() -> None:
    run = first(fired())
    tick = tick_of(run)
    other = Routine.objects.filter(rotation__isnull=False).exclude(runs__tick=tick.pk)[0]
    run.pk, run.routine, run.idempotency_key = new_run_id(), other, "r:forged"
    run.save(force_insert=True)
    say(tick, picked=[*saw(tick)["picked"], {"routine": other.pk, "name": other.name, "phase": run.phase}])


def pick_beside_too_many() -> None:
    say(first(picked()), in_flight=1, max_in_flight=2)


def forget_whom() -> None:
    change(first(picked()), result="null")


def call_it_idle() -> None:
    tick = first(picked())
    change(tick, status=RunStatus.SKIPPED, reason=Reason.IDLE)


@pytest.mark.usefixtures("feeds")
@pytest.mark.parametrize(
    ("forge", "expected"),
    [
        (cut_the_rotation, "has a run that a rotation fired, and it names none"),
        (cut_the_tick, "has a run that a rotation fired, and it names no tick"),
        (link_to_a_stranger, "is none of its rotation's"),
        (link_to_an_idle_tick, "has a run whose tick picked nobody (idle)"),
        (rename_the_phase, "has a run in a phase ('deploy') that it did not have then"),
        (delete_a_run, "(plan), and there is no run of it"),
        (pick_somebody_else, "(plan), and did not pick it"),
        (fire_one_more, "is a tick that picked 3, and its budget was 2"),
        (pick_beside_too_many, "is a tick that picked 2 beside 1 in flight, and at most 2 were allowed"),
        (forget_whom, "is a tick that picked, and does not say whom"),
        (call_it_idle, "is a tick that picked nobody (idle), and has fired 2"),
    ],
)
def test_a_forged_ledger_is_named(hours: Hours, forge: Callable[[], None], expected: str) -> None:
    assert hours.found() == []
    forge()
    assert [what for what in hours.found() if expected in what]


@pytest.mark.usefixtures("feeds")
def test_a_deleted_members_runs_are_not_missed(hours: Hours) -> None:
    """Nor are those of one that is archived, whose deletion may have begun."""
    service.archive_routine("feed 0")
    RoutineRun.objects.filter(routine__name="feed 0").delete()
    assert hours.found() == []
    service.delete_routine("feed 0")
    assert hours.found() == []


@pytest.mark.usefixtures("feeds")
def test_a_deleted_rotations_ticks_are_not_missed(hours: Hours, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its members stay with their runs. Nor are those that are gone when its deletion is cut off."""
    service.archive_rotation("feeds")
    monkeypatch.setattr(delete, "DELETE_BATCH", 3)

    def cut_off(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        service.delete_routine("feeds", progress=cut_off)
    assert not [what for what in hours.found() if "whose tick" in what]
    service.delete_routine("feeds")
    assert fired().exists()
    assert hours.found() == []


@pytest.mark.usefixtures("feeds")
def test_seedings_balance_those_of_ticks_and_those_asked_for(hours: Hours, monkeypatch: pytest.MonkeyPatch) -> None:
    service.update_rotation("feeds", seed=f"{seeds.PATH}.raises")
    service.touch_members("feeds")
    pass_ticks(hours, 2)
    asked = service.ask_seeding("feeds", requested_by="ada")
    end_all(BROKEN)
    assert RoutineRun.objects.get(pk=asked.pk).status == RunStatus.FAILED
    pass_ticks(hours, 2)
    assert fired().filter(phase=SEEDING).count() >= 2
    assert hours.found() == []


@pytest.mark.usefixtures("feeds")
def test_what_is_older_than_what_is_kept_is_not_missed(hours: Hours, settings: Any) -> None:
    """A tick may be pruned before its runs, and they before it: nothing but ids links them."""
    tick, other = picked()[0], picked()[1]
    long_ago = new_run_id().int - (40 * 86_400_000 << 80)
    fired().filter(tick=tick.pk).update(tick=f"{long_ago:032x}")
    ticks().filter(pk=tick.pk).update(status=RunStatus.SKIPPED, reason=Reason.IDLE)
    fired().filter(tick=other.pk).delete()
    assert len(hours.found()) == 1, "only what is as young as its window"


@pytest.mark.usefixtures("feeds")
def test_a_batch_after_another_finds_the_same(hours: Hours, monkeypatch: pytest.MonkeyPatch) -> None:
    """However few are looked at together, and in a bounded number of statements for each batch."""
    delete_a_run()
    cut_the_tick()
    found = hours.found()
    monkeypatch.setattr(audit_rotations, "BATCH", 1)
    assert sorted(hours.found()) == sorted(found)
    assert len(found) >= 2


def test_what_no_rotation_fired_costs_no_statement_more(hours: Hours, django_assert_max_num_queries: Any) -> None:
    hours.make(every="1m")
    hours.pass_by(minutes=5)
    with django_assert_max_num_queries(8):
        service.audit(hours.began - timedelta(days=1), now=hours.now)
