"""The schedule's fingerprint: how a beat notices that somebody changed a schedule behind its back."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from hashlib import blake2b


@lru_cache(maxsize=16_384)
def schedule_fingerprint(
    *,
    trigger_kind: str,
    cron: str | None,
    interval_ms: int | None,
    once_at: datetime | None,
    timezone: str,
    start_at: datetime | None,
    end_at: datetime | None,
    min_interval_ms: int | None,
    max_interval_ms: int | None,
) -> str:
    """16 hexadecimal digits that change when anything that decides the slots does."""
    facts = (
        str(trigger_kind),
        cron or "",
        interval_ms,
        timezone,
        _instant(start_at),
        _instant(end_at),
        min_interval_ms,
        max_interval_ms,
        # Only where there is one: the schedules that were planned before there were any keep their fingerprints.
        *(() if once_at is None else (_instant(once_at),)),
    )
    return blake2b(repr(facts).encode(), digest_size=8).hexdigest()


def _instant(moment: datetime | None) -> str:
    return "" if moment is None else moment.astimezone(UTC).isoformat()
