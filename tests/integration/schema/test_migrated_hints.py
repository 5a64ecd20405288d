"""0007: the hints that shared one expiry get their own, there and back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.test import TransactionTestCase
from pytest_django.plugin import DjangoDbBlocker

from routines_app.models import RoutineState

BEFORE, AFTER = ("routines", "0006_queue_and_default_pool"), ("routines", "0007_hints")
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def migrated(to: tuple[str, str]) -> Any:
    MigrationExecutor(connection).migrate([to])
    return MigrationExecutor(connection).loader.project_state([to]).apps.get_model("routines", "RoutineState")


@pytest.fixture(scope="module")
def old_tables(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """For all tests of the module: the way back from the newest migration takes longer than they do."""
    with django_db_blocker.unblock():
        try:
            migrated(BEFORE)
            yield
        finally:
            MigrationExecutor(connection).migrate(MigrationExecutor(connection).loader.graph.leaf_nodes("routines"))


@pytest.fixture
def before(old_tables: None, transactional_db: None) -> Iterator[Any]:
    try:
        yield migrated(BEFORE)
    finally:
        TransactionTestCase()._fixture_teardown()  # what the test leaves behind need not find its way back
        migrated(BEFORE)


def test_each_hint_keeps_the_expiry_that_they_shared(before: Any) -> None:
    """One without an expiry is dropped; grid and clamps count from the last slot. The way back shares the later one."""
    routines = before._meta.get_field("routine").related_model.objects
    until = NOON + timedelta(hours=1)
    for name, hints in {
        "both": {"hint_interval_ms": 5_000, "hint_next_at": NOON, "hint_expires_at": until, "hint_reason": "busy"},
        "endless": {"hint_interval_ms": 5_000},
        "none": {},
    }.items():
        routine = routines.create(name=name, task="t", trigger_kind="INTERVAL", interval_ms=60_000)
        before.objects.create(routine=routine, last_slot=NOON, **hints)
    migrated(AFTER)
    state = RoutineState.objects.get(routine__name="both")
    assert [(hint.value, hint.expires_at, hint.reason) for hint in state.fresh_hints(NOON)] == [
        (5_000, until, "busy"),
        (NOON, until, "busy"),
    ]
    assert RoutineState.objects.get(routine__name="endless").fresh_hints(NOON) == []
    assert set(RoutineState.objects.values_list("clamps_from", flat=True)) == {NOON}
    assert set(RoutineState.objects.exclude(pk=state.pk).values_list("grid_from", flat=True)) == {NOON}
    RoutineState.objects.filter(pk=state.pk).update(hint_next_expires_at=until + timedelta(hours=1))
    old = migrated(BEFORE).objects.get(pk=state.pk)
    assert (old.hint_interval_ms, old.hint_expires_at, old.hint_reason) == (5_000, until + timedelta(hours=1), "busy")


@pytest.mark.parametrize("own", [NOON - timedelta(minutes=7), None], ids=["has fired by itself", "never has"])
def test_a_hint_in_force_does_not_become_the_grid(before: Any, own: datetime | None) -> None:
    """The newest slot of the interval's own says where the grid is; without one, its start or creation does."""
    routine = before._meta.get_field("routine").related_model.objects.create(
        name="hinted", task="t", trigger_kind="INTERVAL", interval_ms=3_600_000
    )
    before.objects.create(routine=routine, last_slot=NOON, hint_interval_ms=60_000, hint_expires_at=NOON)
    runs = before._meta.apps.get_model("routines", "RoutineRun").objects
    for slot, source in ((own, "baseline-interval"), (NOON, "hint-interval")):
        if slot is not None:
            runs.create(
                routine=routine, task="t", source=source, scheduled_for=slot, eligible_at=slot, idempotency_key=source
            )
    migrated(AFTER)
    assert RoutineState.objects.get().grid_from == own


@pytest.mark.parametrize("awake", [True, False])
def test_grid_and_planned_slot_agree(before: Any, awake: bool) -> None:
    """A hint that is over and still stored: the slot after it was counted from the last hinted one, and announced."""
    routine = before._meta.get_field("routine").related_model.objects.create(
        name="hinted", task="t", trigger_kind="INTERVAL", interval_ms=3_600_000
    )
    own, planned = NOON - timedelta(minutes=7), NOON + timedelta(hours=1)
    before.objects.create(
        routine=routine,
        last_slot=NOON,
        hint_interval_ms=60_000,
        hint_expires_at=NOON,
        next_slot=planned,
        next_run_at=planned if awake else None,
        next_source="baseline-interval" if awake else "paused",
    )
    runs = before._meta.apps.get_model("routines", "RoutineRun").objects
    for slot, source in ((own, "baseline-interval"), (NOON, "hint-interval")):
        runs.create(
            routine=routine, task="t", source=source, scheduled_for=slot, eligible_at=slot, idempotency_key=source
        )
    migrated(AFTER)
    state = RoutineState.objects.get()
    assert (state.slot_source, state.next_slot, state.grid_from) == ("baseline-interval", planned, NOON)


