"""What AMQP has room for. Its client breaks on more than that in the middle of a batch, with everybody's messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

LONGEST_BYTES = 255
"""Of the name of an exchange, of a routing key, and of each key of the headers: their lengths are one byte."""
HIGHEST_PRIORITY = 255


def is_too_long(name: str) -> bool:
    return len(name.encode()) > LONGEST_BYTES


def long_keys(headers: Any) -> Iterator[str]:
    """Keys that are too long, of tables in tables and lists too."""
    if isinstance(headers, dict):
        yield from (str(key) for key in headers if is_too_long(str(key)))
        headers = list(headers.values())
    if isinstance(headers, list | tuple):
        for value in headers:
            yield from long_keys(value)


def unsendable(exchange: str, routing_key: str, priority: int | None, headers: Any) -> str:
    """What of a message has no room; empty when all has."""
    named = {"exchange": exchange, "routing key": routing_key}
    for what, name in (*named.items(), *(("header", key) for key in long_keys(headers))):
        if is_too_long(name):
            return f"{what} {name[:40]!r}... has {len(name.encode())} bytes, and at most {LONGEST_BYTES} can be sent"
    if priority is not None and not 0 <= priority <= HIGHEST_PRIORITY:
        return f"priority {priority} is not in 0..{HIGHEST_PRIORITY}"
    return ""
