"""What a beat says of the database and the broker: one line for each change."""

from __future__ import annotations

import pytest
from celery import current_app

from routines_app.beat.loop import BeatLoop
from routines_app.beat.outside import REFUSED_SECONDS, Outside
from routines_app.models import Node


def test_each_change_is_told_once(caplog: pytest.LogCaptureFixture):
    """However often it is tried in between."""
    broker = Outside("the broker")
    for _ in range(5):
        broker.refuses("out of memory")
    for _ in range(5):
        broker.is_away("connection refused")
    assert broker.is_back()
    assert not broker.is_back()

    told = [record.getMessage().split(";")[0].split(" after")[0] for record in caplog.records]
    assert told == ["the broker refuses: out of memory", "the broker is away: connection refused", "the broker is back"]


def test_a_broker_that_answers_may_still_refuse():
    """Only a try to write tells that it takes something again."""
    broker = Outside("the broker")
    broker.refuses("out of memory")
    assert not broker.answers()
    assert broker.is_failing
    broker.is_away("gone")
    assert broker.answers()
    assert not broker.is_failing


def test_who_refuses_is_tried_again_soon():
    """Long enough apart for a server in trouble, and never as far apart as for one that has to be waited for."""
    broker = Outside("the broker")
    waits = [broker.refuses("out of memory") for _ in range(10)]
    assert max(waits) == REFUSED_SECONDS
    assert broker.is_away("gone") > REFUSED_SECONDS


def test_what_is_wrong_is_a_line_for_people():
    """The first of what was said, and no password; nothing once it is back."""
    broker = Outside("the broker")
    assert broker.problem == ""
    broker.is_away("redis://:hunter2@db refused\nTraceback")
    assert broker.problem.startswith("The broker is away: redis://")
    assert broker.problem.endswith("@db refused")
    assert "hunter2" not in broker.problem
    broker.is_back()
    assert broker.problem == ""


def test_that_the_broker_is_away_or_back_is_reported_at_once(ledger: None) -> None:
    """People see it on every page of the admin, not a minute later."""
    beat = BeatLoop(current_app)
    beat._broker._outside.is_away("connection refused")
    beat._report_news()
    assert Node.objects.get().problems == ["The broker is away: connection refused"]
    beat._broker._outside.is_back()
    beat._report_news()
    assert Node.objects.get().problems == []
