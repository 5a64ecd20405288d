"""Indexes: what beats look for often is found by one, whichever database it is."""

from __future__ import annotations

import pytest
from django.db import connection

from routines_app.models import RotationMember, RoutineRun, RoutineState

pytestmark = pytest.mark.each_database


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("table", "name"),
    [
        (RoutineRun._meta.db_table, "run_waiting"),
        (RoutineRun._meta.db_table, "run_dispatched"),
        (RoutineRun._meta.db_table, "run_active"),
        (RoutineRun._meta.db_table, "run_pooled"),
        (RoutineRun._meta.db_table, "run_by_chain"),
        (RoutineRun._meta.db_table, "run_done_again"),
        (RoutineState._meta.db_table, "state_catching_up"),
    ],
)
def test_a_lookup_of_the_beats_has_its_index(table: str, name: str) -> None:
    """A database without partial indexes has a plain one instead."""
    with connection.cursor() as cursor:
        there = connection.introspection.get_constraints(cursor, table)
    wanted = name if connection.features.supports_partial_indexes else f"{name}_plain"
    assert wanted in there
    assert there[wanted]["index"]


@pytest.mark.django_db
def test_ends_that_were_not_told_have_one_index() -> None:
    """Its condition is on its own column: where that is left out, the index serves as well."""
    with connection.cursor() as cursor:
        there = connection.introspection.get_constraints(cursor, RoutineRun._meta.db_table)
    assert [name for name, index in there.items() if index["columns"] == ["tell_after"]] == ["run_untold"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("table", "name"),
    [
        (RoutineRun._meta.db_table, "run_by_rotation"),
        (RoutineRun._meta.db_table, "run_by_tick"),
        (RotationMember._meta.db_table, "member_by_rank"),
        (RotationMember._meta.db_table, "member_by_due"),
        (RotationMember._meta.db_table, "member_by_retry"),
        (RotationMember._meta.db_table, "member_by_staleness"),
    ],
)
def test_a_tick_finds_members_and_their_runs_by_an_index(table: str, name: str) -> None:
    """A condition on the index's own column is left out where there are no partial ones, and it serves as well."""
    with connection.cursor() as cursor:
        there = connection.introspection.get_constraints(cursor, table)
    assert there[name]["index"]
