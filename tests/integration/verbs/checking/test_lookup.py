"""What a caller means: text is a name, an integer is an id, in every verb."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from routines_app import service
from routines_app.models import Pool, Routine, RoutineRun, ScheduleChange
from tests.integration.conftest import MONDAY

Make = Callable[..., Routine]

NEEDS: dict[str, dict[str, Any]] = {
    "backfill": {"start": MONDAY, "end": MONDAY},
    "backfill_status": {"batch": "b"},
    "cancel_backfill": {"batch": "b"},
    "copy_routine": {"name": "another"},
    "pause_until": {"at": MONDAY},
    "plan_backfill": {"start": MONDAY, "end": MONDAY},
    "propose_interval": {"interval": "5m", "ttl": "1h"},
    "propose_next_time": {"at": MONDAY, "ttl": "1h"},
    "typed_at": {"text": "03:00"},
    "why": {"at": MONDAY},
}


def verbs() -> list[str]:
    """All of the façade that take a routine."""
    functions = {name: verb for name in service.__all__ if inspect.isfunction(verb := getattr(service, name))}
    first = {name: next(iter(inspect.signature(verb).parameters.values()), None) for name, verb in functions.items()}
    return sorted(name for name, given in first.items() if given is not None and "RoutineRef" in given.annotation)


def test_the_verbs_are_found() -> None:
    """Or the tests below would ask none of them."""
    assert {"run_now", "pause_routine", "find_routine", "backfill", "list_runs", "lease_of", "plan"} <= set(verbs())


@pytest.mark.parametrize("verb", verbs())
def test_digits_in_text_are_a_name_and_never_an_id(make: Make, verb: str) -> None:
    """Nothing has that name, so nothing happens to the routine that has it as its id."""
    routine = make(every="1h", concurrency_policy="FORBID")
    with pytest.raises(service.NotFound, match="no routine has that name; an id is given as an integer"):
        getattr(service, verb)(str(routine.pk), **NEEDS.get(verb, {}))
    assert (RoutineRun.objects.count(), ScheduleChange.objects.count()) == (0, 1)


def test_a_routine_that_is_called_like_an_id_is_found_by_that_name(make: Make) -> None:
    """Rows that are older than the rule go on to work."""
    meant, named = make("report"), make("impostor")
    Routine.objects.filter(pk=named.pk).update(name=str(meant.pk))
    assert service.find_routine(str(meant.pk)).pk == named.pk
    assert service.find_routine(meant.pk).pk == meant.pk
    assert service.create_routine("child", task=meant.task, parent=str(meant.pk)).parent_id == named.pk


@pytest.mark.parametrize("number", [0, -1, 999_999, 2**63, 10**30, 10**5_000], ids=lambda number: number.bit_length())
def test_no_number_is_too_large_to_be_looked_for(db: None, number: int) -> None:
    """It is nobody's id."""
    with pytest.raises(service.NotFound, match="no routine has that id"):
        service.run_now(number)


def test_pools_are_found_in_the_same_way(db: None) -> None:
    """Text is a name."""
    pool = Pool.objects.create(name="warehouse", max_concurrent=1)
    with pytest.raises(service.NotFound, match="no pool has that name; there are: warehouse"):
        service.update_pool(str(pool.pk), max_concurrent=2)
    assert service.update_pool(pool.pk, max_concurrent=2).name == "warehouse"
