"""docs/settings.md: every setting of `routines_app/conf.py`."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields
from typing import Any

from reference import reading
from routines_app.conf import Settings

HEAD = """\
# Settings

`ROUTINES = {"NAME": value}` in the Django settings. Everything has a default, and every project should set `REDIS_URL`;
an unknown name or a wrong value is told by `check`. This page is written by `make reference` from `routines_app/conf.py`.

| name | default | meaning |
| --- | --- | --- |
"""
FOOT = """
[Rotations](rotations.md) have no other settings than `SEEDS`: budget, `fresh_for`, `max_in_flight` and the others are
fields of each.
What a routine itself can be given are the [fields of `create_routine`](reference.md#a-routines-fields).
"""
WORDS = {"redis_url": "the broker's, if it is a Redis", "default_timezone": "`TIME_ZONE`"}
MORE = {
    "redis_url": "production.md#redis",
    "queues": "security.md#queues-are-keys",
    "seeds": "rotations.md#seeding",
    "orphan_seconds": "retries.md#when-a-worker-dies",
    "stop_grace_seconds": "retries.md#time-outs",
    "events": "celery.md#events-and-logs-of-ours",
    "log_format": "celery.md#events-and-logs-of-ours",
    "heartbeat_file": "production.md#probes",
    "declared": "routines-in-code.md",
    "sync_at_migrate": "routines-in-code.md#rolling-out",
    "secret_patterns": "security.md#secrets",
    "mirror_secrets": "security.md#secrets",
    "depth_weight": "adaptive.md#the-queue",
}
"""Where a page tells more."""


def page() -> str:
    texts = reading.texts_below(Settings)
    return HEAD + "".join(_row(field, texts[field.name]) for field in fields(Settings)) + FOOT


def _row(field: Field[Any], text: str) -> str:
    more = f" ([more]({MORE[field.name]}))" if field.name in MORE else ""
    return f"| `{field.name.upper()}` | {_default(field)} | {reading.cell(text)}{more} |\n"


def _default(field: Field[Any]) -> str:
    if field.name in WORDS:
        return WORDS[field.name]
    value = field.default_factory() if field.default is MISSING else field.default  # type: ignore[misc]
    if value in ((), {}):
        return "none"
    return f"{value:g}" if isinstance(value, float) else f"{value:,}" if type(value) is int else f"`{value!r}`"
