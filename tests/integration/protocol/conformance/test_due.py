"""Due routines, by each way: which ones a claim takes, what it reads of them, and what it leaves in their states."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest
from django.db import transaction

from routines_app.coordination.shown_arguments import MOST_READ
from routines_app.models import Pool, Routine
from routines_app.protocol.claim import due
from routines_app.protocol.claim.due import DueRow, NewState, take_due, write_states
from tests.integration.protocol.conformance.rows import MOMENT, ODD_TEXT, SECOND, make_routine, state_columns

pytestmark = pytest.mark.django_db

MODULES = (due,)

NOW = MOMENT
PLANNED = {"next_source": "baseline-cron"}


def due_at(next_run_at: datetime | None, **values: Any) -> Routine:
    return make_routine({"next_run_at": next_run_at} | (PLANNED if next_run_at else {}), **values)


def taken(limit: int = 10) -> list[DueRow]:
    with transaction.atomic():
        return take_due(NOW, limit).rows


@pytest.mark.parametrize(
    ("next_run_at", "is_taken"),
    [
        pytest.param(NOW - SECOND, True, id="overdue"),
        pytest.param(NOW, True, id="due at this very moment"),
        pytest.param(NOW + 0.000001 * SECOND, False, id="due a microsecond later"),
        pytest.param(None, False, id="no beat needs to look at it"),
    ],
)
def test_what_is_due_is_taken(next_run_at: datetime | None, is_taken: bool) -> None:
    """To the microsecond."""
    routine = due_at(next_run_at)
    assert [row.routine_id for row in taken()] == ([routine.pk] if is_taken else [])


def test_who_names_no_pool_has_the_default_one() -> None:
    """If there is one; a routine's own pool comes first."""
    own, default = (Pool.objects.create(name=name, max_concurrent=1) for name in ("own", "default"))
    due_at(NOW - SECOND, pool=own)
    due_at(NOW)
    assert [row.pool_id for row in taken()] == [own.pk, None]
    Pool.objects.filter(pk=default.pk).update(is_default=True)
    assert [row.pool_id for row in taken()] == [own.pk, default.pk]


@pytest.mark.parametrize("status", ["ACTIVE", "PAUSED", "PARKED", "ARCHIVED"])
def test_the_state_alone_says_what_is_due(status: str) -> None:
    """What that means for a routine that is not active, the claim decides."""
    due_at(NOW, status=status)
    assert [row.status for row in taken()] == [status]


@pytest.mark.parametrize(
    ("limit", "places"),
    [
        pytest.param(10, [2, 0, 3, 1], id="all of them"),
        pytest.param(4, [2, 0, 3, 1], id="as many as there are"),
        pytest.param(3, [2, 0, 3], id="the longest overdue first, then in the order of their ids"),
        pytest.param(1, [2], id="one"),
        pytest.param(0, [], id="none"),
    ],
)
def test_the_longest_overdue_come_first(limit: int, places: list[int]) -> None:
    """So nobody is passed over for ever."""
    ages = [5, 1, 9, 5]
    routines = [due_at(NOW - age * SECOND) for age in ages]
    due_at(NOW + SECOND)
    assert [row.routine_id for row in taken(limit)] == [routines[place].pk for place in places]


def every_state_value() -> dict[str, Any]:
    """No two of the times are the same: none can stand in another's place."""
    return {
        "last_slot": MOMENT - 10 * SECOND,
        "next_slot": MOMENT - 9 * SECOND,
        "slot_source": "hint-factor",
        "next_run_at": MOMENT - 8 * SECOND,
        "next_source": "hint-interval",
        "grid_from": MOMENT - 7 * SECOND,
        "clamps_from": MOMENT - 6 * SECOND,
        "hint_interval_ms": 2**40,
        "hint_interval_expires_at": MOMENT + 6 * SECOND,
        "hint_next_at": MOMENT + 7 * SECOND,
        "hint_next_expires_at": MOMENT + 8 * SECOND,
        "hint_factor": 2.5,
        "hint_factor_expires_at": MOMENT + 10 * SECOND,
        "failure_count": 3,
        "fingerprint": "0123456789abcdef",
        "release_policy": "ALL",
        "release_until": MOMENT + 9 * SECOND,
    }


