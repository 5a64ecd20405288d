"""The broker's side of a publish: what has no way to go holds nothing else up."""

from __future__ import annotations

import pytest
from celery import current_app

from routines_app import service
from routines_app.models import RoutineRun
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.ledger import clock
from routines_app.protocol.publish.outbox import send
from tests.integration.protocol.claim.test_claim import TASK, rewind

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def _only_known_queues():
    """No queue is made up: `celery` is the only one that there is."""
    current_app.conf.task_create_missing_queues = False
    current_app.amqp.__dict__.pop("queues", None)
    current_app.amqp.__dict__.pop("router", None)
    yield
    current_app.conf.task_create_missing_queues = True
    current_app.amqp.__dict__.pop("queues", None)
    current_app.amqp.__dict__.pop("router", None)


@pytest.mark.usefixtures("_only_known_queues")
def test_a_queue_that_does_not_exist_stops_only_its_own_runs():
    """The others are published; the run says why it waits."""
    service.create_routine("good", task=TASK, every="10s")
    service.create_routine("lost", task=TASK, every="10s", queue="no-such-queue")
    rewind("good", seconds=10)
    rewind("lost", seconds=10)

    assert send(claim_due(clock.now()).messages)

    good, lost = RoutineRun.objects.order_by("routine__name")
    assert good.dispatched_at is not None
    assert (lost.dispatched_at, lost.reason) == (None, "publish_failed")
    assert lost.publish_after > clock.now()
