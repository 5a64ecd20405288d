"""What runs wait for is added by the database, in the statement that makes them wait."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from routines_app.core.waits import LONGEST, OTHERS, Wait
from routines_app.core.words import Reason
from routines_app.models import RoutineRun
from routines_app.protocol.record.waits import because
from tests.integration.protocol.conformance.rows import make_routine, make_run

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 17, 3, 0, tzinfo=UTC)


def at(minute: int) -> datetime:
    return NOW + timedelta(minutes=minute)


def waited(*reasons: Reason) -> list[Wait]:
    """After these, one in each minute."""
    run = make_run(make_routine(), reason="")
    for minute, reason in enumerate(reasons):
        RoutineRun.objects.filter(pk=run.pk).update(**because(reason, at(minute)))
    run.refresh_from_db()
    assert run.reason == reasons[-1]
    return run.waited


def test_who_never_waits_has_nothing() -> None:
    """NULL stays NULL: a run that goes at once costs nothing."""
    assert waited(Reason.NONE, Reason.NOT_YET, Reason.NONE) == []


def test_reasons_are_appended_and_the_same_one_goes_on() -> None:
    assert waited(Reason.CEILING, Reason.PAUSED, Reason.PAUSED, Reason.NONE, Reason.NONE) == [
        Wait("ceiling", at(0), at(0)),
        Wait("paused", at(1), at(3)),
    ]


def test_a_run_that_is_handed_back_again_and_again_waits_for_one_thing() -> None:
    """Between two hand-backs it is let through. What waits for room in between has not waited for it all the time."""
    assert waited(Reason.REDIS_AWAY, Reason.NONE, Reason.REDIS_AWAY) == [Wait("redis_away", at(0), at(2))]
    assert waited(Reason.CEILING, Reason.NONE, Reason.CEILING) == [
        Wait("ceiling", at(0), at(1)),
        Wait("ceiling", at(2), at(2)),
    ]


def test_there_are_never_more_than_a_few() -> None:
    """The first ones and the last ones stay; one stands for those between."""
    found = waited(*[Reason.OVERLAP, Reason.CEILING] * 10)
    assert len(found) == 8
    assert [wait.since for wait in found[:4]] == [at(minute) for minute in range(4)]
    assert found[4] == Wait(OTHERS, at(4), at(16))
    assert [wait.since for wait in found[5:]] == [at(17), at(18), at(19)]
    assert max(len(text) for text in RoutineRun.objects.values_list("waits", flat=True) if text) == LONGEST
