"""What code declares."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from routines_app import service
from routines_app.core.words import RoutineStatus
from routines_app.models import Routine, RoutineRun, RoutineState, ScheduleChange
from routines_app.protocol.upkeep import archived
from routines_app.verbs import declare
from routines_app.verbs.declare import declare_routine
from tests.integration.conftest import MONDAY, NOTE
from tests.integration.verbs.rows import waiting_run

NIGHTLY = {"task": NOTE, "cron": "0 3 * * *"}


Make = Callable[..., Routine]


def test_only_name_and_task_are_the_codes_alone(make: Make) -> None:
    """All else can be changed here, too, and pausing and running are nobody's but people's."""
    routine = declare_routine("nightly", NIGHTLY, "shop")
    for change in ({"task": "tests.acceptance.tasks.sleepy"}, {"name": "x"}):
        with pytest.raises(service.NotAllowed, match="declared in the code of shop"):
            service.update_routine(routine, **change)
    service.update_routine(routine, timeout_ms="10m", cron="0 4 * * *", args=[1])
    service.pause_routine(routine)
    service.run_now(routine)
    service.resume_routine(routine)


def test_a_changed_declaration_changes_the_routine_and_keeps_what_people_set(make: Make) -> None:
    """The code's schedule wins; a policy that a person chose stays."""
    routine = declare_routine("nightly", NIGHTLY, "shop")
    service.update_routine(routine, max_attempts=7)
    declare_routine("nightly", NIGHTLY | {"cron": "0 4 * * *"}, "shop")
    stored = Routine.objects.get()
    assert (stored.cron, stored.max_attempts, stored.declared_in) == ("0 4 * * *", 7, "shop")


def test_what_a_person_has_changed_stays_and_codes_word_is_kept_beside_it(make: Make) -> None:
    """Also when code changes its mind; what nobody has touched follows the code."""
    routine = declare_routine("nightly", NIGHTLY | {"max_attempts": 2}, "shop")
    service.update_routine(routine, cron="0 5 * * *", actor="ada")
    routine = declare_routine("nightly", NIGHTLY | {"cron": "0 4 * * *", "max_attempts": 5}, "shop")
    assert (routine.cron, routine.max_attempts) == ("0 5 * * *", 5)
    assert service.differences(routine) == {"cron": "0 4 * * *"}


def test_a_trigger_is_one_thing(make: Make) -> None:
    """Who makes a cron an interval has said all of it: code does not bring half of it back."""
    routine = declare_routine("nightly", NIGHTLY, "shop")
    service.update_routine(routine, every="2h", actor="ada")
    routine = declare_routine("nightly", NIGHTLY | {"cron": "0 4 * * *"}, "shop")
    assert (routine.trigger_kind, routine.interval_ms, routine.cron) == ("INTERVAL", 7_200_000, "")
    assert service.differences(routine) == {"trigger_kind": "CRON", "cron": "0 4 * * *", "interval_ms": None}

    hourly = declare_routine("hourly", {"task": NOTE, "every": "1h"}, "shop")
    service.update_routine(hourly, every="2h", actor="ada")
    hourly = declare_routine("hourly", NIGHTLY, "shop")
    assert (hourly.trigger_kind, hourly.interval_ms) == ("INTERVAL", 7_200_000), "code has another kind by now"


def test_the_times_that_a_person_has_chosen_are_not_moved(make: Make) -> None:
    """Code's new time zone, or its end, belongs to code's cron; with that it comes back."""
    routine = declare_routine("nightly", NIGHTLY, "shop")
    service.update_routine(routine, cron="0 5 * * *", actor="ada")
    end = MONDAY.replace(year=2030)
    said = NIGHTLY | {"timezone": "Asia/Tokyo", "end_at": end, "max_attempts": 3}
    routine = declare_routine("nightly", said, "shop")
    assert (routine.cron, routine.timezone, routine.end_at, routine.max_attempts) == ("0 5 * * *", "UTC", None, 3)
    routine = service.give_back(routine, ["cron"])
    assert (routine.cron, routine.timezone, routine.end_at) == ("0 3 * * *", "Asia/Tokyo", end)


