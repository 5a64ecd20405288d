"""Jitter: a delay that spreads slots out, the same whoever computes it."""

from __future__ import annotations

from datetime import datetime
from hashlib import blake2b

from routines_app.core.keys import epoch_ms


def jitter_ms(routine_key: str, slot: datetime, max_ms: int) -> int:
    """Between 0 and `max_ms`, derived from routine and slot alone."""
    if max_ms <= 0:
        return 0
    digest = blake2b(f"{routine_key}:{epoch_ms(slot)}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % (max_ms + 1)
