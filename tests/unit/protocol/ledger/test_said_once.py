"""What lasts is said once, and not remembered for ever."""

from __future__ import annotations

import logging

import pytest

from routines_app.protocol.ledger import said_once
from routines_app.protocol.ledger.said_once import SaidOnce


def test_the_same_is_said_once_until_it_is_over(caplog: pytest.LogCaptureFixture) -> None:
    about = SaidOnce(logging.getLogger("tests"))
    for text in ("held", "held", "refused"):
        about.warn("a run", text)
    assert about.over("a run")
    about.warn("a run", "refused")
    assert caplog.messages == ["held", "refused", "refused"]


def test_what_ended_unnoticed_is_forgotten_in_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs come and go: a beat that lives for months must not keep what it has said of each."""
    monkeypatch.setattr(said_once, "REMEMBERED", 2)
    about = SaidOnce(logging.getLogger("tests"))
    for run in range(3):
        about.note(run, "held")
    assert [run in about for run in range(3)] == [False, True, True]
