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
    """Its schedule fires."""
    PAUSED = "PAUSED"
    """Somebody has paused it: nothing fires, what waits is held; by hand it runs all the same."""
    ARCHIVED = "ARCHIVED"
    """Put away: it neither fires nor runs by hand, and can be deleted."""
    PARKED = "PARKED"
    """Out of service until somebody resets it: too many failed chains, or a schedule that cannot be computed."""


class Priority(StrEnum):
    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"


class ConcurrencyPolicy(StrEnum):
    ALLOW = "ALLOW"
    """Runs may overlap, up to the ceiling of their pool."""
    FORBID = "FORBID"
    """A slot that finds its routine active is SKIPPED."""
    REPLACE = "REPLACE"
    """The active run is stopped, and the newest takes its place."""
    QUEUE = "QUEUE"
    """The newest slot waits until the active chain has ended; an older one that waits is SKIPPED."""


EXCLUSIVE = frozenset({ConcurrencyPolicy.FORBID, ConcurrencyPolicy.REPLACE, ConcurrencyPolicy.QUEUE})


def is_exclusive(policy: str) -> bool:
    """Whether at most one run of the routine may be RUNNING at a time: it starts with lease, fence and running key."""
    return policy in EXCLUSIVE


class CatchUpPolicy(StrEnum):
    SKIP = "SKIP"
    """Missed slots do not run: one SKIPPED row stands for all of them."""
    LAST = "LAST"
    """The newest missed slot runs; one SKIPPED row stands for the others."""
    ALL = "ALL"
    """Each missed slot runs, oldest first, one at a time."""


class RunStatus(StrEnum):
    PENDING = "PENDING"
    """It waits: for its time, for room, for another run, or in the broker for a worker."""
    RUNNING = "RUNNING"
    """A worker has begun it."""
    SUCCESS = "SUCCESS"
    """It has returned."""
    FAILED = "FAILED"
    """This attempt failed; the next one, if there is one, is a row of its own."""
    SKIPPED = "SKIPPED"
    """It did not run, and will not; the row may stand for many slots."""
    CANCELLED = "CANCELLED"
    """Somebody, a newer run or a shutdown has stopped it, before it began or in the middle."""


class RunTrigger(StrEnum):
    """What asked for the run."""

    SCHEDULE = "schedule"
    """Its slot was due."""
    MANUAL = "manual"
    """Somebody asked for it."""
    RETRY = "retry"
    """The attempt before it failed, or was interrupted."""
    CATCH_UP = "catch_up"
    """Its slot was missed, and is made up for."""
    HINT = "hint"
    """A hint chose its moment."""
    BACKFILL = "backfill"
    """Somebody asked for slots of the past."""
    ROTATION = "rotation"
    """A tick picked its routine."""


