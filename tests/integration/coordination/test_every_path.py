"""Whichever way a run comes to the broker, its message says the same."""

from __future__ import annotations

import ast
from collections.abc import Callable
from datetime import timedelta

import pytest
import redis
from celery import current_app

from routines_app import service
from routines_app.masks import MASK
from routines_app.models import Routine, RoutineRun
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.ledger import clock
from routines_app.protocol.publish.outbox import FIRST_LOOK, send
from routines_app.protocol.publish.pools import admit_pools
from routines_app.protocol.publish.waiting import dispatch_waiting
from routines_app.protocol.upkeep.lost_messages import republish_lost, republish_missing
from tests.acceptance.stack import use_broker
from tests.integration.conftest import NOTE
from tests.integration.coordination.test_ways import SEPARATOR, message_of
from tests.integration.protocol.claim.test_claim import rewind

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _new_connections(redis_client: redis.Redis) -> None:
    """Redis is emptied before each test, and open connections believe that their queues are bound."""
    use_broker(current_app.conf.broker_url)


OPTIONS = {"priority": 3, "headers": {"tenant": "a", "api_key": "hunter2"}}


def by_claim(routine: Routine) -> None:
    rewind(routine.name, seconds=10)
    assert send([*claim_due(clock.now()).messages, *admit_pools(clock.now())]) is None


def by_waiting(routine: Routine) -> None:
    rewind(routine.name, seconds=10)
    claim_due(clock.now())  # and the beat dies
    later = clock.now() + timedelta(seconds=10)
    assert send([*dispatch_waiting(later), *admit_pools(later)]) is None


def by_hand(routine: Routine) -> None:
    service.run_now(routine)


def by_looking_for_losses(routine: Routine) -> None:
    lost(routine)
    assert republish_lost(clock.now() + FIRST_LOOK * 2) == 1


def by_a_new_server(routine: Routine) -> None:
    lost(routine)
    assert republish_missing(clock.now()) == 1


def lost(routine: Routine) -> None:
    run = service.run_now(routine)
    run.refresh_from_db()
    assert run.dispatched_at is not None
    with current_app.connection_for_write() as connection:
        connection.default_channel.queue_purge("celery")  # type: ignore[attr-defined]


@pytest.mark.parametrize("by", [by_claim, by_waiting, by_hand, by_looking_for_losses, by_a_new_server])
@pytest.mark.parametrize("pooled", [False, True])
def test_options_and_arguments_are_in_the_message_on_every_path(
    redis_client: redis.Redis, by: Callable[[Routine], None], pooled: bool
) -> None:
    """Monitors see the task, its arguments without secrets, and the routine; the headers are sent as they are."""
    pool = service.create_pool("pool", max_concurrent=5) if pooled else None
    values = {"args": [7], "kwargs": {"password": "s3cret", "region": "eu"}, "pool": pool, "options": OPTIONS}
    routine = service.create_routine("nightly report", task=NOTE, every="10s", timeout_ms="2m", **values)

    by(routine)

    key, message = message_of(redis_client, RoutineRun.objects.get().pk)
    headers = message["headers"]
    assert (key, message["properties"]["priority"]) == (f"celery{SEPARATOR}3", 3)
    assert (headers["tenant"], headers["api_key"]) == ("a", "hunter2")
    assert (headers["shadow"], headers["argsrepr"]) == (NOTE, "(7,)")
    shown = {"routine": "nightly report", "password": MASK, "region": "eu"}
    assert ast.literal_eval(headers["kwargsrepr"]) == shown
    assert headers["timelimit"] == [150.0, 150.0]


def test_a_run_shows_its_own_arguments_and_no_limit_where_there_is_none(redis_client: redis.Redis) -> None:
    """Those of the request, beside the routine's others; Celery's limit would be one that nobody asked for."""
    routine = service.create_routine("by hand", task=NOTE, args=[1], kwargs={"a": 1})
    for timeout, limit in ((None, [None, None]), (0, [0, 0])):
        service.update_routine(routine, timeout_ms=timeout)
        headers = message_of(redis_client, service.run_now(routine, args=[2]).pk)[1]["headers"]
        assert (headers["argsrepr"], headers["kwargsrepr"]) == ("(2,)", "{'routine': 'by hand', 'a': 1}")
        assert headers["timelimit"] == limit
