"""Why there is no row for a moment, or one that says it was passed over: by its status, its schedule, the clock."""

from __future__ import annotations

import pytest

from routines_app import service
from routines_app.core.words import Reason
from routines_app.models import Role, Routine, RoutineRun, ScheduleChange
from routines_app.protocol.upkeep.nodes import NodeReport
from routines_app.service import Because
from tests.integration.verbs.why_scene import BEAT, Night, night, said, why

__all__ = ["night"]

pytestmark = pytest.mark.django_db(transaction=True)


def test_paused_parked_and_archived(night: Night) -> None:
    """By whom, since when and why; afterwards the skipped row says the same."""
    routine = night.make()
    service.pause_routine(routine, reason="the disk is full", actor="ann")
    night.until("03:10")

    answer = why(night, routine)
    assert answer.codes == (Because.PAUSED, Because.PAUSED)
    assert "paused at 2026-11-17 02:30:00 UTC by ann: the disk is full." in str(answer)
    service.resume_routine(routine, actor="bob")
    answer = why(night, routine)
    assert answer.codes == (Because.PLANNED, Because.SKIPPED, Because.PAUSED)
    assert "by ann: the disk is full" in str(answer)
    service.archive_routine(routine, actor="carl")
    night.pass_by(days=1)
    answer = service.why(routine, night.at("03:00").replace(day=18))
    assert answer.codes[:2] == (Because.ARCHIVED, Because.ARCHIVED)
    assert "by carl" in str(answer)


def test_an_edit_has_taken_the_slot_away(night: Night) -> None:
    """The old schedule had it and the new one has not; or the other way about."""
    routine = night.make()
    night.until("02:40")
    service.update_routine(routine.pk, cron="0 5 * * *", actor="ann", reason="later is fine")
    night.until("03:10")

    answer = why(night, routine)
    assert answer.codes[0] is Because.EDITED
    assert "edited at 2026-11-17 02:40:00 UTC by ann: later is fine: the schedule before had the slot" in str(answer)
    assert answer.sentences[0].changes == (ScheduleChange.objects.latest("pk").pk,)

    late = night.make("late", cron="0 5 * * *")
    ScheduleChange.objects.filter(routine=late).update(at=night.at("02:00"))
    Routine.objects.filter(pk=late.pk).update(created_at=night.at("02:00"))
    service.update_routine(late.pk, cron="0 3 * * *", actor="bob")
    assert "by bob: only since then the schedule has slots like" in str(why(night, late))


def test_an_edit_while_the_slot_is_due(night: Night) -> None:
    """The row that it leaves is told with the edit."""
    routine = night.make()
    night.until("03:01")
    service.update_routine(routine.pk, cron="0 5 * * *", actor="ann")

    answer = why(night, routine)

    assert answer.codes == (Because.PLANNED, Because.SKIPPED, Because.EDITED)
    assert "by ann" in said(answer, Because.EDITED)


@pytest.mark.parametrize(
    ("values", "at", "code"),
    [
        ({}, "02:10", Because.NOT_YET_CREATED),
        ({"start_at": "2026-12-01T00:00:00+00:00"}, "03:00", Because.BEFORE_START),
        ({"end_at": "2026-11-17T02:45:00+00:00"}, "03:00", Because.AFTER_END),
        ({"cron": None}, "03:00", Because.MANUAL),
        ({}, "03:00", Because.DUE),
        ({}, "03:40", Because.NO_SLOT),
        ({"cron": "0 5 * * *"}, "05:00", Because.COMING),
    ],
)
def test_why_there_is_no_row(night: Night, values: dict[str, str], at: str, code: Because) -> None:
    """What the schedule says of that moment."""
    routine = night.make(**values)
    night.until("04:00")
    assert why(night, routine, at).codes[0] is code


def test_what_is_older_than_what_is_kept(night: Night) -> None:
    """It was a slot, and nobody knows any more what became of it."""
    routine = night.make()
    night.pass_by(days=60)
    night.claim()
    RoutineRun.objects.all().delete()
    assert service.why(routine, night.at("03:00").replace(day=18)).codes[0] is Because.PRUNED


