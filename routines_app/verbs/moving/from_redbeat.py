"""The entries of celery-redbeat, by its own keys and its own decoder. Nothing there is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from celery import Celery
from celery.schedules import maybe_schedule
from redis.exceptions import RedisError

from routines_app.core.errors import NotAllowed
from routines_app.core.said import said
from routines_app.verbs.moving.old_entries import OldEntry, OldScheduler, Problem
from routines_app.verbs.moving.problems import told

BATCH = 1_000  # keys that are asked for in one go


def entries(app: Celery) -> Iterator[OldEntry | Problem]:
    """Each key of its schedule. One that has lost its definition is a problem; redbeat would forget it."""
    try:
        from redbeat.schedulers import RedBeatSchedulerEntry, ensure_conf, get_redis
    except ImportError as error:
        raise NotAllowed(
            "source", OldScheduler.REDBEAT, said("install celery-redbeat here: {error}", error=str(error))
        ) from error
    conf = ensure_conf(app)
    try:
        found = list(_stored(get_redis(app), conf.schedule_key))
    except RedisError as error:
        expected = said("its Redis cannot be asked: {kind}: {error}", kind=type(error).__name__, error=str(error))
        raise NotAllowed("source", OldScheduler.REDBEAT, expected) from error
    for key, definition, meta in found:
        try:
            yield _old_entry(app, RedBeatSchedulerEntry, definition, meta)
        except Exception as error:  # noqa: BLE001 - whatever a key holds: the others are read
            yield Problem(key=key.removeprefix(conf.key_prefix), why=told(error))


def _stored(client: Any, schedule_key: str) -> Iterator[tuple[str, str | None, str | None]]:
    keys = [_text(key) for key in client.zrange(schedule_key, 0, -1)]
    for first in range(0, len(keys), BATCH):
        batch = keys[first : first + BATCH]
        yield from zip(batch, *_both(client, batch), strict=True)


def _both(client: Any, keys: Sequence[str]) -> tuple[list[str | None], list[str | None]]:
    """Definition and meta of each; what is no hash has neither."""
    with client.pipeline(transaction=False) as pipe:
        for key in keys:
            pipe.hmget(key, "definition", "meta")
        found = pipe.execute(raise_on_error=False)
    pairs = [(None, None) if isinstance(pair, Exception) else pair for pair in found]
    return [_text(pair[0]) for pair in pairs], [_text(pair[1]) for pair in pairs]


def _text(value: Any) -> Any:
    """A client of the project's own may not decode."""
    return value.decode() if isinstance(value, bytes) else value


def _old_entry(app: Celery, redbeat: Any, definition: str | None, meta: str | None) -> OldEntry:
    if not definition:
        raise ValueError("its key has no definition any more, and redbeat would forget it")
    given = redbeat.decode_definition(definition)
    return OldEntry(
        scheduler=OldScheduler.REDBEAT,
        key=str(given["name"]),
        task=str(given["task"]),
        args=list(given.get("args") or ()),
        kwargs=dict(given.get("kwargs") or {}),
        schedule=maybe_schedule(given["schedule"], app=app),
        options=dict(given.get("options") or {}),
        enabled=bool(given.get("enabled", True)),
        last_run_at=redbeat.decode_meta(meta).get("last_run_at"),
    )
