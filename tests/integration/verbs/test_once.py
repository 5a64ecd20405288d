"""Routines that fire once, by every verb that makes, changes, moves or describes them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from routines_app import service
from routines_app.core.triggers import OnceTrigger
from routines_app.core.words import RunTrigger, Source, TriggerKind
from routines_app.models import Routine, RoutineRun, RoutineState, ScheduleChange
from routines_app.protocol.claim.claim import claim_due
from routines_app.verbs import upcoming
from routines_app.verbs.declare import declare_routine
from routines_app.verbs.doctor.work import never_fire
from tests.integration.conftest import MONDAY, NOTE, Time
from tests.integration.verbs.exports.test_import import with_routines

Make = Callable[..., Routine]

HOUR = timedelta(hours=1)
LATER = MONDAY + HOUR


def plan() -> tuple[datetime | None, datetime | None, str]:
    state = RoutineState.objects.get()
    return state.next_slot, state.next_run_at, state.next_source


AT_LATER = (LATER, LATER, Source.BASELINE_ONCE)
OVER = (None, None, Source.ENDED)


@pytest.mark.parametrize(
    "moment",
    [{"at": LATER}, {"once_at": LATER}, {"at": LATER.isoformat()}, {"at": "2026-03-02T12:00:30+01:00"}],
)
def test_a_moment_is_a_datetime_or_text_with_its_offset(make: Make, moment: dict[str, Any]) -> None:
    """As other moments are given; it is the only slot."""
    routine = make(**moment)
    assert (routine.trigger_kind, routine.once_at, routine.cron, routine.interval_ms) == ("ONCE", LATER, "", None)
    assert plan() == AT_LATER


@pytest.mark.parametrize(
    ("field", "values", "message"),
    [
        ("at", {"at": MONDAY}, "give a moment to come: now it is 2026-03-02 10:00:30"),
        ("at", {"at": MONDAY - HOUR}, "to come"),
        ("at", {"once_at": MONDAY - HOUR}, "to come"),
        ("at", {"at": "tomorrow"}, "give a datetime with a timezone"),
        ("at", {"at": "2026-03-02T12:00:30"}, "give a datetime with a timezone"),
        ("once_at", {"once_at": 17}, "give a datetime with a timezone"),
        ("cron", {"at": LATER, "cron": "0 * * * *"}, "give cron or at, not both"),
        ("every", {"at": LATER, "every": "1h"}, "give every or at, not both"),
        ("at", {"at": LATER, "once_at": LATER}, "give at or once_at, not both"),
        ("trigger_kind", {"trigger_kind": "ONCE"}, "for ONCE, give at"),
        ("trigger_kind", {"trigger_kind": "MANUAL", "at": LATER}, "for MANUAL, give none of cron, every and at"),
        ("trigger_kind", {"trigger_kind": "ONCE", "every": "1h"}, "for ONCE, give at"),
        ("once_at", {"at": LATER, "end_at": LATER - HOUR / 2}, "between start_at"),
        ("once_at", {"at": LATER, "start_at": LATER + HOUR}, "between start_at"),
    ],
)
def test_what_is_no_moment_to_come_is_refused(make: Make, field: str, values: dict[str, Any], message: str) -> None:
    """One error that says the field and what would be right; nothing is written."""
    with pytest.raises(service.RoutineError, match=message) as caught:
        make(**values)
    assert caught.value.field == field
    assert not Routine.objects.exists()


def test_bounds_may_be_the_moment_itself(make: Make) -> None:
    make(at=LATER, start_at=LATER, end_at=LATER)
    assert plan() == AT_LATER


@pytest.mark.parametrize("before", [{"cron": "0 * * * *"}, {"every": "10m"}, {}])
def test_any_trigger_can_become_one_moment_and_back(make: Make, before: dict[str, Any]) -> None:
    """What is given replaces the others, and the history has all of it."""
    routine = make(**before)
    was = (routine.trigger_kind, routine.cron, routine.interval_ms)
    routine = service.update_routine(routine, at=LATER)
    assert (routine.trigger_kind, routine.cron, routine.interval_ms) == ("ONCE", "", None)
    assert plan() == AT_LATER
    routine = service.update_routine(routine, **(before or {"at": None}))
    assert (routine.trigger_kind, routine.cron, routine.interval_ms, routine.once_at) == (*was, None)
    assert ScheduleChange.objects.filter(kind="updated").latest("id").before["once_at"] == LATER.isoformat()


def test_an_edit_to_a_moment_that_is_over_is_refused(make: Make, time: Time) -> None:
    """By the name that the caller used; what it has already may be said again."""
    routine = make(at=LATER)
    time.pass_by(hours=2)
    claim_due(time.now)
    for name in ("at", "once_at"):
        with pytest.raises(service.InvalidValue, match="to come") as caught:
            service.update_routine("report", **{name: LATER + HOUR / 2})
        assert caught.value.field == name
    service.update_routine("report", at=LATER, description="it has fired")
    assert Routine.objects.get().once_at == routine.once_at
    assert plan() == OVER


def test_ensuring_it_again_changes_nothing_and_another_moment_moves_it(make: Make, time: Time) -> None:
    wanted = {"task": NOTE, "at": LATER}
    assert [service.ensure_routine("report", **wanted)[1] for _ in range(2)] == [True, False]
    assert ScheduleChange.objects.count() == 1
    service.ensure_routine("report", **wanted | {"at": LATER + HOUR})
    assert plan() == (LATER + HOUR, LATER + HOUR, Source.BASELINE_ONCE)
    time.pass_by(hours=9)
    claim_due(time.now)
    assert service.ensure_routine("report", at=LATER + HOUR) == (Routine.objects.get(), False)
    with pytest.raises(service.InvalidValue, match="to come"):
        service.ensure_routine("other", **wanted)


def test_code_may_declare_a_moment_that_is_over(make: Make, time: Time) -> None:
    """It stays in the code after it has fired, and a new database has nothing to fire."""
    declare_routine("new year", {"task": NOTE, "at": LATER}, "code:code")
    assert plan() == AT_LATER
    time.pass_by(hours=2)
    claim_due(time.now)
    declare_routine("new year", {"task": NOTE, "at": LATER}, "code:code")
    assert (plan(), RoutineRun.objects.count()) == (OVER, 1)
    RoutineRun.objects.all().delete()
    Routine.objects.all().delete()
    declare_routine("new year", {"task": NOTE, "at": LATER}, "code:code")
    assert (plan(), RoutineRun.objects.count()) == (OVER, 0)


def test_what_a_person_has_moved_is_given_back(make: Make) -> None:
    routine = declare_routine("new year", {"task": NOTE, "at": LATER}, "code:code")
    service.update_routine(routine, at=LATER + HOUR, actor="ada")
    routine = declare_routine("new year", {"task": NOTE, "at": LATER}, "code:code")
    assert service.differences(routine) == {"once_at": LATER}
    routine = service.give_back(routine, ["at"])
    assert (routine.once_at, plan()) == (LATER, AT_LATER)
    service.update_routine(routine.pk, cron="0 * * * *", actor="ada")
    routine = service.give_back(routine.pk)
    assert (routine.trigger_kind, routine.once_at, plan()) == ("ONCE", LATER, AT_LATER)


def test_it_travels_and_a_moment_that_is_over_arrives_as_such(make: Make, time: Time) -> None:
    routine = make(at=LATER, timezone="Europe/Paris")
    data = service.export_routines()
    assert data["routines"]["report"]["at"] == "2026-03-02T11:00:30Z"
    assert service.plan_import(data).is_idle
    service.update_routine(routine, every="1h")
    service.import_routines(data)
    assert (Routine.objects.get().trigger_kind, plan()) == ("ONCE", AT_LATER)
    service.import_routines(with_routines(report={"every": "1h"}))
    assert (Routine.objects.get().once_at, Routine.objects.get().interval_ms) == (None, 3_600_000)
    Routine.objects.all().delete()
    time.pass_by(hours=2)
    service.import_routines(data)
    assert (Routine.objects.get().once_at, plan()) == (LATER, OVER)


@pytest.mark.parametrize("moment", [{"at": LATER}, {"once_at": LATER}])
def test_a_rotation_does_not_tick_once(make: Make, moment: dict[str, Any]) -> None:
    with pytest.raises(service.RoutineError, match=r"cron or every|every or at"):
        service.create_rotation("feeds", **moment)
    rotation = service.create_rotation("feeds", every="1h")
    with pytest.raises(service.RoutineError, match="give cron or every"):
        service.update_rotation(rotation, **moment)


def test_a_member_of_a_rotation_has_no_moment(make: Make) -> None:
    rotation = service.create_rotation("feeds", every="1h")
    with pytest.raises(service.InvalidValue, match="give none of cron, every and at"):
        make(rotation=rotation, at=LATER)


def test_a_pace_is_not_proposed_to_it(make: Make) -> None:
    """There is none to change; of many by a tag it is left out."""
    routine = make(at=LATER, tags=["shop"])
    make("other", every="1h", tags=["shop"])
    for propose in (
        lambda: service.propose_interval(routine, "1m"),
        lambda: service.propose_factor(2, routine=routine),
    ):
        with pytest.raises(service.InvalidValue, match="fires once and has no pace"):
            propose()
    assert service.propose_factor(2, tag="shop") == 1


def test_a_backfill_runs_its_slot_again(make: Make, time: Time) -> None:
    routine = make(at=LATER)
    time.pass_by(hours=2)
    claim_due(time.now)
    (run,) = service.backfill(routine, MONDAY, time.now)
    assert (run.scheduled_for, run.trigger) == (LATER, RunTrigger.BACKFILL)
    assert service.backfill(routine, LATER + HOUR / 2, time.now) == []


def test_a_draft_has_the_trigger_that_saving_would_leave(make: Make) -> None:
    bounds = {"timezone": "UTC", "start_at": None, "end_at": None, "now": MONDAY}
    drafted = service.drafted_trigger(None, kind=TriggerKind.ONCE, once_at=LATER, **bounds)
    assert drafted == OnceTrigger(at=LATER) == service.stored_trigger(make(at=LATER))


def test_the_coming_hours_hold_it_once(make: Make) -> None:
    """Each has a moment of its own, so they are no schedule that many share."""
    upcoming._fires_per_hour.cache_clear()
    for number in range(3):
        make(f"soon {number}", at=LATER + number * timedelta(minutes=1))
    make("tomorrow", at=MONDAY + timedelta(days=1))
    service.pause_routine(make("paused", at=LATER))
    hours = [fires for _, fires in service.fires_per_hour(MONDAY)]
    upcoming._fires_per_hour.cache_clear()
    assert hours == [0, 3, *[0] * 22]


def test_the_doctor_finds_nothing_wrong_with_one_that_has_fired(make: Make, time: Time) -> None:
    make(at=LATER)
    time.pass_by(hours=2)
    claim_due(time.now)
    assert plan() == OVER
    assert never_fire().level == "ok"


def test_a_reset_after_its_moment_fires_nothing(make: Make, time: Time) -> None:
    """What the parking kept from firing is in the ledger."""
    routine = make(at=LATER)
    Routine.objects.update(status="PARKED")
    RoutineState.objects.update(next_run_at=None, next_source=Source.PARKED)
    time.pass_by(hours=2)
    service.reset_routine(routine.pk)
    assert plan() == OVER
    assert RoutineRun.objects.values_list("status", "reason", "scheduled_for").get() == ("SKIPPED", "parked", LATER)


def test_archived_before_its_moment_it_never_fires(make: Make, time: Time) -> None:
    service.archive_routine(make(at=LATER))
    time.pass_by(hours=2)
    claim_due(time.now)
    assert not RoutineRun.objects.exists()
