"""The doctor about broker and Redis."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from celery import Celery

from routines_app.coordination.redis_client import RedisAway
from routines_app.verbs.doctor.answers import Answer
from tests.acceptance.stack import celery_pointed_at
from tests.integration.conftest import Current
from tests.integration.coordination.test_frozen_servers import nobody_knows
from tests.integration.verbs.doctor.asking import answer, asked, configured
from tests.processes import free_port
from tests.servers import RABBITMQ_PORT, EmbeddedRedis


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    """What one test finds away, the next does not have to know."""
    nobody_knows()
    yield
    nobody_knows()


@pytest.fixture
def server() -> Iterator[EmbeddedRedis]:
    server = EmbeddedRedis()
    server.start()
    yield server
    server.dispose()


def test_a_broker_that_answers(redis_url: str) -> None:
    assert answer("broker").found.startswith("Redis ")
    assert answer("broker").level == "ok"


def test_a_broker_that_is_away() -> None:
    """With the reason, and without the password."""
    with celery_pointed_at(f"redis://:hunter2@127.0.0.1:{free_port()}/0"):
        level, found, advice = answer("broker")
    assert (level, "refused" in found, "hunter2" in found) == ("error", True, False)
    assert "CELERY_BROKER_URL" in advice


def test_a_broker_that_is_frozen(server: EmbeddedRedis) -> None:
    with celery_pointed_at(server.url()):
        server.freeze()
        assert answer("broker").level == "error"


def test_a_rabbitmq_that_is_frozen() -> None:
    """It takes the connection, and says nothing."""
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        celery_pointed_at(f"amqp://guest:guest@127.0.0.1:{silent.getsockname()[1]}//"),
    ):
        assert answer("broker").level == "error"


@pytest.mark.rabbitmq
def test_a_rabbitmq_tells_its_name() -> None:
    with celery_pointed_at(f"amqp://guest:guest@127.0.0.1:{RABBITMQ_PORT}//"):
        level, found, advice = answer("broker")
        assert (level, advice) == ("ok", "")
        assert re.match(r"RabbitMQ \d+\.\d+", found)
        assert answer("redis database").found.startswith("the broker is RabbitMQ")


def test_nobody_has_named_a_broker(current: Current) -> None:
    current(Celery("nobody", broker=None, set_as_current=False))
    level, found, advice = answer("broker")
    assert (level, found) == ("error", "no Celery app with a broker is configured in this process")
    assert "CELERY_BROKER_URL" in advice


@pytest.mark.parametrize("name", ["broker", "redis", "redis eviction", "redis database"])
def test_eager_tasks_need_neither(name: str) -> None:
    with configured(task_always_eager=True):
        assert answer(name) == Answer("ok", "task_always_eager: none is used")


def test_a_redis_that_answers(redis_url: str) -> None:
    assert answer("redis").level == "ok"
    assert ", database " in answer("redis").found


def test_a_redis_that_is_away(settings: Any) -> None:
    settings.ROUTINES = settings.ROUTINES | {"REDIS_URL": f"redis://:hunter2@127.0.0.1:{free_port()}/0"}
    level, found, advice = answer("redis")
    assert (level, found.startswith("it does not answer: "), "hunter2" in found) == ("error", True, False)
    assert "exclusive runs wait" in advice
    with pytest.raises(RedisAway):
        asked("redis eviction")


@pytest.mark.parametrize(
    ("policy", "limit", "level"),
    [
        ("noeviction", "100mb", "ok"),
        ("allkeys-lru", "0", "ok"),
        ("allkeys-lru", "100mb", "error"),
        ("volatile-ttl", "100mb", "warning"),
    ],
)
def test_what_a_full_redis_throws_away(
    server: EmbeddedRedis, settings: Any, policy: str, limit: str, level: str
) -> None:
    settings.ROUTINES = settings.ROUTINES | {"REDIS_URL": server.url(1)}
    with server.client() as client:
        client.config_set("maxmemory", limit)
        client.config_set("maxmemory-policy", policy)
    with celery_pointed_at(server.url()):
        found = answer("redis eviction")
    assert (found.level, found.found.startswith(f"Redis: {policy}")) == (level, True)
    assert ("noeviction" in found.advice) == (level != "ok")


def test_two_servers_are_two_answers(server: EmbeddedRedis, settings: Any, redis_url: str) -> None:
    """Leases in one, messages in the other, which alone is wrong."""
    with server.client() as client:
        client.config_set("maxmemory", "100mb")
        client.config_set("maxmemory-policy", "allkeys-random")
    with celery_pointed_at(server.url()):
        assert [(each.level, each.found[:14]) for each in asked("redis eviction")] == [
            ("ok", "of leases: noe"),
            ("error", "of the broker:"),
        ]


def test_a_redis_that_does_not_tell(server: EmbeddedRedis, settings: Any) -> None:
    """A managed one may refuse INFO: it answers, and nobody knows more."""
    with server.client() as client:
        client.execute_command("ACL", "SETUSER", "ada", "on", ">pw", "~*", "&*", "+@all", "-info")
    url = server.url().replace("redis://", "redis://ada:pw@")
    settings.ROUTINES = settings.ROUTINES | {"REDIS_URL": url}
    with celery_pointed_at(url):
        assert (answer("broker").found, answer("redis").found) == ("Redis", "Redis, database 0")
        assert answer("redis eviction").level == "unknown"
        assert answer("redis database").level == "unknown"


@pytest.mark.parametrize(("database", "level"), [(0, "warning"), (1, "ok")])
def test_leases_want_a_database_of_their_own(server: EmbeddedRedis, settings: Any, database: int, level: str) -> None:
    """Asked by the server's own name: one server has many addresses."""
    settings.ROUTINES = settings.ROUTINES | {"REDIS_URL": server.url(database).replace("127.0.0.1", "localhost")}
    with celery_pointed_at(server.url()):
        assert answer("redis database").level == level


def test_another_server_is_apart(server: EmbeddedRedis, redis_url: str) -> None:
    with celery_pointed_at(server.url()):
        assert answer("redis database").level == "ok"
