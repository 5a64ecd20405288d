"""The switch-over: every slot after the old scheduler's last fire is ours, and none before it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import count

import pytest
from django.db import transaction

from routines_app import service
from routines_app.core.errors import InvalidValue, NotAllowed
from routines_app.models import MovedEntry, Routine, RoutineRun, RoutineState, ScheduleChange
from routines_app.protocol.claim.claim import claim_due
from routines_app.verbs.shadow import switch_over as switching
from tests.integration.conftest import Execute, Hours
from tests.integration.verbs.shadow.conftest import DJANGO_CELERY_BEAT, OldScheduler, fired, shadowed
from tests.integration.verbs.shadow.switching import rows, switch

pytestmark = pytest.mark.django_db(transaction=True)

SECOND = timedelta(seconds=1)


def claim_all(now: datetime, run_it: Execute) -> None:
    """Claim and run until nothing is due: one slot after another is released."""
    while claim_due(now).claimed:
        for run in RoutineRun.objects.filter(status="PENDING"):
            run_it(run)


def test_an_interval_goes_on_an_interval_after_the_last_fire(old: OldScheduler, hours: Hours) -> None:
    """The old beat's fires have slid away from our grid; between its last and our first there is one interval."""
    old.add("tick")
    shadowed("tick", old.name)
    hours.pass_by(minutes=1, every=1)
    last = hours.now - 3 * SECOND
    fired("tick", last - 10 * SECOND, last, scheduler=old.name)
    assert switch().switched == ["tick"]
    state, routine = RoutineState.objects.get(), Routine.objects.get()
    assert (routine.shadow, state.next_slot, state.next_run_at) == (False, last + 10 * SECOND, last + 10 * SECOND)
    assert not old.is_enabled("tick")
    hours.pass_by(seconds=30, every=1)
    assert rows("PENDING") == [last + 10 * SECOND, last + 20 * SECOND, last + 30 * SECOND]
    assert hours.found() == []


def test_a_slot_that_an_interval_moves_away_from_leaves_the_ledger_in_balance(old: OldScheduler, hours: Hours) -> None:
    """Nobody has fired it: the slot an interval after the last fire stands for it, and comes a little later."""
    old.add("tick")
    shadowed("tick", old.name)
    hours.pass_by(minutes=1, every=1)
    last = rows()[-2] + 2 * SECOND
    fired("tick", last, scheduler=old.name)
    assert (switch().taken_back, RoutineState.objects.get().next_slot) == (1, last + 10 * SECOND)
    hours.pass_by(minutes=2, every=1)
    assert hours.found() == []


@pytest.mark.usefixtures("short_lived_threads")
def test_slots_that_came_due_meanwhile_are_fired_each(old: OldScheduler, hours: Hours, run_it: Execute) -> None:
    """Ours recorded them as the old one's, which was disabled before it fired them: whatever the policy, all are."""
    old.add("tick")
    shadowed("tick", old.name, catch_up_policy="SKIP", concurrency_policy="FORBID")
    hours.pass_by(minutes=1, every=1)
    last = rows()[-4]
    fired("tick", *rows()[:-3], scheduler=old.name)
    found = switch()
    assert (found.switched, found.taken_back) == (["tick"], 3)
    claim_all(hours.now, run_it)
    assert rows("SUCCESS") == [last + 10 * SECOND, last + 20 * SECOND, last + 30 * SECOND]
    assert rows()[-1] == last
    assert hours.found() == []


@pytest.mark.usefixtures("short_lived_threads")
def test_of_a_cron_the_slot_that_nobody_fired_is_ours(hours: Hours, run_it: Execute, old: OldScheduler) -> None:
    """The old beat was late with the slot before, and was disabled before it came to the last."""
    old.add("tick")
    shadowed("tick", old.name, cron="* * * * *", every=None)
    hours.pass_by(minutes=5, every=1)
    *before, late, last = rows()
    fired("tick", *before, late + 42 * SECOND, scheduler=old.name)
    assert switch().taken_back == 1
    claim_all(hours.now, run_it)
    assert (rows("SUCCESS"), rows()[-1]) == ([last], late)
    hours.pass_by(minutes=2, every=1)
    assert hours.found() == []


def test_a_slot_that_the_old_one_fired_and_ours_has_not_seen_is_recorded(hours: Hours, old: OldScheduler) -> None:
    """Our beats were away for a while: what the old one fired then is not fired again."""
    old.add("tick")
    shadowed("tick", old.name, cron="* * * * *", every=None)
    hours.pass_by(minutes=2, every=1)
    hours.pass_by(minutes=10, beat=False)
    slots = [rows()[-1] + minute * timedelta(minutes=1) for minute in range(1, 11)]
    fired("tick", *slots, scheduler=old.name)
    switch()
    hours.pass_by(minutes=1, every=1)
    assert rows("PENDING") == [slots[-1] + timedelta(minutes=1)]
    assert hours.found() == []


def test_what_the_entry_itself_remembers_counts_too(old: OldScheduler, hours: Hours) -> None:
    """Of a beat that was stopped, nothing may have been recorded."""
    last = hours.now + 25 * SECOND
    old.add("tick", last_run_at=last)
    shadowed("tick", old.name)
    hours.pass_by(seconds=30, every=1)
    switch(stopped=True)
    assert RoutineState.objects.get().next_slot == last + 10 * SECOND
    assert MovedEntry.objects.get().last_fired_at == last


def test_without_any_fire_its_slots_are_ours_since_it_was_moved(old: OldScheduler, hours: Hours) -> None:
    """The old beat has not come to the first one yet."""
    if old.name != DJANGO_CELERY_BEAT:
        pytest.skip("redbeat takes the making of an entry for a fire")
    old.add("tick")
    shadowed("tick", old.name)
    slot = RoutineState.objects.get().next_slot
    switch()
    assert RoutineState.objects.get().next_slot == slot


