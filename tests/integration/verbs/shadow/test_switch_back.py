"""The way back: ours stop first, and the old scheduler goes on from our last slot."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from routines_app import service
from routines_app.models import MovedEntry, Routine, RoutineState, ScheduleChange
from routines_app.verbs.shadow import switch_back as back
from routines_app.verbs.shadow import switch_over as switching
from tests.integration.conftest import Execute, Hours
from tests.integration.verbs.shadow.conftest import OldScheduler, fired, shadowed
from tests.integration.verbs.shadow.switching import rows, switch

pytestmark = pytest.mark.django_db(transaction=True)

SECOND = timedelta(seconds=1)


def test_back_ours_stop_first_and_the_old_one_goes_on_from_our_last_slot(
    old: OldScheduler, hours: Hours, run_it: Execute
) -> None:
    """As if it had fired that one itself; and over again."""
    old.add("tick")
    shadowed("tick", old.name)
    fired("tick", hours.now, scheduler=old.name)
    switch()
    hours.pass_by(seconds=25, every=1)
    last = rows("PENDING")[-1]
    assert service.switch_back().switched == ["tick"]
    assert (old.is_enabled("tick"), old.last_run("tick"), Routine.objects.get().shadow) == (True, last, True)
    assert (MovedEntry.objects.get().switched_at, MovedEntry.objects.get().disabled_at) == (None, None)
    hours.pass_by(seconds=20, every=1)
    assert len(rows("PENDING")) == 2
    assert switch("tick").switched == ["tick"]  # nothing was fired since: our last slot counts
    assert RoutineState.objects.get().next_slot == last + 10 * SECOND
    assert hours.found() == []


def test_half_the_way_back_is_gone_on_with(old: OldScheduler, hours: Hours, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours have stopped, and the old entry is disabled still."""
    old.add("tick")
    shadowed("tick", old.name)
    fired("tick", hours.now, scheduler=old.name)
    switch()
    with monkeypatch.context() as broken:
        broken.setattr(back, "side_of", Broken)
        with pytest.raises(ZeroDivisionError):
            service.switch_back()
    assert (old.is_enabled("tick"), Routine.objects.get().shadow) == (False, True)
    assert service.switch_back("tick").switched == ["tick"]
    assert old.is_enabled("tick")


class Broken:
    """A side whose entries can be read and not be enabled."""

    def __init__(self, scheduler: str) -> None:
        self.last_runs = switching.side_of(scheduler).last_runs

    def enable(self, _: Any) -> None:
        raise ZeroDivisionError


def test_there_is_no_way_back_to_an_entry_that_is_gone(hours: Hours, old: OldScheduler) -> None:
    shadowed("tick", old.name)
    fired("tick", hours.now, scheduler=old.name)
    assert switch().switched == ["tick"]
    assert "its old entry is gone" in service.switch_back().refused["tick"]
    assert not Routine.objects.get().shadow


def test_a_way_back_that_could_not_be_told_sets_no_clock_of_the_old_beat_back(
    old: OldScheduler, hours: Hours, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was enabled, and has fired since: with our last slot for its last fire, it would fire that one again."""
    old.add("tick")
    shadowed("tick", old.name)
    fired("tick", hours.now, scheduler=old.name)
    switch()
    hours.pass_by(seconds=25, every=1)
    service.switch_back()
    since = hours.now + 60 * SECOND
    switching.side_of(old.name).enable({"tick": since})
    MovedEntry.objects.update(switched_at=hours.now)
    assert service.switch_back().switched == ["tick"]
    assert old.last_run("tick") == since


def test_of_two_ways_back_at_once_the_second_leaves_the_last_slot_of_ours(old: OldScheduler, hours: Hours) -> None:
    """What came due in between is the old one's to fire: it is not to take that for fired."""
    old.add("tick")
    shadowed("tick", old.name)
    fired("tick", hours.now, scheduler=old.name)
    switch()
    hours.pass_by(seconds=25, every=1)
    last, second = rows("PENDING")[-1], list(MovedEntry.objects.select_related("routine"))
    service.switch_back()
    hours.pass_by(seconds=20, every=1)
    back._go_back(old.name, second, back.Author("", ""))
    assert old.last_run("tick") == last
    assert ScheduleChange.objects.filter(after={"shadow": True}).count() == 1


def test_what_is_switched_over_again_meanwhile_is_not_enabled(old: OldScheduler, hours: Hours) -> None:
    """Both would fire."""
    old.add("tick")
    shadowed("tick", old.name)
    fired("tick", hours.now, scheduler=old.name)
    switch()
    entries = list(MovedEntry.objects.select_related("routine"))
    back._stop_ours(entries, back.Author("", ""))
    switch()
    back._let_the_old_one(old.name, [entry.routine_id for entry in entries])
    assert (old.is_enabled("tick"), Routine.objects.get().shadow) == (False, False)
    assert MovedEntry.objects.get().switched_at is not None
