"""Fault 17: RabbitMQ stopped at publish; restarted with its queues lost: published again."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from routines_app import service
from routines_app.models import RoutineRun
from tests.acceptance.conftest import StackFactory
from tests.acceptance.fault import NOTE, Fault, ready_beats
from tests.acceptance.stack import rabbitmqctl

LOST_SECONDS = 45  # a message is first missed this long after it was published


@pytest.mark.slow
@pytest.mark.rabbitmq
def test_fault_17_what_rabbitmq_refused_or_lost_is_published_again(make_stack: StackFactory, fault: Fault) -> None:
    """Its virtual host is taken away, with queues and connections, and comes back empty: to a client, a restart."""
    stack = make_stack(broker="rabbitmq")
    beat = stack.beat()
    ready_beats(stack, 1)
    for number in range(5):
        service.create_routine(f"tick {number}", task=NOTE, every="2s")
    published = RoutineRun.objects.filter(dispatched_at__isnull=False)
    stack.wait_until(lambda: published.count() >= 10, 30, "nothing is published")

    rabbitmqctl("delete_vhost", stack.name)
    lost = list(published.values_list("id", flat=True))
    refused = RoutineRun.objects.filter(dispatched_at=None)
    stack.wait_until(lambda: refused.count() >= 10, 30, "publishing goes on without a broker")
    refused_ids = list(refused.values_list("id", flat=True))
    rabbitmqctl("add_vhost", stack.name)
    rabbitmqctl("set_permissions", "-p", stack.name, "guest", ".*", ".*", ".*")
    back = datetime.now(UTC)

    left = RoutineRun.objects.filter(id__in=refused_ids, dispatched_at=None)
    stack.wait_until(lambda: not left.exists(), 30, "what was refused is not published")
    fault.recovered((datetime.now(UTC) - back).total_seconds(), 15, "17: what RabbitMQ refused is published")
    stack.worker()
    unrun = RoutineRun.objects.filter(id__in=lost).exclude(status="SUCCESS")
    stack.wait_until(lambda: not unrun.exists(), LOST_SECONDS + 60, "what RabbitMQ lost never ran")
    fault.recovered((datetime.now(UTC) - back).total_seconds(), LOST_SECONDS + 40, "17: what RabbitMQ lost has run")
    assert beat.running
    assert beat.log().count("the broker is away") <= 2
    fault.balances(stack, until=back)