@pytest.mark.parametrize(
    ("cron", "at", "words"),
    [
        ("30 2 * * *", "2027-03-28T01:30:00+00:00", "no 02:30 that day"),
        ("30 2 * * *", "2026-10-25T01:30:00+00:00", "02:30 came twice"),
    ],
)
def test_daylight_saving(night: Night, cron: str, at: str, words: str) -> None:
    """A time that a clock skips, and one that it shows twice."""
    night.now = service.now().replace(year=2026, month=10, day=1)
    routine = night.make(cron=cron, timezone="Europe/Berlin")
    night.now = night.now.replace(year=2027, month=4, day=10)

    answer = service.why(routine, at)

    assert answer.codes[0] is Because.DAYLIGHT_SAVING
    assert words in str(answer)


def test_shadow_and_a_member(night: Night) -> None:
    """An old scheduler fires the one, a rotation picks the other."""
    shadowed = night.make()
    Routine.objects.filter(pk=shadowed.pk).update(shadow=True)
    rotation = service.create_rotation("fresh", task="tests.acceptance.tasks.note")
    member = night.make("member", cron=None, rotation=rotation)
    night.until("03:00")
    night.claim()
    assert why(night, shadowed).codes == (Because.PLANNED, Because.SHADOW)
    night.until("04:00")
    assert why(night, member, "03:59").codes[0] is Because.MEMBER


@pytest.mark.parametrize("release", ["LAST", "ALL"])
def test_slots_that_a_resume_releases_were_paused(night: Night, release: str) -> None:
    """No beat was late: they run, or are skipped, because somebody paused the routine and released them so."""
    routine = night.make(cron="*/30 * * * *", misfire_grace_ms=60_000)
    night.reports(BEAT)
    service.pause_routine(routine, reason="the disk is full", actor="ann")
    night.reports(BEAT, until="04:10")
    service.resume_routine(routine, release=release)
    night.claim()

    for at in ("03:00", "04:00"):
        answer = why(night, routine, at)
        if answer.slot is not None:
            assert "by ann: the disk is full" in str(answer)
            assert "beats were there" not in str(answer)
            assert "no beat came" not in str(answer)


def test_a_pause_that_was_over_is_not_blamed(night: Night) -> None:
    """Its end came, and no beat to see it: nothing holds the slot but that."""
    routine = night.make()
    night.reports(BEAT)
    service.pause_routine(routine, until=night.at("02:45"), actor="ann")
    night.until("03:10")

    assert why(night, routine).codes[:2] == (Because.DUE, Because.NO_BEAT)


def test_a_catch_up_goes_slot_by_slot(night: Night) -> None:
    """A beat has come, and waits for the run before it."""
    routine = night.make(cron="*/30 * * * *", catch_up_policy="ALL", misfire_grace_ms=60_000)
    night.until("04:10")
    night.reports(BEAT)
    night.claim()
    assert night.run().scheduled_for == night.at("03:00")

    answer = why(night, routine, "03:30")

    assert answer.codes[0] is Because.DUE
    assert "one after another" in said(answer, Because.DUE)
    assert "no beat has come" not in str(answer)
    assert Because.NO_BEAT not in answer.codes


def test_one_that_lives_was_there_between_its_reports(night: Night) -> None:
    """Another one that has come since does not make it silent."""
    routine = night.make()
    night.reports(BEAT, until="02:59")
    night.until("03:00:05")
    night.reports(NodeReport(role=Role.BEAT, pid=7))
    night.until("03:00:10")
    night.claim()

    assert Because.NO_BEAT not in why(night, routine).codes


def test_a_catch_up_policy_that_was_edited_since_is_not_named(night: Night) -> None:
    """The row was skipped by the one that it had then."""
    routine = night.make(misfire_grace_ms=60_000, catch_up_policy="SKIP")
    night.until("03:20")
    night.claim()
    assert night.run().reason == Reason.MISFIRE
    assert "(SKIP)" in said(why(night, routine), Because.SKIPPED)
    night.pass_by(minutes=1)
    service.update_routine(routine.pk, catch_up_policy="ALL")
    assert "ALL" not in said(why(night, routine), Because.SKIPPED)
