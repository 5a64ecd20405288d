"""A beat says in one line what a look has done, and nothing of a look that did nothing."""

from __future__ import annotations

import logging

import pytest

from routines_app import service
from routines_app.beat.loop import BeatLoop
from routines_app.models import Routine
from tests.acceptance.app import app
from tests.integration.protocol.claim.test_claim import TASK, rewind

pytestmark = pytest.mark.django_db(transaction=True)


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "routines_app.beat.done"]


def test_a_look_that_did_something_says_how_much(caplog: pytest.LogCaptureFixture, redis_url: str) -> None:
    """What has no way to go was not published."""
    beat = BeatLoop(app)
    for name in ("one", "two", "three", "lost"):
        service.create_routine(name, task=TASK, every="1h", misfire_grace_ms=86_400_000)
        rewind(name, seconds=3600)
    Routine.objects.filter(name="lost").update(queue="celeryev")
    service.create_routine("late", task=TASK, every="10s", misfire_grace_ms=1_000)
    rewind("late", seconds=35)
    with caplog.at_level(logging.INFO):
        beat._guarded_look()
        assert said(caplog) == ["fired 4, skipped 3, published 3"]
        caplog.clear()
        beat._guarded_look()
        assert said(caplog) == []
    beat.close()
