"""Looking at the runs of a routine."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from routines_app import service
from routines_app.models import Routine

Make = Callable[..., Routine]


def test_runs_are_listed_newest_first(make: Make) -> None:
    """The limit is a limit."""
    routine = make()
    runs = [service.run_now(routine, idempotency_key=str(number)) for number in range(4)]
    assert [run.pk for run in service.list_runs("report", limit=3)] == [run.pk for run in reversed(runs[1:])]
    with pytest.raises(service.InvalidValue, match="limit"):
        service.list_runs(routine, limit=0)
