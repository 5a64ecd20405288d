"""Idempotency keys and ids: what makes a second row for the same work impossible."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
RANDOM_BITS = 74  # what UUIDv7 leaves after time, version and variant
TIME_DIGITS = 12  # hexadecimal ones, of the milliseconds in a batch's name and in an id
LOW_BITS = 62  # the random bits behind the variant


def epoch_ms(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(milliseconds=1)


def slot_key(routine_id: object, slot: datetime, attempt: int) -> str:
    """The key of an attempt at a scheduled slot."""
    return f"s:{routine_id}:{epoch_ms(slot)}:{attempt}"


def finer_slot_key(routine_id: object, slot: datetime, attempt: int) -> str:
    """The key of a slot that shares its millisecond with another one, which has the usual key."""
    return f"s:{routine_id}:{epoch_ms(slot)}.{slot.microsecond % 1000:03}:{attempt}"


def manual_key(routine_id: object, token: object, attempt: int) -> str:
    """The key of an attempt at a manual request; `token` is the caller's key."""
    return f"m:{routine_id}:{token}:{attempt}"


def unkeyed_prefix(routine_id: object) -> str:
    """How the keys of a routine's manual requests begin whose caller gave none: so these are told apart."""
    return f"m::{routine_id}:"


def unkeyed_key(routine_id: object, token: object, attempt: int) -> str:
    """The key of an attempt at a manual request without a key of the caller's; `token` is a random one."""
    return f"{unkeyed_prefix(routine_id)}{token}:{attempt}"


def backfill_key(batch: object, routine_id: object, slot: datetime, attempt: int) -> str:
    """The key of an attempt at one slot of a backfill."""
    return f"b:{batch}:{routine_id}:{epoch_ms(slot)}:{attempt}"


def new_batch(now: datetime, random: str) -> str:
    """A name for the runs of one backfill. It carries when they were made, as their ids do: so they are found again."""
    return f"{epoch_ms(now):0{TIME_DIGITS}x}{random}"


def batch_of(key: str) -> str:
    """The backfill that a run's key says it is of; empty: of none."""
    kind, _, rest = key.partition(":")
    return rest.partition(":")[0] if kind == "b" else ""


def batch_made_at(batch: str) -> datetime | None:
    """When a backfill was asked for; None for what is not named as `new_batch` does."""
    try:
        return EPOCH + timedelta(milliseconds=int(batch[:TIME_DIGITS], 16)) if len(batch) > TIME_DIGITS else None
    except (ValueError, OverflowError):
        return None


def rotation_key(tick: object, routine_id: object, phase: str) -> str:
    """The key of what a tick fires: a member's phase, or the rotation's own seeding."""
    return f"r:{tick}:{routine_id}:{phase}"


def next_attempt_key(key: str, attempt: int) -> str:
    """The key of a later attempt of the chain that began with, or went on to, this key.

    Every kind of key ends with the attempt, but for that of a rotation's first one.
    """
    parts = key.split(":")
    prefix = ":".join(parts[:4]) if parts[0] == "r" else key.rpartition(":")[0]
    return f"{prefix}:{attempt}"


def uuid7_int(unix_ms: int, random_bits: int) -> int:
    """A UUIDv7 as a number: sorted by time, 74 random bits behind it."""
    random_bits &= (1 << RANDOM_BITS) - 1
    high, low = random_bits >> LOW_BITS, random_bits & ((1 << LOW_BITS) - 1)
    return (unix_ms & ((1 << 48) - 1)) << 80 | 0x7 << 76 | high << 64 | 0b10 << 62 | low
