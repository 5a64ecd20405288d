"""Pools: made, changed, deleted and looked at through the service."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from routines_app import service
from routines_app.core.words import RunStatus
from routines_app.models import Pool, Routine, RoutineRun
from tests.integration.conftest import MONDAY
from tests.integration.verbs.rows import waiting_run

Make = Callable[..., Routine]

pytestmark = pytest.mark.django_db


def test_a_pool_is_made_and_changed_and_beats_are_woken(django_capture_on_commit_callbacks: Any) -> None:
    """A higher ceiling lets waiting runs go at once."""
    with django_capture_on_commit_callbacks() as callbacks:
        pool = service.create_pool(" warehouse ", max_concurrent=2)
        service.update_pool("warehouse", max_concurrent=5)
        service.update_pool(pool.pk, name="store")
    assert list(Pool.objects.values_list("name", "max_concurrent")) == [("store", 5)]
    assert [callback.__name__ for callback in callbacks] == ["wake_beats"] * 3


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"name": "bell\x07"}, "name"),
        ({"max_concurrent": -1}, "max_concurrent"),
        ({"max_concurrent": "2"}, "max_concurrent"),
        ({"max_concurrent": 2**31}, "max_concurrent"),
    ],
)
def test_what_a_pool_cannot_be_is_refused_by_field(values: dict[str, Any], field: str) -> None:
    """Nothing is written, neither by making nor by changing."""
    pool = service.create_pool("p", max_concurrent=1)
    with pytest.raises(service.InvalidValue) as refused:
        service.create_pool(**{"name": "q", "max_concurrent": 1} | values)
    assert refused.value.field == field
    with pytest.raises(service.InvalidValue) as refused:
        service.update_pool(pool, **values)
    assert refused.value.field == field
    assert list(Pool.objects.values_list("name", "max_concurrent")) == [("p", 1)]


def test_a_name_belongs_to_one_pool() -> None:
    """Its own name is no other's."""
    one = service.create_pool("one", max_concurrent=1)
    service.create_pool("two", max_concurrent=1)
    with pytest.raises(service.DuplicateName):
        service.create_pool("one", max_concurrent=3)
    with pytest.raises(service.DuplicateName):
        service.update_pool("two", name="one")
    assert service.update_pool(one, name="one", max_concurrent=4).max_concurrent == 4


def test_an_unknown_field_is_named() -> None:
    """A slip of the keyboard is not ignored."""
    service.create_pool("p", max_concurrent=1)
    with pytest.raises(service.InvalidValue, match="did you mean max_concurrent"):
        service.update_pool("p", max_concurent=2)


def test_a_pool_goes_when_nothing_needs_it(make: Make) -> None:
    """Routines that name it and runs of it, active or ended, keep it."""
    pool = service.create_pool("p", max_concurrent=1)
    routine = make(pool=pool)
    with pytest.raises(service.NotAllowed, match="routines name it"):
        service.delete_pool("p")
    run = waiting_run(routine, 1, pool=pool)
    service.update_routine(routine, pool=None)
    with pytest.raises(service.NotAllowed, match="active"):
        service.delete_pool("p")
    RoutineRun.objects.filter(pk=run.pk).update(status=RunStatus.SKIPPED, completed_at=MONDAY)
    with pytest.raises(service.NotAllowed, match="the ledger holds runs"):
        service.delete_pool("p")
    RoutineRun.objects.all().delete()
    service.delete_pool("p")
    assert service.list_pools() == []


def test_the_use_of_pools_counts_what_is_in_flight(make: Make) -> None:
    """Admitted and not ended; what waits for room is not in flight."""
    full, empty = service.create_pool("full", max_concurrent=2), service.create_pool("empty", max_concurrent=1)
    routine = make(pool=full)
    for number in (1, 2):
        waiting_run(routine, number, pool=full)
    waiting_run(routine, 3, pool=full, admitted_at=None)
    waiting_run(routine, 4, pool=full, status=RunStatus.SKIPPED, completed_at=MONDAY)
    assert service.list_pools() == [empty, full]
    assert [(pool.in_flight, pool.waiting) for pool in service.list_pools()] == [(0, 0), (2, 1)]


def test_a_pool_keeps_a_name_that_is_older_than_the_rules_for_names() -> None:
    """An edit that gives the same name does not touch it; no pool gets such a name any more."""
    pool = Pool.objects.create(name="2", max_concurrent=1)
    service.update_pool("2", name="2", max_concurrent=4)
    pool.refresh_from_db()
    assert (pool.name, pool.max_concurrent) == ("2", 4)
    for name in ("3", "ware\u200bhouse"):
        with pytest.raises(service.InvalidValue, match=r"^name: "):
            service.update_pool(pool, name=name)
        with pytest.raises(service.InvalidValue, match=r"^name: "):
            service.create_pool(name, max_concurrent=1)
