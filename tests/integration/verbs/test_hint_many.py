"""A factor for all routines with a tag, in a group, on a queue or in a pool."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from routines_app import service
from routines_app.core.words import HintKind, Source
from routines_app.models import ChangeKind, Pool, Routine, RoutineRun, RoutineState, ScheduleChange
from routines_app.protocol.claim.claim import claim_due
from routines_app.verbs import hint_many
from tests.integration.conftest import MONDAY, Time

Make = Callable[..., Routine]
TEN = MONDAY.replace(second=0)


def hinted() -> dict[str, Any]:
    found = RoutineState.objects.select_related("routine").order_by("routine__name")
    return {state.routine.name: state.hint_factor for state in found if state.hint_factor is not None}


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ({"tag": "shop"}, ["a", "b"]),
        ({"tag": 'odd "tag"'}, ["c"]),
        ({"tag": "sho"}, []),
        ({"group": "night"}, ["b"]),
        ({"queue": "slow"}, ["c"]),
        ({"pool": "narrow"}, ["a"]),
        ({"routine": "c"}, ["c"]),
    ],
    ids=str,
)
def test_a_selector_says_which(make: Make, selector: dict[str, Any], names: list[str]) -> None:
    """How many were hinted is returned, each has its history, and archived ones are left out."""
    Pool.objects.create(name="narrow", max_concurrent=1)
    make("a", every="10m", tags=["shop"], pool="narrow")
    make("b", cron="*/5 * * * *", tags=["other", "shop"], group="night")
    make("c", every="1m", queue="slow", tags=['odd "tag"'])
    gone = make("gone", every="1m", tags=["shop"], group="night", queue="slow")
    service.archive_routine(gone)
    assert service.propose_factor(5, **selector, ttl="30m", reason="sale", actor="ann") == len(names)
    assert hinted() == dict.fromkeys(names, 5.0)
    told = ScheduleChange.objects.filter(kind=ChangeKind.HINTED)
    assert sorted(told.values_list("routine_name", "actor", "reason")) == [(name, "ann", "sale") for name in names]
    for state in RoutineState.objects.exclude(hint_factor=None):
        (hint,) = state.fresh_hints(MONDAY)
        assert hint == (HintKind.FACTOR, 5.0, MONDAY + timedelta(minutes=30), "sale", "ann")


def test_the_default_pool_has_those_that_name_none(make: Make) -> None:
    """They belong to it."""
    Pool.objects.create(name="rest", max_concurrent=9, is_default=True)
    Pool.objects.create(name="narrow", max_concurrent=1)
    make("a", every="10m")
    make("b", every="10m", pool="narrow")
    assert service.propose_factor(2, pool="rest") == 1
    assert hinted() == {"a": 2.0}


def test_of_a_cron_every_nth_slot_fires(make: Make, time: Time) -> None:
    """The slot that is planned stays; then every fifth, and after the ttl all of them again."""
    make("report", cron="* * * * *", tags=["t"])
    service.propose_factor(5, tag="t", ttl="12m")
    for _ in range(200):
        claim_due(time.pass_by(seconds=5))
    runs = RoutineRun.objects.exclude(status="SKIPPED").order_by("scheduled_for")
    minutes = [(run.scheduled_for - TEN) // timedelta(minutes=1) for run in runs]
    assert minutes == [1, 6, 11, 13, 14, 15, 16, 17]
    assert runs[1].source == Source.HINT_FACTOR


@pytest.mark.parametrize("factor", [0.5, 1.5])
def test_a_factor_that_no_cron_can_follow_is_one_error(make: Make, factor: float) -> None:
    """It names the first such routine and says how many there are; nothing is written."""
    make("interval", every="1m", tags=["t"])
    for name in ("cron b", "cron a", "cron c"):
        make(name, cron="0 * * * *", tags=["t"])
    with pytest.raises(service.InvalidValue, match=r"factor: .*whole number.*cron a and 2 more") as caught:
        service.propose_factor(factor, tag="t")
    assert caught.value.field == "factor"
    with pytest.raises(service.InvalidValue, match="cron b is a CRON"):
        service.propose_factor(factor, routine="cron b")
    assert hinted() == {}
    assert not ScheduleChange.objects.filter(kind=ChangeKind.HINTED).exists()


def test_a_manual_routine_has_nothing_to_slow_down_unless_an_interval_is_hinted(make: Make) -> None:
    """By a selector it is left out, by itself it is an error."""
    make("manual", tags=["t"])
    assert service.propose_factor(2, tag="t") == 0
    with pytest.raises(service.InvalidValue, match="MANUAL"):
        service.propose_factor(2, routine="manual")
    service.propose_interval("manual", "10m")
    assert service.propose_factor(2, tag="t") == 1


def test_a_faster_factor_brings_plans_forward_at_once(make: Make) -> None:
    """In bulk as for one."""
    make("a", every="10m", group="g")
    make("b", every="20m", group="g")
    service.propose_factor(0.5, group="g")
    planned = RoutineState.objects.order_by("routine__name").values_list("next_slot", "next_run_at", "next_source")
    five, ten = MONDAY + timedelta(minutes=5), MONDAY + timedelta(minutes=10)
    assert list(planned) == [(five, five, "hint-factor"), (ten, ten, "hint-factor")]
    assert service.clear_hints(group="g", actor="ann") == 2
    planned = RoutineState.objects.order_by("routine__name").values_list("next_slot", "next_source", "hint_factor")
    twenty = MONDAY + timedelta(minutes=20)
    assert list(planned) == [(ten, "baseline-interval", None), (twenty, "baseline-interval", None)]
    assert ScheduleChange.objects.filter(kind=ChangeKind.HINTS_CLEARED, actor="ann").count() == 2
    assert service.clear_hints(group="g") == 0


def test_what_an_expired_factor_went_past_is_accounted_for(make: Make, time: Time) -> None:
    """The next proposal for all drops it, in bulk too."""
    for name in ("a", "b"):
        make(name, cron="* * * * *", group="g")
    service.propose_factor(30, group="g", ttl="10m")
    claim_due(time.pass_by(seconds=40))
    time.pass_by(minutes=10)
    assert service.propose_factor(3, group="g") == 2
    skipped = RoutineRun.objects.filter(reason="superseded")
    assert [run.occurrences for run in skipped] == [9, 9], "the one after its expiry is due"
    assert ScheduleChange.objects.filter(kind=ChangeKind.HINT_EXPIRED).count() == 2


def test_one_that_cannot_be_planned_does_not_stop_the_others(make: Make) -> None:
    """A beat parks it; the others are hinted."""
    broken = make("broken", cron="0 * * * *", group="g")
    make("sound", cron="0 * * * *", group="g")
    Routine.objects.filter(pk=broken.pk).update(timezone="Nowhere/Land")
    assert service.propose_factor(3, group="g") == 1
    assert hinted() == {"sound": 3.0}


def test_statements_are_counted_by_batches(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many routines there are."""
    for number in range(12):
        make(f"r{number}", every="10m", group="g")

    def statements(factor: float) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert service.propose_factor(factor, group="g") == 12
        return len(queries)

    in_one = statements(0.5)
    assert in_one < 12
    monkeypatch.setattr(hint_many, "BATCH", 4)
    assert statements(0.25) <= 3 * in_one
