"""`AnyOf` finds what `__in` finds, on every database."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from routines_app import service
from routines_app.models import Routine, RoutineRun, RoutineState, new_run_id
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.arrays import AnyOf

pytestmark = pytest.mark.django_db

TASK = "tests.acceptance.tasks.note"
NO_ROUTINE = 2**62

Choose = Callable[[list[Any]], Collection[Any]]

CHOICES: dict[str, Choose] = {
    "none": lambda _: [],
    "an empty set": lambda _: set(),
    "one": lambda known: known[:1],
    "some, in another order": lambda known: known[:0:-1],
    "a set": set,
    "a tuple": tuple,
    "one twice": lambda known: [known[0], known[0]],
    "keys": lambda known: dict.fromkeys(known).keys(),
}


@pytest.fixture
def runs() -> list[RoutineRun]:
    """Two runs of each of three routines."""
    now = clock.now()
    routines = [service.create_routine(f"routine {number}", task=TASK, every="10m") for number in range(3)]
    return [
        RoutineRun.objects.create(
            routine=routine, task=TASK, scheduled_for=now, eligible_at=now, idempotency_key=f"{routine.pk}:{attempt}"
        )
        for routine in routines
        for attempt in range(2)
    ]


@pytest.mark.parametrize("choose", CHOICES.values(), ids=CHOICES)
def test_runs_are_found_by_their_ids(runs: list[RoutineRun], choose: Choose):
    """UUIDs, also some that nobody has; what is not chosen is what `exclude` leaves."""
    ids: Collection[UUID] = choose([*(run.pk for run in runs), new_run_id()])
    all_runs = RoutineRun.objects.order_by("pk")

    assert list(all_runs.filter(AnyOf("id", ids))) == list(all_runs.filter(id__in=ids))
    assert list(all_runs.exclude(AnyOf("id", ids))) == list(all_runs.exclude(id__in=ids))


@pytest.mark.parametrize("choose", CHOICES.values(), ids=CHOICES)
def test_rows_are_found_by_their_routines_ids(runs: list[RoutineRun], choose: Choose):
    """As a foreign key, as a primary key that is one, and as a plain number."""
    ids: Collection[int] = choose([*sorted({run.routine_id for run in runs}), NO_ROUTINE])
    for rows, field in ((RoutineRun, "routine_id"), (RoutineState, "pk"), (Routine, "id")):
        found = set(rows.objects.filter(AnyOf(field, ids)).values_list("pk", flat=True))
        assert found == set(rows.objects.filter(**{f"{field}__in": ids}).values_list("pk", flat=True)), field


@pytest.mark.usefixtures("runs")
def test_it_is_one_condition_among_others():
    """With other conditions, through a join, in an update and in a locking read, as the protocol uses it."""
    ids = list(RoutineRun.objects.values_list("pk", flat=True))
    RoutineRun.objects.filter(pk=ids[0]).update(publish_count=1)
    unsent = RoutineRun.objects.filter(AnyOf("id", ids[:3]), publish_count=0)

    assert {row["pk"] for row in unsent.values("pk", "routine__name")} == set(ids[1:3])
    assert {row.pk for row in unsent.select_for_update()} == set(ids[1:3])
    assert unsent.update(publish_count=2) == 2
    assert set(RoutineRun.objects.filter(publish_count=2).values_list("pk", flat=True)) == set(ids[1:3])


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="only PostgreSQL has arrays")
def test_on_postgresql_however_many_ids_are_one_parameter():
    """One statement text for every number of ids, and nothing to prepare for each."""
    with CaptureQueriesContext(connection) as queries:
        list(RoutineRun.objects.filter(AnyOf("id", [new_run_id() for _ in range(100)])))

    (query,) = queries.captured_queries
    assert " IN " not in query["sql"]
    assert "::uuid[]" in query["sql"]
