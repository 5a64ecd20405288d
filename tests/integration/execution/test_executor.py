"""A run that was started is ended, also when its task cannot even be looked at."""

from __future__ import annotations

from typing import Any

import pytest

from routines_app.core.words import Reason, RunStatus
from routines_app.execution import executor
from tests.integration.conftest import Execute
from tests.integration.execution.test_body import pending


@pytest.mark.parametrize("wrong", ["a module that cannot be imported", "a limit that is none"])
def test_a_task_that_cannot_even_be_looked_at_fails_its_run(
    run_it: Execute, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    """Raised into Celery it would leave the row RUNNING, until a beat takes it for an orphan."""

    def fail(*_: Any) -> None:
        raise ImportError(wrong)

    monkeypatch.setattr(executor, "find_task" if "module" in wrong else "allowed", fail)
    row = run_it(pending("bound", max_attempts=1))
    assert (row.status, row.reason) == (RunStatus.FAILED, Reason.EXCEPTION)
    assert row.error == f"it failed outside of its body: ImportError: {wrong}"
