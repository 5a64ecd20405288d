"""Broker and Redis: whether they answer, what they throw away, and whether leases have a place of their own."""

from __future__ import annotations

from collections.abc import Iterator

from celery.app import app_or_default

from routines_app.coordination.broker import BrokerAway
from routines_app.coordination.broker_address import CONFIGURE, NO_BROKER, has_broker
from routines_app.coordination.redis_client import RedisAway
from routines_app.coordination.server_facts import RedisFacts, ask_broker, redis_of_leases
from routines_app.masks import masked_line
from routines_app.verbs.doctor.answers import Answer, error, ok, unknown, warning

EAGER = "task_always_eager: none is used"
WANTED = "noeviction"


def broker() -> Answer:
    app = app_or_default()
    if app.conf.task_always_eager:
        return ok(EAGER)
    if not has_broker(app):
        return error(NO_BROKER, CONFIGURE)
    try:
        return ok(ask_broker().server)
    except BrokerAway as away:
        return error(f"it does not answer: {away}", "start it, or correct CELERY_BROKER_URL; what is due waits for it")


def redis() -> Answer:
    if app_or_default().conf.task_always_eager:
        return ok(EAGER)
    try:
        found = redis_of_leases()
    except RedisAway as away:
        return error(
            f"it does not answer: {masked_line(str(away))}",
            "start it, or correct ROUTINES['REDIS_URL']; exclusive runs wait for it",
        )
    return ok(f"{found.server}, database {found.database}")


def eviction() -> Iterator[Answer]:
    """What has been sent may be thrown away by a Redis that may: beats find it again, after a while."""
    if app_or_default().conf.task_always_eager:
        yield ok(EAGER)
        return
    leases, messages = redis_of_leases(), ask_broker().redis
    if messages is None or messages.run_id == leases.run_id:
        yield _eviction("Redis", leases)
        return
    yield _eviction("of leases", leases)
    yield _eviction("of the broker", messages)


def _eviction(which: str, found: RedisFacts) -> Answer:
    if not found.policy:
        return unknown(f"{which}: it does not tell", f"see that its maxmemory-policy is {WANTED}")
    if found.policy == WANTED:
        return ok(f"{which}: {found.policy}")
    if not found.limit_bytes:
        return ok(f"{which}: {found.policy}, but it has no maxmemory, so nothing is thrown away")
    told = f"{which}: {found.policy} at {found.limit_bytes / 2**20:.0f} MiB"
    advice = f"set maxmemory-policy {WANTED}"
    if found.policy.startswith("allkeys"):
        return error(f"{told}: messages and leases are thrown away when it is full", advice)
    return warning(f"{told}: leases are thrown away when it is full", advice)


def own_database() -> Answer:
    """On Redis a queue is a key: who names a queue must not be able to name a lease."""
    if app_or_default().conf.task_always_eager:
        return ok(EAGER)
    facts = ask_broker()
    if facts.redis is None:
        return ok(f"the broker is {facts.server}")
    leases = redis_of_leases()
    if not leases.run_id or not facts.redis.run_id:
        return unknown("one of the servers does not tell which it is", "see docs/security.md about queues and keys")
    if leases.run_id == facts.redis.run_id and leases.database == facts.redis.database:
        return warning(
            f"leases and the broker's queues are both in database {leases.database} of one Redis",
            "give leases a database of their own: ROUTINES['REDIS_URL'], with another number at its end",
        )
    return ok("leases are not where the broker's queues are")