# What few runs have, and people look for: an index leads there.
RARE_TRIGGERS = frozenset({RunTrigger.MANUAL, RunTrigger.CATCH_UP, RunTrigger.HINT, RunTrigger.BACKFILL})


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
    """The routine's own cron."""
    BASELINE_INTERVAL = "baseline-interval"
    """The routine's own interval, longer while it fails."""
    BASELINE_ONCE = "baseline-once"
    """The routine's own moment."""
    HINT_INTERVAL = "hint-interval"
    """A hint about the interval."""
    HINT_ONESHOT = "hint-oneshot"
    """A hint about one more fire."""
    HINT_FACTOR = "hint-factor"
    """A hint that slows down or speeds up."""
    CLAMPED_MIN = "clamped-min"
    """`min_interval_ms` has put it off."""
    CLAMPED_MAX = "clamped-max"
    """`max_interval_ms` has brought it forward."""
    PAUSED = "paused"
    """The routine is paused: at this time, if there is one, the pause ends."""
    MANUAL = "manual"
    """It has no schedule."""
    ENDED = "ended"
    """Its schedule is over (`end_at`)."""
    ARCHIVED = "archived"
    """The routine is archived."""
    PARKED = "parked"
    """The routine is parked."""
    CATCHING_UP = "catching-up"
    """A missed slot is being made up for; its end lets the next one go."""


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
    """Nothing has to be said: it succeeded, runs, or goes out in a moment."""
    # ended
    EXCEPTION = "exception"
    """The task raised."""
    TIMEOUT = "timeout"
    """It ran longer than its time-out, or than the task's own limit."""
    WORKER_LOST = "worker_lost"
    """The process that ran it died: killed, out of memory, a crash."""
    ORPHANED = "orphaned"
    """Nobody has heard of its worker for `ORPHAN_SECONDS`, or the worker has lost the ledger and Redis."""
    INTERRUPTED = "interrupted"
    """Its worker was told to stop; a new attempt takes its place and costs none of `max_attempts`."""
    UNKNOWN_TASK = "unknown_task"
    """The worker that took it does not know the task; it is not tried again."""
    BAD_ARGUMENTS = "bad_arguments"
    """The arguments do not fit the task; it is not tried again."""
    REJECTED = "rejected"
    """The task raised `Reject`; it is not tried again."""
    PICKED = "picked"
    """A rotation's tick that has picked members."""
    IGNORED = "ignored"
    """The task raised `Ignore`: it counts as done, without a result."""
    ABANDONED = "abandoned"
    """Somebody has said that its body is gone."""
    # skipped
    OVERLAP = "overlap"
    """Another run of its routine is active: under FORBID it is SKIPPED, elsewhere it waits."""
    MISFIRE = "misfire"
    """No beat came to it within `misfire_grace_ms`, and the catch-up policy does not run it."""
    PAUSED = "paused"
    """Its routine is paused, or was at that time."""
    EXPIRED = "expired"
    """It had not started `expires_ms` after its slot; or a hint was over before it fired."""
    PARKED = "parked"
    """Its routine is parked, or was at that time."""
    SUPERSEDED = "superseded"
    """A newer slot, another schedule or a hint stands for it."""
    IDLE = "idle"
    """A rotation's tick that found nobody owed."""
    FULL = "full"
    """A rotation's tick that found as many members in flight as there may be."""
    SHADOW = "shadow"
    """Its routine is in shadow: the old scheduler fires it."""
    # cancelled
    REPLACED = "replaced"
    """A newer run of its routine has taken its place (REPLACE)."""
    CANCELLED = "cancelled"
    """Somebody has cancelled it."""
    ARCHIVED = "archived"
    """Its routine was archived before it began."""
    # waiting
    CEILING = "ceiling"
    """Its pool is full: it goes in the order of rank."""
    NOT_YET = "not_yet"
    """Its time has not come: a retry's delay, or jitter."""
    REPLACING = "replacing"
    """The run that it replaces has been asked to stop and has not ended yet."""
    LEASE_HELD = "lease_held"
    """A worker found the routine's lease held by another run."""
    KEY_TAKEN = "key_taken"
    """A worker found another run of its exclusive routine RUNNING."""
    ROUTINE_HELD = "routine_held"
    """Somebody holds the routine's row in the database."""
    REDIS_AWAY = "redis_away"
    """A worker could not reach Redis for its lease: exclusive work waits for it."""
    PUBLISH_FAILED = "publish_failed"
    """It could not be sent; `error` says why, and it is tried again."""
    # running
    OVERDUE = "overdue"
    """It should have stopped and cannot be stopped: its body runs on. Or it waits for such a run."""


class Role(StrEnum):
    """What a process of the fleet is there for."""

    BEAT = "beat"
    WORKER = "worker"


class ChangeKind(StrEnum):
    """What somebody, or the machinery, did to a routine."""

    CREATED = "created"
    UPDATED = "updated"
    PAUSED = "paused"
    RESUMED = "resumed"
    ARCHIVED = "archived"
    PARKED = "parked"
    RESET = "reset"
    HINTED = "hinted"
    HINTS_CLEARED = "hints_cleared"
    HINT_EXPIRED = "hint_expired"
    REPLANNED = "replanned"
    LEASE_RELEASED = "lease_released"
    DELETED = "deleted"