def test_an_edit_does_not_keep_the_rest_from_following(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    """What cannot be beside it waits, and it is said which edit is in the way; given back, it follows."""
    routine = declare_routine("nightly", NIGHTLY, "shop")
    service.update_routine(routine, retry_max_delay_ms="2m", actor="ada")
    said = NIGHTLY | {"cron": "0 4 * * *", "retry_delay_ms": "5m", "retry_max_delay_ms": "10m"}
    routine = declare_routine("nightly", said, "shop")
    assert (routine.cron, routine.retry_max_delay_ms) == ("0 4 * * *", 120_000)
    assert "retry_delay_ms cannot follow beside what people have changed: retry_max_delay_ms" in caplog.text

    version = routine.version
    assert declare_routine("nightly", said, "shop").version == version
    service.give_back(routine, ["retry_max_delay_ms"])
    routine = declare_routine("nightly", said, "shop")
    assert (routine.retry_delay_ms, routine.retry_max_delay_ms) == (300_000, 600_000)


def test_an_edit_ends_where_code_agrees_with_it(make: Make) -> None:
    """From then on there is nothing that a person has and code has not: the field follows the code."""
    routine = declare_routine("nightly", NIGHTLY | {"max_attempts": 2}, "shop")
    service.update_routine(routine, max_attempts=5, actor="ada")
    declare_routine("nightly", NIGHTLY | {"max_attempts": 5}, "shop")
    assert declare_routine("nightly", NIGHTLY | {"max_attempts": 3}, "shop").max_attempts == 3


def test_what_code_begins_to_say_does_not_take_an_edit_away(make: Make) -> None:
    """It had said nothing about it when somebody chose; another field, that nobody chose, becomes what it says."""
    routine = declare_routine("nightly", NIGHTLY, "shop")
    service.update_routine(routine, timeout_ms="10m", actor="ada")
    assert service.differences(routine) == {"timeout_ms": None}
    routine = declare_routine("nightly", NIGHTLY | {"timeout_ms": "1m", "expires_ms": "2m"}, "shop")
    assert (routine.timeout_ms, routine.expires_ms) == (600_000, 120_000)
    assert service.differences(routine) == {"timeout_ms": 60_000}


def test_nothing_new_is_no_edit(make: Make) -> None:
    """No version, no row in the history, and no lock: a beat starts with thousands of them."""
    fields = NIGHTLY | {"args": [1, {"a": True}], "end_at": MONDAY.replace(year=2030), "emphasis": 2}
    declare_routine("nightly", fields, "shop")
    with CaptureQueriesContext(connection) as asked:
        routine = declare_routine("nightly", fields, "shop")
    assert (routine.version, ScheduleChange.objects.count(), len(asked)) == (1, 1, 1)
    service.update_routine(routine, args=[True, {"a": True}], actor="ada")
    assert service.differences(routine) == {"args": [1, {"a": True}]}, "1 and True are one only to Python"


def test_what_a_beat_of_an_older_release_writes_is_no_edit(make: Make) -> None:
    """It knows no place where code's word is kept, and writes as code what it was started with; so does plain SQL."""
    declare_routine("nightly", NIGHTLY | {"cron": "0 4 * * *"}, "shop")
    routine = declare_routine("nightly", NIGHTLY, "shop")
    Routine.objects.update(cron="0 4 * * *")
    assert declare_routine("nightly", NIGHTLY, "shop").cron == "0 3 * * *"
    assert service.differences(Routine.objects.get(pk=routine.pk)) == {}


def test_a_rolling_deploy_ends_with_the_newest_start(make: Make) -> None:
    """Old and new beats start in any order; an edit that differs from all of them outlives each."""
    old, new = NIGHTLY | {"max_attempts": 2}, NIGHTLY | {"cron": "0 4 * * *", "max_attempts": 4}
    routine = declare_routine("nightly", old, "shop")
    service.update_routine(routine, max_attempts=9, actor="ada")
    for started in (new, old, new):
        routine = declare_routine("nightly", started, "shop")
        assert (routine.cron, routine.max_attempts) == (started["cron"], 9)
    assert service.differences(routine) == {"max_attempts": 4}


@pytest.mark.parametrize("scope", ["shop", "code:code"])
def test_two_that_declare_at_once_make_one(make: Make, monkeypatch: pytest.MonkeyPatch, scope: str) -> None:
    """The other one was faster between the look and the insert: now it is there."""
    look, looks = declare.find_declared, []

    def too_early(name: str, scope: str) -> Routine | None:
        looks.append(name)
        return look(name, scope) if len(looks) > 1 else None

    declare_routine("nightly", NIGHTLY, scope)
    monkeypatch.setattr(declare, "find_declared", too_early)
    assert declare_routine("nightly", NIGHTLY | {"cron": "0 4 * * *"}, scope).cron == "0 4 * * *"
    assert Routine.objects.count() == 1


def test_a_declaration_does_not_take_over_somebody_elses_routine(make: Make) -> None:
    """A name that exists is not the schedule's to change: the declared one gets its app's name added."""
    make("nightly", every="1h")
    assert declare_routine("nightly", NIGHTLY, "shop").name == "nightly (shop)"
    assert Routine.objects.get(name="nightly").interval_ms == 3_600_000


def test_a_declaration_brings_an_archived_routine_back(make: Make) -> None:
    """A rolled-back deploy that declares it again gets it again, planned from now."""
    service.archive_routine(declare_routine("nightly", NIGHTLY, "shop"))
    declare_routine("nightly", NIGHTLY, "shop")
    assert Routine.objects.get().status == RoutineStatus.ACTIVE
    assert RoutineState.objects.get().next_run_at == MONDAY.replace(day=3, hour=3, minute=0, second=0)


def test_what_waited_at_its_archive_does_not_come_back(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of very many waiting runs the beats cancel the rest: until then it cannot be declared again."""
    monkeypatch.setattr(archived, "CANCELLED_AT_ONCE", 2)
    routine = declare_routine("nightly", NIGHTLY, "shop")
    for number in range(6):
        waiting_run(routine, number)
    service.archive_routine(routine)
    with pytest.raises(service.NotAllowed, match="are still being cancelled"):
        declare_routine("nightly", NIGHTLY, "shop")
    assert archived.cancel_archived(MONDAY) == 2
    declare_routine("nightly", NIGHTLY, "shop")
    assert Routine.objects.get().status == RoutineStatus.ACTIVE
    assert set(RoutineRun.objects.values_list("status", "reason")) == {("CANCELLED", "archived")}
