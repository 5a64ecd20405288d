"""Giving back to code what people have changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from routines_app import service
from routines_app.models import Pool, Routine, ScheduleChange
from routines_app.verbs.declare import declare_routine
from tests.integration.conftest import MONDAY, NOTE

Make = Callable[..., Routine]
FIELDS = {"task": NOTE, "cron": "0 3 * * *", "max_attempts": 2}


def declared(**fields: Any) -> Routine:
    return declare_routine("nightly", FIELDS | fields, "shop")


def test_all_that_differs_is_what_code_says_and_follows_it(make: Make) -> None:
    """Who and why is in the history; what code says nothing about gets its default."""
    service.update_routine(declared(), every="1h", max_attempts=7, description="mine", actor="ada")
    routine = declared(max_attempts=3)
    assert service.differences(routine).keys() >= {"cron", "max_attempts", "description"}

    service.give_back(routine, actor="bob", reason="over")
    assert (routine.cron, routine.interval_ms, routine.max_attempts, routine.description) == ("0 3 * * *", None, 3, "")
    assert service.differences(routine) == {}
    change = ScheduleChange.objects.latest("id")
    assert (change.kind, change.actor, change.reason) == ("updated", "bob", "given back to code: over")
    assert declared(cron="0 4 * * *", max_attempts=4).max_attempts == 4


def test_one_field_or_a_few(make: Make) -> None:
    """A part of a trigger stands for the trigger; `every` is its interval."""
    service.update_routine(declared(), every="1h", max_attempts=7)
    assert service.give_back("nightly", ["max_attempts"]).trigger_kind == "INTERVAL"
    assert service.give_back("nightly", ["every"]).cron == "0 3 * * *"


def test_a_secret_goes_where_code_has_sent_it(make: Make) -> None:
    """Who has chosen another queue, and does not know the arguments, does not get them there by giving them back."""
    routine = declared(kwargs={"token": "s3cret"}, queue="safe")
    service.update_routine(routine, kwargs={}, queue="theirs", max_attempts=7)
    service.give_back(routine, ["kwargs"])
    assert (routine.kwargs, routine.queue, routine.max_attempts) == ({"token": "s3cret"}, "safe", 7)
    service.update_routine(routine, kwargs={"token": "mine"}, queue="theirs")
    service.give_back(routine, ["queue"])
    assert (routine.kwargs, routine.queue) == ({"token": "mine"}, "safe"), "what is one's own may stay"


def test_rows_and_moments_are_given_back(make: Make) -> None:
    narrow, wide = (Pool.objects.create(name=name, max_concurrent=1) for name in ("narrow", "wide"))
    end = MONDAY.replace(year=2030)
    service.update_routine(declared(pool="narrow", end_at=end), pool="wide", end_at=None)
    routine = Routine.objects.get()
    assert (routine.pool, service.differences(routine)) == (wide, {"pool": narrow.pk, "end_at": end})
    service.give_back(routine)
    assert (routine.pool, routine.end_at) == (narrow, end)


def test_nothing_differs_nothing_happens(make: Make) -> None:
    assert service.give_back(declared()).version == 1
    assert ScheduleChange.objects.count() == 1


def test_what_cannot_be_given_back_says_why(make: Make) -> None:
    make("own", every="1h")
    with pytest.raises(service.NotAllowed, match="give one that is declared in code"):
        service.give_back("own")
    routine = declared()
    with pytest.raises(service.InvalidValue, match="did you mean max_attempts"):
        service.give_back(routine, ["max_atempts"])
    Routine.objects.filter(pk=routine.pk).update(declared=None)
    with pytest.raises(service.NotAllowed, match="not known yet"):
        service.give_back(routine)
    Routine.objects.filter(pk=routine.pk).update(declared={"cron": "0 3 * * *"})
    service.archive_routine(routine)
    with pytest.raises(service.NotAllowed, match="archived"):
        service.give_back(routine)


@pytest.mark.parametrize("stored", ["text", 7, ["cron"]])
def test_a_column_that_holds_nonsense_is_one_that_is_not_known(make: Make, stored: Any) -> None:
    """Plain SQL can put anything there; the next sync mends it."""
    routine = declared()
    Routine.objects.update(declared=stored)
    assert service.differences(Routine.objects.get()) == {}
    declared()
    assert Routine.objects.get().declared == routine.declared
