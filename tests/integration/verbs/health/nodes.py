"""Beats and workers, as they have reported themselves."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from routines_app.models import Node
from routines_app.protocol.ledger import clock
from tests.integration.conftest import Time


def seen(name: str, time: Time | None = None, *, seconds: float = 0, **values: Any) -> Node:
    """One that was last seen so many seconds ago."""
    role, _, place = name.partition("@")
    host, _, pid = place.partition(":")
    now = clock.now() if time is None else time.now
    at = now - timedelta(seconds=seconds)
    facts = {"role": role, "host": host, "pid": int(pid), "started_at": at, "seen_at": at} | values
    return Node.objects.update_or_create(name=name, defaults=facts)[0]