def test_a_paused_routine_stays_paused(old: OldScheduler, hours: Hours) -> None:
    """Only who fires it changes."""
    old.add("tick", enabled=False)
    shadowed("tick", old.name)
    service.pause_routine("tick")
    before = RoutineState.objects.values().get()
    assert switch().switched == ["tick"]
    assert (RoutineState.objects.values().get(), Routine.objects.get().status) == (before, "PAUSED")


def test_a_crash_after_the_disabling_is_made_up_for(
    old: OldScheduler, hours: Hours, run_it: Execute, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody fires for a while; run again, all slots since the last fire are ours, each of them."""
    old.add("tick")
    shadowed("tick", old.name, catch_up_policy="SKIP")
    hours.pass_by(seconds=35, every=1)
    last = rows()[-1]
    fired("tick", *rows(), scheduler=old.name)
    with monkeypatch.context() as broken:
        broken.setattr(switching, "_switch", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            switch()
    assert (old.is_enabled("tick"), Routine.objects.get().shadow) == (False, True)
    hours.pass_by(minutes=5, every=1)
    assert switch().taken_back == 30
    claim_all(hours.now, run_it)
    assert rows("SUCCESS") == [last + number * 10 * SECOND for number in range(1, 31)]
    assert hours.found() == []


def test_switching_again_finds_nothing_to_do(old: OldScheduler, hours: Hours) -> None:
    old.add("tick")
    shadowed("tick", old.name)
    switch()
    assert switch() == service.SwitchOver()
    with pytest.raises(NotAllowed, match="it is not in shadow"):
        switch("tick")


def test_the_history_says_who_and_since_when(old: OldScheduler, hours: Hours) -> None:
    old.add("tick")
    shadowed("tick", old.name)
    fired("tick", hours.now, scheduler=old.name)
    switch(actor="ada", reason="a week of clean reports")
    change = ScheduleChange.objects.latest("id")
    assert (change.actor, change.reason, change.before) == ("ada", "a week of clean reports", {"shadow": True})
    assert change.after["shadow"] is False
    assert datetime.fromisoformat(change.after["old_last_fire"]) == hours.now


@pytest.mark.parametrize("act", [service.switch_over, service.switch_back])
def test_inside_a_transaction_it_is_refused(act: Callable[[], object]) -> None:
    """No step of it would be seen before the last."""
    with transaction.atomic(), pytest.raises(NotAllowed, match="outside of any transaction"):
        act()


def test_a_dry_run_changes_nothing(old: OldScheduler, hours: Hours) -> None:
    old.add("tick")
    shadowed("tick", old.name)
    assert switch(dry_run=True).switched == ["tick"]
    assert (old.is_enabled("tick"), Routine.objects.get().shadow) == (True, True)


def test_only_those_of_one_scheduler(old: OldScheduler, hours: Hours) -> None:
    old.add("tick")
    shadowed("tick", old.name)
    shadowed("static", "beat_schedule")
    assert switch(scheduler=old.name).switched == ["tick"]
    assert switch(scheduler="beat_schedule").refused["static"].startswith("a beat_schedule cannot be changed")
    with pytest.raises(InvalidValue, match="django-celery-beat"):
        switch(scheduler="cron")


def test_an_entry_whose_fires_nobody_recorded_is_refused(hours: Hours, old: OldScheduler) -> None:
    """django-celery-beat keeps them in memory: nobody could say which slots it has fired. redbeat stores each."""
    old.add("tick")
    shadowed("tick", old.name)
    hours.pass_by(minutes=5, every=1)
    found = switch()
    if old.name == DJANGO_CELERY_BEAT:
        assert "no fire of its old entry was recorded" in found.refused["tick"]
        assert (old.is_enabled("tick"), Routine.objects.get().shadow) == (True, True)
    else:
        assert found.switched == ["tick"]


def test_what_the_old_beat_still_sends_is_waited_for(
    old: OldScheduler, hours: Hours, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was sending when its entry was disabled: that fire is the last one, and nothing of it is fired again."""
    old.add("tick")
    shadowed("tick", old.name)
    hours.pass_by(seconds=30, every=1)
    fired("tick", *rows()[:-1], scheduler=old.name)
    told: list[str] = []

    def tell(line: str) -> None:
        told.append(line)
        if "waiting" in line:
            fired("tick", hours.now, scheduler=old.name)

    found = switch(settle=0.3, progress=tell)
    assert (found.fired_meanwhile, found.taken_back) == (1, 0)
    assert "the old beat has sent 1 more" in told
    assert RoutineState.objects.get().next_slot == hours.now + 10 * SECOND


def test_a_beat_that_goes_on_sending_stops_the_switch_over(
    old: OldScheduler, hours: Hours, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has not taken notice: both would fire."""
    monkeypatch.setattr(switching, "LONGEST_SETTLE", 0.5)
    more = count()
    monkeypatch.setattr(switching, "recorded_after", lambda *_: next(more))
    old.add("tick")
    shadowed("tick", old.name)
    with pytest.raises(NotAllowed, match="still sends entries that are disabled"):
        switch(settle=0.25)
    assert Routine.objects.get().shadow


def test_an_entry_that_was_enabled_again_is_disabled_again(
    old: OldScheduler, hours: Hours, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As django-celery-beat does it, which writes the whole row as it was a moment before."""
    old.add("tick")
    shadowed("tick", old.name)
    side = switching.side_of(old.name)

    def tell(line: str) -> None:
        if "waiting" in line:
            side.enable({"tick": None})

    switch(settle=0.2, progress=tell)
    assert not old.is_enabled("tick")
