"""Keys, ids, jitter and fingerprints: the same whoever computes them."""

from __future__ import annotations

import timeit
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routines_app.core.fingerprint import schedule_fingerprint
from routines_app.core.jitter import jitter_ms
from routines_app.core.keys import (
    backfill_key,
    batch_made_at,
    batch_of,
    epoch_ms,
    finer_slot_key,
    manual_key,
    new_batch,
    next_attempt_key,
    rotation_key,
    slot_key,
    unkeyed_key,
    unkeyed_prefix,
    uuid7_int,
)
from tests.unit.core.strategies import instants

SLOT = datetime(2024, 5, 1, 12, 0, 0, 250_000, tzinfo=UTC)
SCHEDULE: dict[str, Any] = {
    "trigger_kind": "CRON",
    "cron": "0 9 * * *",
    "interval_ms": None,
    "once_at": None,
    "timezone": "UTC",
    "start_at": None,
    "end_at": None,
    "min_interval_ms": None,
    "max_interval_ms": None,
}


def test_keys_name_the_routine_the_slot_and_the_attempt() -> None:
    """The slot counts in milliseconds, in whatever timezone it is given."""
    assert slot_key(7, SLOT, 1) == "s:7:1714564800250:1"
    assert slot_key(7, SLOT.astimezone(ZoneInfo("Asia/Kathmandu")), 1) == slot_key(7, SLOT, 1)
    assert finer_slot_key(7, SLOT + timedelta(microseconds=42), 1) == "s:7:1714564800250.042:1"
    assert manual_key(7, "mine", 2) == "m:7:mine:2"
    assert unkeyed_key(7, "random", 2) == f"{unkeyed_prefix(7)}random:2" == "m::7:random:2"
    assert backfill_key("b1", 7, SLOT, 3) == "b:b1:7:1714564800250:3"


def test_a_rotations_key_names_the_tick_the_member_and_the_phase() -> None:
    assert rotation_key("tick", 7, "plan") == "r:tick:7:plan"
    assert rotation_key("tick", 7, "") == "r:tick:7:"


@pytest.mark.parametrize(
    "first",
    [rotation_key("tick", 7, "plan"), rotation_key("tick", 7, ""), rotation_key("tick", 7, "2")],
    ids=["a phase", "the nameless one", "one that is called like a number"],
)
def test_each_attempt_of_a_rotations_chain_has_a_key_of_its_own(first: str) -> None:
    second = next_attempt_key(first, 2)
    assert second == f"{first}:2"
    assert next_attempt_key(second, 3) == f"{first}:3"


def test_other_keys_end_with_their_attempt() -> None:
    assert next_attempt_key(slot_key(7, SLOT, 1), 2) == slot_key(7, SLOT, 2)
    assert next_attempt_key(manual_key(7, "r:mine", 1), 2) == manual_key(7, "r:mine", 2)


@given(instants)
def test_milliseconds_are_whole_and_exact(moment: datetime) -> None:
    """No floating point: the same slot has the same key on every machine."""
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    assert timedelta(0) <= since - timedelta(milliseconds=epoch_ms(moment)) < timedelta(milliseconds=1)


@given(st.integers(0, 2**48 - 1), st.integers(0, 2**80))
def test_an_id_is_a_uuid_of_version_7(unix_ms: int, random_bits: int) -> None:
    """Version and variant are right, the time leads, and the random bits are all kept."""
    made = uuid.UUID(int=uuid7_int(unix_ms, random_bits))
    assert made.version == 7
    assert made.variant == uuid.RFC_4122
    assert made.int >> 80 == unix_ms
    kept = (made.int >> 64 & 0xFFF) << 62 | made.int & (2**62 - 1)
    assert kept == random_bits % 2**74


@given(st.integers(1, 2**63 - 1).map(str), instants, st.integers(-5, 10**7))
def test_jitter_stays_within_its_bounds_and_is_repeatable(routine: str, slot: datetime, most: int) -> None:
    """Any beat that computes it gets the same delay."""
    delay = jitter_ms(routine, slot, most)
    assert 0 <= delay <= max(0, most)
    assert jitter_ms(routine, slot, most) == delay


def test_jitter_spreads_routines_and_slots() -> None:
    """A thousand routines of one slot do not fall on the same moment; both bounds are reached."""
    assert len({jitter_ms(f"routine-{number}", SLOT, 60_000) for number in range(1000)}) > 900
    assert len({jitter_ms("one", SLOT + timedelta(hours=hour), 60_000) for hour in range(1000)}) > 900
    assert {jitter_ms(f"routine-{number}", SLOT, 1) for number in range(50)} == {0, 1}


@pytest.mark.parametrize(
    "change",
    [
        {"trigger_kind": "INTERVAL"},
        {"cron": "1 9 * * *"},
        {"interval_ms": 1000},
        {"once_at": SLOT},
        {"timezone": "Europe/Berlin"},
        {"start_at": SLOT},
        {"end_at": SLOT},
        {"min_interval_ms": 1000},
        {"max_interval_ms": 1000},
    ],
)
def test_each_part_of_a_schedule_changes_its_fingerprint(change: dict[str, Any]) -> None:
    """A beat notices whatever was changed by plain SQL."""
    before = schedule_fingerprint(**SCHEDULE)
    assert len(before) == 16
    assert int(before, 16) >= 0
    assert schedule_fingerprint(**SCHEDULE | change) != before


def test_a_fingerprint_from_before_there_were_moments_still_holds() -> None:
    """Or a new release would take every schedule for one that was changed by plain SQL, and skip its next slot."""
    assert schedule_fingerprint(**SCHEDULE) == "c532282d57a3486b"


def test_the_fingerprint_does_not_depend_on_how_a_time_is_written() -> None:
    """The same instant from another timezone is the same schedule."""
    local = SLOT.astimezone(ZoneInfo("Asia/Kathmandu"))
    schedule_fingerprint.cache_clear()
    first = schedule_fingerprint(**SCHEDULE | {"start_at": local})
    schedule_fingerprint.cache_clear()
    assert schedule_fingerprint(**SCHEDULE | {"start_at": SLOT}) == first


def test_a_fingerprint_is_cheap() -> None:
    """A beat computes one for each routine that it claims."""
    best = min(timeit.repeat(lambda: schedule_fingerprint(**SCHEDULE), number=1000, repeat=5))
    assert best / 1000 < 20e-6


@given(now=instants)
def test_a_batch_says_when_it_was_made(now: datetime) -> None:
    """To the millisecond, as ids do; its runs' keys say which batch they are of."""
    batch = new_batch(now, "5eed")
    made_at = batch_made_at(batch)
    assert made_at is not None
    assert epoch_ms(made_at) == epoch_ms(now)
    assert batch_of(backfill_key(batch, 7, now, 1)) == batch


@pytest.mark.parametrize("name", ["", "nightly", "not-a-time-at-all", "ffffffffffffff"])
def test_what_is_named_otherwise_says_no_time(name: str) -> None:
    assert batch_made_at(name) is None


def test_other_keys_are_of_no_batch() -> None:
    assert batch_of(slot_key(7, datetime(2027, 1, 1, tzinfo=UTC), 1)) == ""
