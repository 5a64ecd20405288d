"""Keys of ours that somebody has made lists of: they are taken back, and work goes on."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
import redis

from routines_app import service
from routines_app.coordination import leases, own_keys
from routines_app.coordination import redis_client as client_module
from routines_app.coordination.leases import lease_key
from routines_app.coordination.own_keys import ask_key
from routines_app.coordination.redis_client import RedisAway, key, problem
from routines_app.coordination.turns import take_turn, turn
from routines_app.models import Routine, RoutineRun, ScheduleChange
from routines_app.protocol.upkeep import neighbours
from routines_app.protocol.upkeep.neighbours import mark_prefix
from routines_app.protocol.upkeep.reconcile import has_turn
from tests.integration.conftest import NOTE, Execute


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "_known_state", client_module._State())
    monkeypatch.setattr(own_keys, "_told", {})
    monkeypatch.setattr(neighbours, "_told", "")


def spoil(server: redis.Redis, name: str) -> None:
    server.delete(name)
    server.lpush(name, "a message of a run")


def makers(server: redis.Redis) -> dict[str, Callable[[str], Any]]:
    return {
        "list": lambda name: server.lpush(name, "a message"),
        "set": lambda name: server.sadd(name, "a binding"),
        "hash": lambda name: server.hset(name, "a", "message"),
        "zset": lambda name: server.zadd(name, {"a": 1}),
    }


@pytest.mark.parametrize("kind", ["list", "set", "hash", "zset"])
def test_a_lease_is_taken_in_place_of_what_is_none(
    redis_client: redis.Redis, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    """Once in the log, however often it is done; Redis is not called away for it."""
    for _ in range(3):
        redis_client.delete(lease_key(7))
        makers(redis_client)[kind](lease_key(7))
        assert leases.acquire(7, "mine", 30)
        assert leases.holder(7) == ("mine", pytest.approx(30, abs=1))
    (record,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert f"the key {lease_key(7)} was a {kind}" in record.getMessage()
    assert problem() == ""


def test_what_is_no_lease_is_held_by_nobody(redis_client: redis.Redis) -> None:
    """Who looks is told so, and so is who gives one back that was lost to it."""
    spoil(redis_client, lease_key(7))
    assert leases.holder(7) is None
    spoil(redis_client, lease_key(7))
    assert not leases.release(7, "mine")
    assert leases.acquire(7, "another", 30)


def test_turns_are_taken_in_place_of_a_list(redis_client: redis.Redis) -> None:
    """It never runs out: no beat would have the turn again. And of two one has it then."""
    for name in ("turn", "losses"):
        spoil(redis_client, key(name))
    assert [has_turn(), has_turn()] == [True, False]
    with turn("losses", seconds=30) as first:
        assert (first, take_turn("losses", seconds=30)) == (True, False)
        spoil(redis_client, key("losses"))
    assert take_turn("losses", seconds=30)


def test_another_ones_lease_is_never_taken_back(redis_client: redis.Redis) -> None:
    """Between the error and the repair another process has repaired it, and taken the lease."""
    spoil(redis_client, lease_key(7))

    def held_meanwhile(client: redis.Redis) -> Any:
        try:
            return client.get(lease_key(7))
        except redis.ResponseError:
            redis_client.delete(lease_key(7))
            redis_client.set(lease_key(7), "another's", px=30_000)
            raise

    assert ask_key(lease_key(7), held_meanwhile) == "another's"


def test_other_refusals_are_no_wrong_type(redis_client: redis.Redis) -> None:
    """They are Redis refusing, and nothing is deleted."""
    redis_client.set(lease_key(7), "another's")
    with pytest.raises(RedisAway):
        ask_key(lease_key(7), lambda client: client.execute_command("NOSUCHCOMMAND"))
    assert redis_client.get(lease_key(7)) == "another's"


@pytest.mark.usefixtures("ledger")
def test_the_mark_of_the_prefix_is_written_in_place_of_a_list(redis_client: redis.Redis) -> None:
    spoil(redis_client, key("ledger"))
    assert mark_prefix() == ""
    assert redis_client.type(key("ledger")) == "string"


@pytest.mark.usefixtures("ledger", "short_lived_threads")
def test_an_exclusive_run_starts_though_its_lease_is_a_list(redis_client: redis.Redis, run_it: Execute) -> None:
    """It was refused as `redis_away`, for good."""
    routine = service.create_routine("report", task=NOTE, concurrency_policy="FORBID")
    run = service.run_now(routine)
    spoil(redis_client, lease_key(routine.pk))
    assert run_it(RoutineRun.objects.get(id=run.id)).status == "SUCCESS"


@pytest.mark.usefixtures("ledger")
def test_releasing_by_hand_works(redis_client: redis.Redis) -> None:
    """There is no lease to write down; and the page that leads there shows no problem."""
    routine = service.create_routine("report", task=NOTE, concurrency_policy="FORBID")
    spoil(redis_client, lease_key(routine.pk))
    assert not service.release_lease(routine)
    assert not redis_client.exists(lease_key(routine.pk))
    assert not ScheduleChange.objects.filter(kind="lease_released").exists()
    spoil(redis_client, lease_key(routine.pk))
    assert service.lease_of(Routine.objects.get()) is None
