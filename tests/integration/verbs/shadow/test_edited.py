"""Routines that somebody pauses, edits or hints while they are in shadow, and what their switch-over makes of it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from routines_app import service
from routines_app.core.errors import NotAllowed
from routines_app.models import MovedEntry, Routine, RoutineRun, RoutineState
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.plan import taking_over
from routines_app.verbs.shadow import switch_over as switching
from tests.integration.conftest import Hours
from tests.integration.old_schedulers import AddEntry
from tests.integration.verbs.shadow.conftest import DJANGO_CELERY_BEAT, OldScheduler, Rows, fired, shadowed
from tests.integration.verbs.shadow.switching import rows, switch

pytestmark = pytest.mark.django_db(transaction=True)

MINUTE = timedelta(minutes=1)


@pytest.fixture
def rows_of_it(add_entry: AddEntry) -> OldScheduler:
    """One scheduler is enough: what is asked here is about our own plan."""
    return Rows(add_entry)


def test_slots_from_before_an_edit_are_nobodys(rows_of_it: OldScheduler, hours: Hours) -> None:
    """The old entry fired an hour ago; since an edit ours is due each minute. Only what came after the edit is owed."""
    rows_of_it.add("tick")
    shadowed("tick", DJANGO_CELERY_BEAT, cron="0 * * * *", every=None, catch_up_policy="ALL")
    hours.pass_by(minutes=60, every=1)
    fired("tick", *rows())
    hours.pass_by(minutes=40, every=1)
    edited_at = hours.now
    service.update_routine("tick", cron="* * * * *")
    hours.pass_by(minutes=2, every=1)
    switch()
    assert RoutineState.objects.get().next_slot == edited_at + timedelta(seconds=30)
    claim_due(hours.now)
    assert rows("PENDING") == [edited_at + timedelta(seconds=30)]
    assert hours.found() == []


def test_what_the_old_one_fired_during_a_pause_of_ours_is_not_released(rows_of_it: OldScheduler, hours: Hours) -> None:
    """It knows nothing of the pause; only what it has not fired waits for the end of it."""
    rows_of_it.add("tick")
    shadowed("tick", DJANGO_CELERY_BEAT, cron="* * * * *", every=None)
    service.pause_routine("tick")
    first = RoutineState.objects.get().next_slot
    assert first is not None
    hours.pass_by(minutes=5)
    fired("tick", *(first + number * MINUTE for number in range(4)))
    switch()
    service.resume_routine("tick", release="ALL")
    claim_due(hours.now)
    assert rows("PENDING") == [first + 4 * MINUTE]
    assert hours.found() == []


def test_a_slot_that_our_beats_came_to_late_is_fired_when_nobody_has(rows_of_it: OldScheduler, hours: Hours) -> None:
    """A switch-over died after the disabling, and our beats were away: the row that says `misfire` makes way too."""
    rows_of_it.add("tick")
    shadowed("tick", DJANGO_CELERY_BEAT, cron="* * * * *", every=None, catch_up_policy="SKIP")
    hours.pass_by(minutes=2, every=1)
    fired("tick", *rows())
    last = rows()[-1]
    switching._disable(list(MovedEntry.objects.select_related("routine")))
    hours.pass_by(minutes=10, beat=False)
    claim_due(hours.now)
    assert RoutineRun.objects.filter(reason="misfire").exists()
    switch()
    claim_due(hours.now)
    assert rows("PENDING") == [last + MINUTE]
    assert not RoutineRun.objects.filter(reason="misfire").exists()
    assert hours.found() == []


def test_the_moment_of_a_hint_keeps_its_row(rows_of_it: OldScheduler, hours: Hours) -> None:
    """The hint is used up: nobody would plan that slot again."""
    rows_of_it.add("tick")
    shadowed("tick", DJANGO_CELERY_BEAT, cron="0 * * * *", every=None)
    fired("tick", hours.now)
    service.propose_next_time("tick", hours.now + 2 * MINUTE)
    hours.pass_by(minutes=5, every=1)
    hinted = rows()
    switch()
    assert (rows(), len(hinted)) == (hinted, 1)
    assert hours.found() == []


def test_an_entry_that_is_enabled_again_is_not_switched_over(rows_of_it: OldScheduler, hours: Hours) -> None:
    """Somebody has gone back in the same moment: both would fire."""
    rows_of_it.add("tick")
    shadowed("tick", DJANGO_CELERY_BEAT)
    fired("tick", hours.now)

    def tell(line: str) -> None:
        if "are disabled" in line:
            switching.side_of(DJANGO_CELERY_BEAT).enable({"tick": None})

    found = switch(progress=tell)
    assert (found.switched, list(found.refused)) == ([], ["tick"])
    assert Routine.objects.get().shadow


@pytest.mark.parametrize("beat", [True, False])
def test_a_slot_of_just_now_without_any_fire_is_refused(rows_of_it: OldScheduler, hours: Hours, beat: bool) -> None:
    """An old beat without our recorder may have fired it: also if no beat of ours has come to it yet."""
    rows_of_it.add("tick")
    shadowed("tick", DJANGO_CELERY_BEAT)
    hours.pass_by(seconds=11, every=1, beat=beat)
    assert "no fire of its old entry was recorded" in switch().refused["tick"]
    assert rows_of_it.is_enabled("tick")


def test_rows_are_taken_out_by_batches(rows_of_it: OldScheduler, hours: Hours, monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement takes a bounded number of values; a hundred routines may have a thousand rows each."""
    monkeypatch.setattr(taking_over, "AT_ONCE", 2)
    rows_of_it.add("tick")
    shadowed("tick", DJANGO_CELERY_BEAT)
    hours.pass_by(minutes=1, every=1)
    fired("tick", rows()[0])
    assert switch().taken_back == 5
    assert len(rows()) == 1


def test_in_shadow_it_keeps_a_schedule(rows_of_it: OldScheduler, hours: Hours) -> None:
    """Without one it could join a rotation, which would fire it beside its old entry; and on the way back likewise."""
    rows_of_it.add("tick")
    shadowed("tick", DJANGO_CELERY_BEAT)
    fired("tick", hours.now)
    with pytest.raises(NotAllowed, match=r"trigger_kind.*in shadow: django-celery-beat still fires it"):
        service.update_routine("tick", every=None)
    switch()
    service.update_routine("tick", every=None)
    found = service.switch_back()
    assert (found.switched, "it has no schedule any more" in found.refused["tick"]) == ([], True)
    assert (rows_of_it.is_enabled("tick"), Routine.objects.get().shadow) == (False, False)
