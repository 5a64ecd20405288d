"""With what a body is stopped."""

from __future__ import annotations

import pytest
from celery.exceptions import Ignore, SoftTimeLimitExceeded

from routines_app.execution.stops import Stop, interruption


@pytest.mark.parametrize("stop", list(Stop))
def test_only_being_out_of_time_is_a_failure(stop: Stop) -> None:
    """Whatever the reason, code that cleans up on a soft limit does so; an `Ignore` is nobody's failure."""
    raised = interruption(stop)
    assert issubclass(raised, SoftTimeLimitExceeded)
    assert issubclass(raised, Ignore) == (stop is not Stop.TIMEOUT)
