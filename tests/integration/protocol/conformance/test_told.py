"""The note that ends were told, by each way."""

from __future__ import annotations

import pytest

from routines_app.core.words import RunStatus
from routines_app.models import RoutineRun
from routines_app.protocol.record import told
from tests.integration.holding import needs_row_locks, row_locked
from tests.integration.protocol.conformance.rows import MOMENT, columns, make_routine, make_run

pytestmark = pytest.mark.django_db(transaction=True)

MODULES = (told,)


def ended(count: int) -> list[RoutineRun]:
    routine = make_routine()
    return [make_run(routine, status=RunStatus.SUCCESS, tell_after=MOMENT) for _ in range(count)]


def test_what_was_told_needs_no_telling_any_more() -> None:
    """Those that are named, and nothing else of them."""
    first, second, untold = ended(3)
    before = {run.id: columns(run) for run in (first, second, untold)}
    told.note([second.id, first.id])
    assert columns(first) == before[first.id] | {"tell_after": None}
    assert columns(second) == before[second.id] | {"tell_after": None}
    assert columns(untold) == before[untold.id]


@needs_row_locks
@pytest.mark.timeout(30)
def test_a_row_that_somebody_holds_is_left_to_a_beat() -> None:
    """Nobody waits for it, and the others are noted."""
    held, free = ended(2)
    with row_locked(held.id):
        told.note([held.id, free.id])
    assert columns(held)["tell_after"] == MOMENT
    assert columns(free)["tell_after"] is None
