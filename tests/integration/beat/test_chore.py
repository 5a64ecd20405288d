"""What a beat does now and then."""

from __future__ import annotations

import pytest

from routines_app.beat.chore import Chore
from routines_app.beat.guard import Guard


def test_a_chore_that_fails_is_logged_and_waits_for_its_turn(caplog: pytest.LogCaptureFixture) -> None:
    """The beat goes on to its other chores, and does not try this one again at once."""
    chore = Chore("this chore", lambda: 1 / 0, lambda: 60.0, Guard())

    chore.do_when_due()

    assert "chore" in caplog.text
    assert chore.seconds_left > 50
