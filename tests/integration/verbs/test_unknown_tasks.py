"""Tasks that live in another repository: only their workers know them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from routines_app import service
from routines_app.models import Routine

Make = Callable[..., Routine]
ELSEWHERE = "warehouse.tasks.note"


def test_an_unknown_task_is_taken_when_it_is_meant(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    """The log says which names are close, in case it was a slip after all."""
    make(task=ELSEWHERE, allow_unknown_task=True)
    assert Routine.objects.get().task == ELSEWHERE
    (record,) = (record for record in caplog.records if record.levelname == "WARNING")
    assert f"task {ELSEWHERE} is taken as it is" in record.getMessage()
    assert "did you mean tests.acceptance.tasks.note?" in record.getMessage()


def test_an_edit_may_give_one_too(make: Make) -> None:
    """And leaves the one that is there alone, whatever else it changes."""
    routine = make()
    with pytest.raises(service.UnknownTask, match="allow_unknown_task=True"):
        service.update_routine(routine, task=ELSEWHERE)
    service.update_routine(routine, task=ELSEWHERE, allow_unknown_task=True)
    service.update_routine(routine, task=ELSEWHERE, description="kept")
    assert Routine.objects.values_list("task", "description").get() == (ELSEWHERE, "kept")


def test_a_known_task_is_taken_without_a_word(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    make(allow_unknown_task=True)
    assert not caplog.records
