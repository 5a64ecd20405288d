"""Where the Redis of leases and wake-ups is: every form of address that Celery reads.

`ROUTINES["REDIS_URL"]` says it, else the broker does if that is a Redis, in whatever form: then kombu itself reads the
URL, `broker_use_ssl` and `broker_transport_options`, so that what Celery reaches is reached here. There is no default:
leases on a server that nobody has named would be leases that nobody else sees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import redis
from celery import Celery
from celery.app import app_or_default
from kombu import Connection
from kombu.utils.imports import symbol_by_name
from kombu.utils.url import parse_ssl_cert_reqs, url_to_parts
from redis.connection import parse_url
from redis.sentinel import SentinelManagedConnection, SentinelManagedSSLConnection

from routines_app.conf import get_settings

SENTINEL_PORT = 26379
FORMS = "redis://, rediss://, unix://, redis+socket:// or sentinel://"
# What parts of Sentinel's own settings may be written into a URL's query, beside `master_name`.
SENTINEL_OPTIONS = {
    "sentinel_username": "username",
    "sentinel_password": "password",  # nosec B105 # the name of an option
}


class NoAddress(redis.ConnectionError):
    """The settings name no Redis that can be used; the text says what would be right, and no password."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """One Redis, as redis-py's arguments for a connection; behind Sentinels, those of its master."""

    options: dict[str, Any]
    sentinels: tuple[tuple[str, int], ...] = ()
    master_name: str = ""
    sentinel_options: dict[str, Any] = field(default_factory=dict)
    min_other_sentinels: int = 0


def source() -> tuple[str, str]:
    """The setting that decides the addresses: who keeps a client keeps it for as long as this stays the same."""
    given = get_settings().redis_url
    # Celery's settings take long to read: this is asked for each lease.
    return ("REDIS_URL", given) if given else ("broker", str(app_or_default().conf.broker_write_url))


def addresses(app: Celery | None = None) -> list[Address]:
    """The Redis to use, and the others that the setting names for when it is away. Raises `NoAddress`."""
    app, given = app_or_default(app), get_settings().redis_url.strip()
    # The broker's own URL is read as the broker's: with its options for TLS and Sentinel.
    if not given or given == str(app.conf.broker_write_url):
        return _of_broker(app)
    found: list[Address] = _readable("REDIS_URL", _of_setting, given, app.conf.broker_transport_options or {})
    return found


# The broker


def _of_broker(app: Celery) -> list[Address]:
    connection = _readable("the broker's URL", app.connection_for_write)
    scheme, cls = connection.transport_cls, _readable("the broker's URL", connection.get_transport_cls)
    if cls.driver_type != "redis":
        raise NoAddress(
            f"no REDIS_URL is set, and the broker ({scheme}) is none: set ROUTINES = {{'REDIS_URL': 'redis://…'}}"
        )
    if scheme == "sentinel":
        hosts = [(connection.hostname, connection.port)] if not connection.alt else map(_host, connection.alt)
        return [_sentinel(hosts, _options(connection), connection.transport_options)]
    each = [_readable("the broker's URL", app.connection_for_write, url) for url in connection.alt]
    return [Address(options=_tls(_options(one))) for one in each or [connection]]


def _options(connection: Connection) -> dict[str, Any]:
    """What kombu would connect with; a callable password is for AMQP alone."""
    host = str(connection.hostname or "127.0.0.1")
    if "://" in host:  # redis+socket://path: kombu leaves all but the first word in the host's name
        return _socket(host)
    found = {
        "host": host,
        "port": connection.port or connection.get_transport_cls().default_port,
        "db": _database(connection.virtual_host),
        "username": connection.userid,
        "password": connection.password,
        "credential_provider": getattr(connection, "credential_provider", None),  # not in every kombu
    }
    # kombu ignores `broker_use_ssl = True`: it takes TLS from a dictionary, or from the URL.
    tls = connection.ssl if isinstance(connection.ssl, Mapping) else {}
    return _known(found) | dict(tls)


# The setting


def _of_setting(given: str, broker_options: Mapping[str, Any]) -> list[Address]:
    urls = [url.strip() for url in given.split(";") if url.strip()]
    _refuse(urls or [given])
    if urls[0].startswith("sentinel://"):
        return [_sentinel_of_setting(urls, broker_options)]
    return [Address(options=_readable("REDIS_URL", _plain, url)) for url in urls]


def _refuse(urls: Iterable[str]) -> None:
    """Say what would be right in place of an address that cannot be used."""
    for url in urls:
        scheme, separator, rest = url.partition("://")
        if not separator:
            raise NoAddress("REDIS_URL has no scheme: write redis://host:port/0")
        if scheme in ("valkey", "valkeys"):
            right = {"valkey": "redis", "valkeys": "rediss"}[scheme]
            raise NoAddress(f"REDIS_URL: write {right}:// in place of {scheme}://, Valkey speaks the same protocol")
        if "cluster" in scheme:
            raise NoAddress(f"REDIS_URL: a Redis Cluster cannot be used; give a Redis that is none, as {FORMS}")
        if scheme not in ("redis", "rediss", "unix", "redis+socket", "socket", "sentinel"):
            raise NoAddress(f"REDIS_URL: {scheme}:// is not known; write {FORMS}")
        if not rest:
            raise NoAddress(f"REDIS_URL names no server: write {scheme}://…")


