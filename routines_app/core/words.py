"""The codes that are stored on rows and passed between the parts: one word per thing.

The models build their Django choices from these, so that the core stays free of Django.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class TriggerKind(StrEnum):
    CRON = "CRON"
    INTERVAL = "INTERVAL"
    ONCE = "ONCE"
    MANUAL = "MANUAL"


TRIGGER_FIELDS = ("trigger_kind", "cron", "interval_ms", "once_at")  # a routine's trigger: they change together


class RoutineStatus(StrEnum):
    ACTIVE = "ACTIVE"
    PAUSED = "PAUSED"
    ARCHIVED = "ARCHIVED"
    PARKED = "PARKED"


class Priority(StrEnum):
    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"


class ConcurrencyPolicy(StrEnum):
    ALLOW = "ALLOW"
    FORBID = "FORBID"
    REPLACE = "REPLACE"
    QUEUE = "QUEUE"


EXCLUSIVE = frozenset({ConcurrencyPolicy.FORBID, ConcurrencyPolicy.REPLACE, ConcurrencyPolicy.QUEUE})


def is_exclusive(policy: str) -> bool:
    """Whether at most one run of the routine may be RUNNING at a time: it starts with lease, fence and running key."""
    return policy in EXCLUSIVE


class CatchUpPolicy(StrEnum):
    SKIP = "SKIP"
    LAST = "LAST"
    ALL = "ALL"


class RunStatus(StrEnum):
    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"
    CANCELLED = "CANCELLED"


class RunTrigger(StrEnum):
    """What asked for the run."""

    SCHEDULE = "schedule"
    MANUAL = "manual"
    RETRY = "retry"
    CATCH_UP = "catch_up"
    HINT = "hint"
    BACKFILL = "backfill"
    ROTATION = "rotation"


class MemberStatus(StrEnum):
    """Where a member of a rotation is in its cycle."""

    OWED = "OWED"
    IN_FLIGHT = "IN_FLIGHT"
    FRESH = "FRESH"
    FAILED = "FAILED"
    LEFT_OUT = "LEFT_OUT"


class HintKind(StrEnum):
    """What a hint changes. A routine has at most one of each kind; a new one replaces the old one of its kind."""

    INTERVAL = "interval"
    NEXT = "next"
    FACTOR = "factor"


class Source(StrEnum):
    """Why the next time was chosen."""

    BASELINE_CRON = "baseline-cron"
    BASELINE_INTERVAL = "baseline-interval"
    BASELINE_ONCE = "baseline-once"
    HINT_INTERVAL = "hint-interval"
    HINT_ONESHOT = "hint-oneshot"
    HINT_FACTOR = "hint-factor"
    CLAMPED_MIN = "clamped-min"
    CLAMPED_MAX = "clamped-max"
    PAUSED = "paused"
    MANUAL = "manual"
    ENDED = "ended"
    ARCHIVED = "archived"
    PARKED = "parked"
    CATCHING_UP = "catching-up"


BASELINE: Mapping[TriggerKind, Source | None] = MappingProxyType(
    {
        TriggerKind.CRON: Source.BASELINE_CRON,
        TriggerKind.INTERVAL: Source.BASELINE_INTERVAL,
        TriggerKind.ONCE: Source.BASELINE_ONCE,
        TriggerKind.MANUAL: None,  # its slots come by hints only
    }
)
"""The source of a plan that follows the routine's own trigger."""

BASELINES = frozenset(source for source in BASELINE.values() if source is not None)

# Sources under which no beat has anything to look at: `next_run_at` is NULL with each of them.
ASLEEP = frozenset({Source.MANUAL, Source.ENDED, Source.ARCHIVED, Source.PARKED, Source.CATCHING_UP})

# Sources of a moment that a hint chose.
HINTED = frozenset({Source.HINT_ONESHOT, Source.HINT_INTERVAL, Source.HINT_FACTOR})

# Sources of a slot; the others say only why a beat does not look, or looks for another reason.
SLOT_SOURCES = BASELINES | HINTED | {Source.CLAMPED_MIN, Source.CLAMPED_MAX}


class Reason(StrEnum):
    """Why a run is in its state."""

    NONE = ""
    # ended
    EXCEPTION = "exception"
    TIMEOUT = "timeout"
    WORKER_LOST = "worker_lost"
    ORPHANED = "orphaned"
    INTERRUPTED = "interrupted"
    UNKNOWN_TASK = "unknown_task"
    BAD_ARGUMENTS = "bad_arguments"
    REJECTED = "rejected"
    PICKED = "picked"
    IGNORED = "ignored"
    ABANDONED = "abandoned"
    # skipped
    OVERLAP = "overlap"
    MISFIRE = "misfire"
    PAUSED = "paused"
    EXPIRED = "expired"
    PARKED = "parked"
    SUPERSEDED = "superseded"
    IDLE = "idle"
    FULL = "full"
    SHADOW = "shadow"
    # cancelled
    REPLACED = "replaced"
    CANCELLED = "cancelled"
    ARCHIVED = "archived"
    # waiting
    CEILING = "ceiling"
    NOT_YET = "not_yet"
    REPLACING = "replacing"
    LEASE_HELD = "lease_held"
    KEY_TAKEN = "key_taken"
    ROUTINE_HELD = "routine_held"
    REDIS_AWAY = "redis_away"
    PUBLISH_FAILED = "publish_failed"
    # running
    OVERDUE = "overdue"