EVERY_ROUTINE_VALUE = {
    "name": ODD_TEXT,
    "task": "some.task",
    "queue": "slow",
    "trigger_kind": "INTERVAL",
    "cron": "",
    "interval_ms": 86_400_000,
    "once_at": None,
    "timezone": "Europe/Berlin",
    "start_at": MOMENT - 30 * SECOND,
    "end_at": MOMENT + 30 * SECOND,
    "jitter_ms": 11,
    "status": "PAUSED",
    "paused_until": MOMENT + 31 * SECOND,
    "priority": "HIGH",
    "concurrency_policy": "REPLACE",
    "shadow": True,
    "catch_up_policy": "LAST",
    "misfire_grace_ms": 12,
    "catch_up_window_ms": 13,
    "catch_up_limit": 14,
    "timeout_ms": 1_015,
    "min_interval_ms": 16,
    "max_interval_ms": 17,
    "created_at": MOMENT - 32 * SECOND,
    "args": [1, "two"],
    "kwargs": {"three": [3]},
    "options": {"priority": 4},
}
NO_STATE_VALUE = {
    "last_slot": None,
    "next_slot": None,
    "slot_source": "",
    "next_run_at": MOMENT,
    "next_source": "paused",
    "grid_from": None,
    "clamps_from": None,
    "hint_interval_ms": None,
    "hint_interval_expires_at": None,
    "hint_next_at": None,
    "hint_next_expires_at": None,
    "hint_factor": None,
    "hint_factor_expires_at": None,
    "failure_count": 0,
    "fingerprint": "",
    "release_policy": "",
    "release_until": None,
}
NO_ROUTINE_VALUE = {
    "name": "nothing",
    "task": "t",
    "queue": "",
    "trigger_kind": "CRON",
    "cron": "* * * * *",
    "interval_ms": None,
    "once_at": None,
    "timezone": "UTC",
    "start_at": None,
    "end_at": None,
    "jitter_ms": 0,
    "status": "ACTIVE",
    "paused_until": None,
    "priority": "MEDIUM",
    "concurrency_policy": "ALLOW",
    "shadow": False,
    "catch_up_policy": "SKIP",
    "misfire_grace_ms": 0,
    "catch_up_window_ms": None,
    "catch_up_limit": None,
    "timeout_ms": None,
    "min_interval_ms": None,
    "max_interval_ms": None,
    "created_at": MOMENT,
    "args": [],
    "kwargs": {},
    "options": None,
}


def test_every_column_is_read() -> None:
    """Of a routine that has a value everywhere, of one that has none, and of one with what the first cannot have."""
    pool = Pool.objects.create(name="pool", max_concurrent=1)
    full = every_state_value()
    first = make_routine(full, pool=pool, **EVERY_ROUTINE_VALUE)
    second = make_routine(NO_STATE_VALUE, **NO_ROUTINE_VALUE)
    once = NO_ROUTINE_VALUE | {"name": "once", "trigger_kind": "ONCE", "cron": "", "once_at": MOMENT}
    third = make_routine(NO_STATE_VALUE, **once)
    assert [decoded(row) for row in taken()] == [
        DueRow(routine_id=first.pk, pool_id=pool.pk, **full, **EVERY_ROUTINE_VALUE),
        DueRow(routine_id=second.pk, pool_id=None, **NO_STATE_VALUE, **NO_ROUTINE_VALUE),
        DueRow(routine_id=third.pk, pool_id=None, **NO_STATE_VALUE, **once),
    ]


def decoded(row: DueRow) -> DueRow:
    """JSON is read as text."""
    found = {field: json.loads(getattr(row, field) or "null") for field in ("args", "kwargs", "options")}
    return row._replace(**found)


def test_long_arguments_are_not_carried_about() -> None:
    """A claim needs them only for monitors to show, and these show a bit of them."""
    make_routine(every_state_value(), **EVERY_ROUTINE_VALUE | {"args": ["x" * 50_000], "kwargs": {"y": "z" * 50_000}})
    (row,) = taken()
    assert (len(row.args), len(row.kwargs)) == (MOST_READ + 1, MOST_READ + 1)


def test_every_column_of_a_new_state_is_written() -> None:
    """Each state gets its own, what a claim does not move stays, and so does the state of whom it did not take."""
    moved, emptied, other = (make_routine(every_state_value() | {"fence": 5}) for _ in range(3))
    before = {routine.pk: state_columns(routine) for routine in (moved, emptied, other)}
    values = {
        "last_slot": MOMENT + 1 * SECOND,
        "next_slot": MOMENT + 2 * SECOND,
        "slot_source": "clamped-min",
        "next_run_at": MOMENT + 3 * SECOND,
        "next_source": "clamped-max",
        "clamps_from": MOMENT + 4 * SECOND,
        "fingerprint": 'a"b\\c,{}NULL',
        "release_policy": "LAST",
        "release_until": MOMENT + 5 * SECOND,
    }
    nothing = {
        "last_slot": None,
        "next_slot": None,
        "slot_source": "",
        "next_run_at": None,
        "next_source": "ended",
        "clamps_from": None,
        "fingerprint": "",
        "release_policy": "",
        "release_until": None,
    }
    write_states([NewState(emptied.pk, **nothing), NewState(moved.pk, **values)])
    assert state_columns(moved) == before[moved.pk] | values
    assert state_columns(emptied) == before[emptied.pk] | nothing
    assert state_columns(other) == before[other.pk]


def test_states_that_say_the_same_are_all_written() -> None:
    """Most columns of a batch do."""
    routines = [make_routine() for _ in range(3)]
    before = [state_columns(routine) for routine in routines]
    values = every_state_value()
    same = {field: values[field] for field in NewState._fields[1:]}
    write_states([NewState(routine.pk, **same) for routine in routines])
    assert [state_columns(routine) for routine in routines] == [state | same for state in before]


def test_a_state_that_is_gone_is_not_written() -> None:
    """Its routine was deleted; the others move on."""
    routine = make_routine()
    values = every_state_value()
    new = NewState(routine.pk, **{field: values[field] for field in NewState._fields[1:]})
    write_states([new._replace(routine_id=routine.pk + 1000), new])
    assert state_columns(routine)["next_run_at"] == values["next_run_at"]
    write_states([])
