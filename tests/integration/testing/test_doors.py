"""Nothing leaves the process while a clock stands, and everything does again afterwards."""

from __future__ import annotations

import logging
import pkgutil
from importlib import import_module
from typing import Any

import pytest
import redis
from django.db import connection, transaction

from routines_app import coordination, protocol, service
from routines_app.coordination import monitors
from routines_app.coordination import redis_client as redis_state
from routines_app.models import RoutineRun
from routines_app.testing import FrozenClock, frozen_clock, run_due, running
from tests.integration.testing import tasks
from tests.integration.testing.conftest import NIGHT, THREE, Make

HERE = tasks.__name__


def test_nothing_is_asked_of_a_broker_or_redis_that_is_away(
    nightly: Make, clock: FrozenClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Every policy, a pool and a request by hand; nobody notices that there is neither."""
    service.create_pool("db", max_concurrent=1)
    for policy in ("ALLOW", "FORBID", "REPLACE", "QUEUE"):
        nightly(name=policy, concurrency_policy=policy, pool="db" if policy == "QUEUE" else None)
    asked = service.run_now("FORBID")
    service.cancel_run(service.run_now("REPLACE"))
    with running("QUEUE"):
        pass

    ran = run_due(THREE)

    assert sorted((run.routine.name, run.status) for run in ran) == [
        (policy, "SUCCESS") for policy in ("ALLOW", "FORBID", "QUEUE", "REPLACE")
    ]
    assert asked in ran, "which was active when its slot came"
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
    assert redis_state.problem() == ""


@pytest.mark.usefixtures("transactional_db")
def test_no_message_reaches_a_broker_that_is_there(redis_url: str, settings: Any) -> None:
    """Neither one of ours nor a wake-up nor an event, with real commits."""
    settings.ROUTINES = settings.ROUTINES | {"EVENTS": True}
    ours = [settings.ROUTINES["KEY_PREFIX"] + "*", f"/{redis_url.rpartition('/')[2]}.*"]
    with redis.Redis.from_url(redis_url) as client, client.pubsub() as heard:
        heard.psubscribe(*ours)
        for _ in ours:
            assert heard.get_message(timeout=5)["type"] == "psubscribe"
        with frozen_clock(NIGHT):
            service.create_routine("nightly", task=f"{HERE}.fails", cron="0 3 * * *", timezone="UTC", max_attempts=2)
            service.run_now("nightly")
            assert len(run_due()) == 1
            assert len(run_due(THREE)) == 2  # the slot and the retry
            monitors.flush(5)

        assert client.keys("*") == []
        assert heard.get_message(timeout=0.2) is None


def test_the_doors_are_open_again_afterwards(db: None, redis_client: redis.Redis) -> None:
    """The test above hears what there is to hear."""
    run = None
    with frozen_clock(NIGHT):
        service.create_routine("nightly", task=f"{HERE}.say", cron="0 3 * * *", timezone="UTC")
    with transaction.atomic():
        run = service.run_now("nightly")
    for _, act, _ in connection.run_on_commit:  # type: ignore[misc]
        act()

    assert redis_client.llen("celery") == 1
    run.refresh_from_db()
    assert run.dispatched_at is not None


def test_a_run_that_waits_in_a_broker_is_run_here(db: None, redis_url: str) -> None:
    """Somebody asked for it before the clock stood still."""
    service.create_routine("nightly", task=f"{HERE}.say", cron="0 3 * * *", timezone="UTC")
    run = service.run_now("nightly")
    RoutineRun.objects.filter(pk=run.pk).update(dispatched_at=run.eligible_at)

    assert run_due() == [run]


def test_whoever_asks_redis_is_kept_away() -> None:
    """Each module that knows how to, so that a new one is not forgotten."""
    found = [
        import_module(module.name)
        for package in (coordination, protocol)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    ]
    asking = [module for module in found if hasattr(module, "asking") and module is not redis_state]
    assert len(asking) >= 5

    with frozen_clock(NIGHT):
        assert [module.__name__ for module in asking if vars(module)["asking"] is redis_state.asking] == []
