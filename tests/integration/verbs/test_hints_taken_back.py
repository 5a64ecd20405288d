"""One-shots that expire, are cleared or wait for the end of a pause, and hints of schedules that have ended."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from routines_app import service
from routines_app.core.words import Reason, RunStatus, Source
from routines_app.models import ChangeKind, RoutineRun, RoutineState, ScheduleChange
from routines_app.protocol.ledger import clock
from tests.integration.conftest import Hours

MINUTE = timedelta(minutes=1)
HINT_VERBS: dict[str, Callable[[], Any]] = {
    "factor": lambda: service.propose_factor(1, routine="report"),
    "interval": lambda: service.propose_interval("report", "3h", ttl="12h"),
    "another one-shot": lambda: service.propose_next_time("report", clock.now() + timedelta(hours=9)),
    "clear": lambda: service.clear_hints("report"),
    "factor for many": lambda: service.propose_factor(2, tag="t"),
    "clear many": lambda: service.clear_hints(tag="t"),
}


def rows() -> list[tuple[str, str, str]]:
    return list(RoutineRun.objects.order_by("scheduled_for").values_list("status", "reason", "source"))


@pytest.mark.parametrize("verb", HINT_VERBS.values(), ids=HINT_VERBS.keys())
@pytest.mark.parametrize("paused", [False, True], ids=["active", "paused"])
def test_an_expired_one_shot_does_not_fire_after_another_verb(
    hours: Hours, verb: Callable[[], Any], paused: bool
) -> None:
    """The verb drops the hint: its moment goes into the ledger in the same transaction, and is planned no more."""
    hours.make(every="1d", tags=["t"])
    service.propose_next_time("report", hours.now + MINUTE)
    if paused:
        service.pause_routine("report")
    hours.pass_by(hours=7, beat=False)
    verb()
    assert rows() == [("SKIPPED", "expired", "hint-oneshot")]
    assert RoutineState.objects.filter(next_slot__gt=hours.now).exists()

    if paused:
        service.resume_routine("report", release="LAST")
    hours.pass_by(minutes=1)

    assert not RoutineRun.objects.exclude(status=RunStatus.SKIPPED).exists()
    assert hours.found() == []


@pytest.mark.parametrize(
    ("paused", "reason"), [(False, Reason.SUPERSEDED), (True, Reason.PAUSED)], ids=["active", "paused"]
)
def test_a_due_one_shot_that_is_cleared_does_not_fire(hours: Hours, paused: bool, reason: Reason) -> None:
    hours.make(every="1h")
    service.propose_next_time("report", hours.now + 7 * MINUTE)
    if paused:
        service.pause_routine("report")
    hours.pass_by(minutes=8, beat=False)
    service.clear_hints("report")
    if paused:
        service.resume_routine("report", release="LAST")
    hours.pass_by(minutes=10)
    assert rows() == [("SKIPPED", reason, "hint-oneshot")]
    assert RoutineState.objects.get().next_slot == hours.began + timedelta(hours=1)
    assert hours.found() == []


@pytest.mark.parametrize("due", [False, True], ids=["in the future", "due"])
def test_a_one_shot_on_the_schedules_own_slot_leaves_that_slot(hours: Hours, due: bool) -> None:
    """The schedule still owes it, whatever becomes of the hint."""
    hours.make(every="1h", misfire_grace_ms=600_000)
    service.propose_next_time("report", hours.now + timedelta(hours=2))
    hours.pass_by(hours=1)
    assert RoutineState.objects.get().slot_source == Source.HINT_ONESHOT
    hours.pass_by(minutes=59 + 2 * due, beat=False)
    service.clear_hints("report")
    hours.pass_by(minutes=5)
    assert rows() == [("PENDING", "", "baseline-interval")] * 2
    assert hours.found() == []


@pytest.mark.parametrize("wait", [0, 1, 10])
@pytest.mark.parametrize("edited", [False, True])
def test_a_one_shot_for_at_once_waits_for_the_end_of_a_pause(hours: Hours, wait: int, edited: bool) -> None:
    """It fires once when the routine goes on: it is none of the slots that the pause has kept from firing."""
    hours.make(every="1h")
    service.pause_routine("report")
    service.propose_next_time("report", hours.now - 5 * MINUTE)
    if edited:
        service.update_routine("report", max_interval_ms=86_400_000)
    hours.pass_by(minutes=wait)
    service.resume_routine("report")
    hours.pass_by(minutes=10)
    assert rows() == [("PENDING", "", "hint-oneshot")]
    assert hours.found() == []


def test_hints_go_when_the_schedule_ends(hours: Hours) -> None:
    """Nobody would look at it again to drop them; the history says that they are over."""
    hours.make(every="10m", end_at=hours.now + 25 * MINUTE)
    service.propose_factor(1, routine="report", ttl="5h")
    hours.pass_by(minutes=21)
    state = RoutineState.objects.get()
    assert (state.next_source, state.slot_source, state.fresh_hints(hours.began)) == ("ended", "", [])
    assert ScheduleChange.objects.get(kind=ChangeKind.HINT_EXPIRED).after == {"next_source": "ended"}


def test_hints_go_when_a_manual_routine_has_no_moment_left(hours: Hours) -> None:
    hours.make()
    service.propose_interval("report", "5m", ttl="12m")
    service.propose_factor(1, routine="report", ttl="5h")
    hours.pass_by(minutes=11)
    state = RoutineState.objects.get()
    assert (state.next_source, state.fresh_hints(hours.began)) == ("manual", [])


def test_hints_go_when_an_edit_ends_the_schedule(hours: Hours) -> None:
    hours.make(every="1h")
    service.propose_interval("report", "20m", ttl="5h")
    service.update_routine("report", end_at=hours.now + 5 * MINUTE)
    assert RoutineState.objects.get().fresh_hints(hours.began) == []


@pytest.mark.parametrize(
    ("field", "verb"),
    [
        ("interval", lambda now: service.propose_interval("report", "1m")),
        ("at", lambda now: service.propose_next_time("report", now + MINUTE)),
        ("at", lambda now: service.propose_next_time("report", now)),
        ("factor", lambda now: service.propose_factor(2, routine="report")),
    ],
)
def test_a_schedule_that_has_ended_takes_no_hints(hours: Hours, field: str, verb: Callable[[Any], Any]) -> None:
    """Of many, it is left out."""
    hours.make(every="10m", end_at=hours.now + 25 * MINUTE, tags=["t"])
    hours.pass_by(minutes=26)
    before = RoutineState.objects.values().get()
    with pytest.raises(service.InvalidValue) as refused:
        verb(hours.now)
    assert refused.value.field == field
    assert service.propose_factor(2, tag="t") == 0
    assert RoutineState.objects.values().get() == before


def test_a_one_shot_after_the_end_is_refused(hours: Hours) -> None:
    """Before it, it fires, although the schedule has no slot of its own left."""
    hours.make(every="10m", end_at=hours.now + 25 * MINUTE)
    hours.pass_by(minutes=21)
    with pytest.raises(service.InvalidValue, match="ends"):
        service.propose_next_time("report", hours.now + 20 * MINUTE)
    service.propose_next_time("report", hours.now + MINUTE)
    hours.pass_by(minutes=2)
    assert rows()[-1][2] == Source.HINT_ONESHOT


@pytest.mark.each_database
def test_tags_are_exact(hours: Hours) -> None:
    """On every database: neither case nor a part of one, nor what stands between two."""
    tags = ["slow", "SLOW", "é", "50%", "a_b", "axb", 'q"x', "back\\slash", "slower", "500"]
    for number, tag in enumerate(tags):
        hours.make(f"r{number}", every="1h", tags=[tag, "of all"])
    assert {tag: service.propose_factor(2, tag=tag) for tag in tags} == dict.fromkeys(tags, 1)
    assert [service.propose_factor(2, tag=tag) for tag in ("É", "of all", ", ")] == [0, len(tags), 0]


def test_a_factor_that_no_float_holds_is_refused(hours: Hours) -> None:
    hours.make(every="1h")
    for value in (10**400, -(10**400), float("nan"), float("inf")):
        with pytest.raises(service.InvalidValue):
            service.propose_factor(value, routine="report")


def test_pause_until_names_its_own_field(hours: Hours) -> None:
    hours.make(every="1h")
    with pytest.raises(service.InvalidValue) as refused:
        service.pause_until("report", hours.now - MINUTE)
    assert refused.value.field == "at"
