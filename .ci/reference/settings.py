"""docs/settings.md: every setting of `routines_app/conf.py`."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields
from typing import Any

from reference import reading
from routines_app.conf import Settings

HEAD = """\
# Settings

`ROUTINES = {"NAME": value}` in the Django settings. Everything has a default, and every project should set `REDIS_URL`;
an unknown name or a wrong value is told by `check`. `make reference` writes this page from `routines_app/conf.py`.

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
    "adaptive.md#the-queue": ("depth_weight",),
    "celery.md#events-and-logs-of-ours": ("events", "log_format"),
    "production.md#probes": ("heartbeat_file",),
    "production.md#redis": ("redis_url",),
    "retries.md#time-outs": ("stop_grace_seconds",),
    "retries.md#when-a-worker-dies": ("orphan_seconds",),
    "rotations.md#seeding": ("seeds",),
    "routines-in-code.md": ("declared",),
    "routines-in-code.md#rolling-out": ("sync_at_migrate",),
    "security.md#queues-are-keys": ("queues",),
    "security.md#secrets": ("secret_patterns", "mirror_secrets"),
}
"""The places that tell more, and about what."""


def page() -> str:
    texts = reading.texts_below(Settings)
    return HEAD + "".join(_row(field, texts[field.name]) for field in fields(Settings)) + FOOT


def _row(field: Field[Any], text: str) -> str:
    more = "".join(f" ([more]({place}))" for place, names in MORE.items() if field.name in names)
    return f"| `{field.name.upper()}` | {_default(field)} | {reading.cell(text)}{more} |\n"


def _default(field: Field[Any]) -> str:
    if field.name in WORDS:
        return WORDS[field.name]
    value = field.default_factory() if field.default is MISSING else field.default  # type: ignore[misc]
    if value in ((), {}):
        return "none"
    return f"{value:g}" if isinstance(value, float) else f"{value:,}" if type(value) is int else f"`{value!r}`"
