"""A claim's deciding is bounded, and a chore that fails stays by itself."""

from __future__ import annotations

import json

import pytest

from routines_app import service
from routines_app.beat.loop import Chore
from routines_app.coordination.envelope import Message
from routines_app.models import RoutineRun
from routines_app.protocol.claim import claim
from routines_app.protocol.ledger import clock
from tests.integration.protocol.claim.test_claim import TASK, rewind


@pytest.mark.django_db(transaction=True)
def test_a_claim_that_decides_too_long_leaves_the_rest_and_still_moves_on(monkeypatch):
    """However slow deciding is, each claim writes something and says that more is left."""
    monkeypatch.setattr(claim, "DECIDE_SECONDS", -1.0)
    for name in ("a", "b", "c"):
        service.create_routine(name, task=TASK, every="10s")
        rewind(name, seconds=10)

    reports = [claim.claim_due(clock.now()) for _ in range(4)]

    assert [(report.claimed, report.left) for report in reports] == [(1, True), (1, True), (1, False), (0, False)]
    assert RoutineRun.objects.count() == 3


def test_a_chore_that_fails_is_logged_and_waits_for_its_turn(caplog):
    """The beat goes on to its other chores, and does not try this one again at once."""
    chore = Chore(lambda: 1 / 0, lambda: 60.0)

    chore.do_when_due()

    assert "chore" in caplog.text
    assert chore.seconds_left > 50


def test_an_exclusive_message_carries_the_routines_id():
    """What tracing tools are shown and what is sent are the same."""
    message = Message("0190", "nightly", TASK, "", "MEDIUM", 1000, 7)

    args, kwargs, _ = json.loads(message.body)

    assert (args, kwargs) == (["0190"], {"exclusive": 7})
    assert kwargs == message.kwargs
