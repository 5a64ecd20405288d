"""Importing beside others: conflicts, and what comes after the commit."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import OperationalError, transaction

from routines_app import service
from routines_app.models import Rotation, Routine
from routines_app.verbs.exports import applying, importing
from tests.integration.conftest import NOTE

DATA = {"format": 1, "routines": {"report": {"task": NOTE}}}


class Conflicts:
    """Writes, and finds itself in a deadlock so many times."""

    def __init__(self, times: int) -> None:
        self.left, self._write = times, importing._write

    def __call__(self, *given: Any) -> None:
        self._write(*given)
        if self.left:
            self.left -= 1
            raise OperationalError from Exception(1213, "deadlock")


@pytest.mark.usefixtures("ledger")
def test_an_import_that_meets_others_is_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    conflicts = Conflicts(1)
    monkeypatch.setattr(importing, "_write", conflicts)
    service.import_routines(DATA)
    assert (conflicts.left, Routine.objects.count()) == (0, 1)


@pytest.mark.usefixtures("ledger")
def test_inside_of_a_transaction_the_caller_does_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What else is in there is lost, too."""
    conflicts = Conflicts(2)
    monkeypatch.setattr(importing, "_write", conflicts)
    with pytest.raises(OperationalError), transaction.atomic():
        service.import_routines(DATA)
    assert (conflicts.left, Routine.objects.count()) == (1, 0)


@pytest.mark.usefixtures("ledger")
def test_an_import_that_is_done_does_not_fail_afterwards(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """How long members stay fresh is told to them after the commit, by batches."""
    service.create_rotation("feeds")

    def crash(*_: Any) -> None:
        raise RuntimeError("no members today")

    monkeypatch.setattr(applying, "stay_fresh", crash)
    service.import_routines({"format": 1, "rotations": {"feeds": {"fresh_for": "2d"}}})
    assert Rotation.objects.get().fresh_for_ms == 172_800_000
    assert "no members today" in caplog.text