def _plain(url: str) -> dict[str, Any]:
    scheme = url.partition("://")[0]
    if scheme in ("redis+socket", "socket"):
        return _socket(url)
    found: dict[str, Any] = parse_url(url)  # type: ignore[no-untyped-call]
    if scheme != "unix" and "db" not in found:
        found["db"] = _database(found.pop("virtual_host", None) or urlsplit(url).path)
    return _tls(found)


def _sentinel_of_setting(urls: list[str], broker_options: Mapping[str, Any]) -> Address:
    """Name, user and password, database and options may stand in any of the URLs, usually the first or the last."""
    parts = [_readable("REDIS_URL", url_to_parts, url) for url in urls]
    query = {key: value for part in parts for key, value in part.query.items()}
    own = {to: query.pop(name) for name, to in SENTINEL_OPTIONS.items() if name in query}
    wanted = {
        "master_name": query.pop("master_name", broker_options.get("master_name")),
        "sentinel_kwargs": own or broker_options.get("sentinel_kwargs"),
        "min_other_sentinels": query.pop("min_other_sentinels", 0),
    }
    found = {
        "db": _database(query.pop("virtual_host", None) or next((p.path for p in parts if p.path), None)),
        "username": next((p.username for p in parts if p.username), None),
        "password": next((p.password for p in parts if p.password), None),
    }
    return _sentinel(map(_host, urls), _known(found) | query, wanted)


# Parts of both


def _sentinel(
    hosts: Iterable[tuple[str | None, int | None]], options: dict[str, Any], wanted: Mapping[str, Any]
) -> Address:
    name = wanted.get("master_name")
    if not name:
        raise NoAddress(
            "sentinel:// needs the master's name: set CELERY_BROKER_TRANSPORT_OPTIONS = {'master_name': …},"
            " or write REDIS_URL as sentinel://…?master_name=…"
        )
    options = {key: value for key, value in _tls(options).items() if key not in ("host", "port")}
    with_tls = options.pop("connection_class", None) is redis.SSLConnection
    return Address(
        options=options | {"connection_class": SentinelManagedSSLConnection if with_tls else SentinelManagedConnection},
        sentinels=tuple((host or "127.0.0.1", port or SENTINEL_PORT) for host, port in hosts),
        master_name=str(name),
        sentinel_options=dict(wanted.get("sentinel_kwargs") or {}),
        min_other_sentinels=int(wanted.get("min_other_sentinels") or 0),
    )


def _host(url: str) -> tuple[str | None, int | None]:
    parts = _readable("the Sentinels' URL", url_to_parts, url)
    return parts.hostname, parts.port


def _socket(url: str) -> dict[str, Any]:
    parts = url_to_parts(url)
    query = dict(parts.query)
    found = {"username": parts.username, "password": parts.password, "db": _database(query.pop("virtual_host", None))}
    path = {"path": f"/{parts.path or ''}", "connection_class": redis.UnixDomainSocketConnection}
    return _known(found) | query | path


def _tls(options: dict[str, Any]) -> dict[str, Any]:
    """Any option of TLS asks for it, as in Celery; whether with certificates is said in its words or in redis-py's."""
    if isinstance(options.get("ssl_cert_reqs"), str):
        options["ssl_cert_reqs"] = parse_ssl_cert_reqs(options["ssl_cert_reqs"])
    if isinstance(options.get("ssl_check_hostname"), str):
        options["ssl_check_hostname"] = options["ssl_check_hostname"].lower() != "false"
    if any(name.startswith("ssl_") for name in options):
        options["connection_class"] = redis.SSLConnection
    if isinstance(provider := options.get("credential_provider"), str):
        options["credential_provider"] = symbol_by_name(provider)()
    return options


def _database(number: object) -> int:
    text = str(number or "").strip("/")
    if not text:
        return 0
    if not text.isdecimal():
        # What stands there is not repeated: the rest of a password with an unescaped slash would be.
        raise NoAddress("a Redis database is a number; special characters in a password must be escaped, as %2F")
    return int(text)


def _known(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _readable(what: str, read: Callable[..., Any], *arguments: object) -> Any:
    """Whatever a library raises over an address is `NoAddress`; its own words could repeat a part of a password."""
    try:
        return read(*arguments)
    except NoAddress:
        raise
    except Exception as error:  # noqa: BLE001 - kombu and redis-py raise whatever came of parsing
        kind = type(error).__name__
        raise NoAddress(f"{what} cannot be read ({kind}); special characters in it must be escaped, as %40") from None