TRIGGERS: dict[str, dict[str, Any]] = {
    "CRON": {"cron": "0 * * * *"},
    "INTERVAL": {"interval_ms": 3_600_000},
    "MANUAL": {},
}


def paused(before: Any, name: str, kind: str, minutes: int, **values: Any) -> None:
    """A routine whose last slot was at noon, and whose next was planned that many minutes later and kept back."""
    clamps = {column: value for column, value in values.items() if not column.startswith("hint_")}
    hints = {column: value for column, value in values.items() if column not in clamps}
    routine = before._meta.get_field("routine").related_model.objects.create(
        name=name, task="t", trigger_kind=kind, status="PAUSED", **TRIGGERS[kind], **clamps
    )
    planned = {"last_slot": NOON, "next_slot": NOON + timedelta(minutes=minutes), "next_source": "paused"}
    before.objects.create(routine=routine, **planned, **hints)


def test_a_slot_that_a_pause_keeps_back_says_what_chose_it(before: Any) -> None:
    """A hint by its moment or its distance, an interval's own by its grid; also where the hint itself is dropped."""
    once, pace = {"hint_next_at": NOON + timedelta(minutes=17)}, {"hint_interval_ms": 1_020_000}
    cases: list[tuple[str, int, dict[str, Any], str]] = [
        ("INTERVAL", 17, once, "hint-oneshot"),
        ("INTERVAL", 18, once, "hint-oneshot"),
        ("INTERVAL", 60, {"hint_next_at": NOON + timedelta(minutes=60)}, "hint-oneshot"),
        ("INTERVAL", 60, {"hint_next_at": NOON + timedelta(minutes=61)}, "baseline-interval"),
        ("INTERVAL", 17, pace, "hint-interval"),
        ("INTERVAL", 18, pace, "hint-interval"),
        ("INTERVAL", 120, pace, "baseline-interval"),
        ("INTERVAL", 75, {"min_interval_ms": 4_500_000}, "clamped-min"),
        ("INTERVAL", 45, {"max_interval_ms": 2_700_000}, "clamped-max"),
        ("INTERVAL", 17, {"max_interval_ms": 2_700_000}, "baseline-interval"),
        ("CRON", 17, once, "hint-oneshot"),
        ("CRON", 17, pace, "hint-interval"),
        ("CRON", 60, pace, "baseline-cron"),
        ("MANUAL", 17, once, "hint-oneshot"),
    ]
    expected = {}
    for number, (kind, minutes, values, source) in enumerate(cases):
        for expiry in (NOON + timedelta(hours=3), None):
            name = f"{number}: {kind}, {minutes} minutes, {values}, until {expiry}"
            paused(before, name, kind, minutes, hint_expires_at=expiry, **values)
            expected[name] = source
    migrated(AFTER)
    assert dict(RoutineState.objects.values_list("routine__name", "slot_source")) == expected


def test_why_a_slot_was_chosen_is_kept_or_the_triggers_own(before: Any) -> None:
    routines = before._meta.get_field("routine").related_model.objects
    expected = {}
    for kind, source, why in (
        ("CRON", "hint-oneshot", "hint-oneshot"),
        ("INTERVAL", "clamped-min", "clamped-min"),
        ("CRON", "catching-up", "baseline-cron"),
        ("INTERVAL", "paused", "baseline-interval"),
        ("MANUAL", "parked", "hint-interval"),
    ):
        for slot in (NOON, None):
            name = f"{kind}, {source}, {slot}"
            routine = routines.create(name=name, task="t", trigger_kind=kind, **TRIGGERS[kind])
            awake = slot is not None and source in ("hint-oneshot", "clamped-min")
            before.objects.create(
                routine=routine,
                next_slot=slot,
                next_run_at=NOON if awake else None,
                next_source=source if slot is not None else "ended",
            )
            expected[name] = why if slot is not None else ""
    migrated(AFTER)
    assert dict(RoutineState.objects.values_list("routine__name", "slot_source")) == expected
