"""Migrations on the way back: an older release finds words that it knows."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from routines_app import service
from routines_app.core.rotation import TICK_TASK
from routines_app.core.triggers import CronTrigger, next_slot
from routines_app.models import MovedEntry, Pool, Rotation, Routine, RoutineRun, RoutineState, ScheduleChange
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.ledger import clock
from routines_app.protocol.plan.planning import is_edited_outside
from routines_app.verbs.declare import declare_routine
from tests.integration.schema.going_back import (
    BEFORE_BATCHES,
    BEFORE_DECLARED,
    BEFORE_ONCE,
    BEFORE_ROTATIONS,
    BEFORE_SHADOW,
    NOON,
    a_rotation_with_history,
    forward_again,  # noqa: F401 - a fixture
    migrated_back,
    run_of,
)


@pytest.mark.usefixtures("forward_again")
def test_a_queue_becomes_the_nearest_that_never_overlaps() -> None:
    """The other policies stay as they are."""
    for policy in ("ALLOW", "FORBID", "REPLACE", "QUEUE"):
        Routine.objects.create(name=policy, task="t", trigger_kind="MANUAL", concurrency_policy=policy)
    found = migrated_back().get_model("routines", "Routine").objects.values_list("name", "concurrency_policy")
    assert dict(found) == {"ALLOW": "ALLOW", "FORBID": "FORBID", "REPLACE": "REPLACE", "QUEUE": "FORBID"}


@pytest.mark.usefixtures("forward_again")
def test_what_a_factor_has_planned_is_an_intervals() -> None:
    """Of states and of runs; and the history has no words that are not known."""
    routine = Routine.objects.create(name="slowed", task="t", trigger_kind="INTERVAL", interval_ms=60_000)
    planned = {"next_slot": NOON, "next_run_at": NOON, "next_source": "hint-factor", "slot_source": "hint-factor"}
    hints = {
        "hint_factor": 2.0,
        "hint_factor_expires_at": NOON,
        "hint_interval_ms": 1,
        "hint_interval_expires_at": NOON,
    }
    RoutineState.objects.create(routine=routine, **planned, **hints)
    RoutineRun.objects.create(
        routine=routine, task="t", source="hint-factor", scheduled_for=NOON, eligible_at=NOON, idempotency_key="s:1"
    )
    ScheduleChange.objects.create(routine=routine, routine_name="slowed", kind="hint_expired", at=NOON)
    Pool.objects.create(name="everything", max_concurrent=1, is_default=True)
    older = migrated_back()
    state = older.get_model("routines", "RoutineState").objects.get()
    assert (state.next_source, state.hint_interval_ms, state.hint_expires_at) == ("hint-interval", 1, NOON)
    assert older.get_model("routines", "RoutineRun").objects.get().source == "hint-interval"
    assert not older.get_model("routines", "ScheduleChange").objects.exists()


@pytest.mark.each_database
@pytest.mark.usefixtures("forward_again")
def test_one_moment_becomes_a_cron_that_starts_and_ends_with_it() -> None:
    """An older release fires it then, once: it is planned by the fingerprint that such a cron has there."""
    moment = clock.now().replace(microsecond=0) + timedelta(days=40)
    service.create_routine("new year", task="celery.accumulate", at=moment, timezone="Asia/Tokyo", max_interval_ms="1h")
    service.create_routine("hourly", task="celery.accumulate", cron="0 * * * *", timezone="UTC")
    run_of(Routine.objects.get(name="new year"), "s:1", status="SUCCESS", source="baseline-once")
    older = migrated_back(BEFORE_ONCE)
    found = older.get_model("routines", "Routine").objects.get(name="new year")
    assert (found.trigger_kind, found.timezone, found.start_at, found.end_at) == ("CRON", "UTC", moment, moment)
    assert next_slot(CronTrigger(expression=found.cron, timezone="UTC"), clock.now()) == moment
    assert older.get_model("routines", "RoutineRun").objects.get().source == "baseline-cron"
    state = older.get_model("routines", "RoutineState").objects.get(routine__name="new year")
    assert (state.next_slot, state.next_run_at) == (moment, moment)
    assert (state.next_source, state.slot_source) == ("baseline-cron", "baseline-cron")
    MigrationExecutor(connection).migrate(MigrationExecutor(connection).loader.graph.leaf_nodes("routines"))
    for routine in Routine.objects.select_related("state"):  # whose fingerprints are as they were there
        assert not is_edited_outside(routine, routine.state)
    claim_due(moment)
    fired = RoutineRun.objects.filter(routine__name="new year", status="PENDING")
    assert fired.values_list("scheduled_for", flat=True).get() == moment


@pytest.mark.usefixtures("forward_again")
def test_what_code_says_goes_and_comes_back_with_its_next_sync() -> None:
    """Without what code has said, the history tells what people have changed: that stays."""
    fields = {"task": "celery.accumulate", "cron": "0 3 * * *", "max_attempts": 2}
    declare_routine("nightly", fields, "shop")
    service.update_routine("nightly", max_attempts=7, actor="ada")
    older = migrated_back(BEFORE_DECLARED).get_model("routines", "Routine").objects.get()
    assert (older.cron, older.max_attempts, hasattr(older, "declared")) == ("0 3 * * *", 7, False)
    MigrationExecutor(connection).migrate(MigrationExecutor(connection).loader.graph.leaf_nodes("routines"))
    assert Routine.objects.get().declared is None
    routine = declare_routine("nightly", fields | {"cron": "0 4 * * *"}, "shop")
    assert (routine.cron, routine.max_attempts, service.differences(routine)) == ("0 4 * * *", 7, {"max_attempts": 2})


@pytest.mark.each_database
@pytest.mark.usefixtures("forward_again")
def test_a_rotation_is_archived_and_its_members_stay() -> None:
    """What a tick fired was somebody's request to an older release, and no word is left that it does not know."""
    a_rotation_with_history()
    older = migrated_back(BEFORE_ROTATIONS)
    routines = older.get_model("routines", "Routine").objects
    assert set(routines.values_list("name", "status")) == {("feeds", "ARCHIVED"), ("feed", "ACTIVE")}
    state = older.get_model("routines", "RoutineState").objects.get(routine__name="feeds")
    assert (state.next_run_at, state.next_slot, state.next_source) == (None, None, "archived")
    runs = older.get_model("routines", "RoutineRun").objects.order_by("idempotency_key")
    assert [(run.trigger, run.reason) for run in runs] == [
        ("manual", ""),
        ("schedule", ""),
        ("schedule", "superseded"),
        ("schedule", "overlap"),
    ]
    changes = older.get_model("routines", "ScheduleChange").objects.filter(routine__name="feeds").order_by("id")
    assert list(changes.values_list("kind", flat=True)) == ["created", "archived"]
    assert routines.get(name="feeds").task == TICK_TASK


@pytest.mark.usefixtures("forward_again")
def test_a_rotation_goes_all_the_way_back_and_forth() -> None:
    """The rows of the newer tables are gone then, and its routine is an archived one like any other."""
    a_rotation_with_history()
    migrated_back()
    MigrationExecutor(connection).migrate(MigrationExecutor(connection).loader.graph.leaf_nodes("routines"))
    assert not Rotation.objects.exists()
    assert set(Routine.objects.values_list("name", "rotation", "status")) == {
        ("feeds", None, "ARCHIVED"),
        ("feed", None, "ACTIVE"),
    }


@pytest.mark.each_database
@pytest.mark.usefixtures("forward_again")
def test_a_routine_in_shadow_is_paused() -> None:
    """An older release would fire it beside its old scheduler. The history says why, and others go on."""
    for name in ("shadowed", "own"):
        service.create_routine(name, task="celery.accumulate", every="1m")
    shadowed = Routine.objects.get(name="shadowed")
    Routine.objects.filter(pk=shadowed.pk).update(shadow=True)
    MovedEntry.objects.create(routine=shadowed, scheduler="celery-redbeat", key="shadowed")
    run_of(shadowed, "s:1:1:1", status="SKIPPED", reason="shadow", started_at=None)
    older = migrated_back(BEFORE_SHADOW)
    routines = older.get_model("routines", "Routine").objects
    assert set(routines.values_list("name", "status")) == {("shadowed", "PAUSED"), ("own", "ACTIVE")}
    states = older.get_model("routines", "RoutineState").objects
    assert states.filter(next_run_at=None).values_list("routine__name", "next_source").get() == ("shadowed", "paused")
    assert older.get_model("routines", "RoutineRun").objects.get().reason == "superseded"
    changes = older.get_model("routines", "ScheduleChange").objects.filter(routine_id=shadowed.pk).order_by("id")
    assert list(changes.values_list("kind", flat=True)) == ["created", "paused"]


@pytest.mark.usefixtures("forward_again")
def test_a_pause_of_a_routine_in_shadow_does_not_end_by_itself() -> None:
    """Then the older release would fire it beside its old scheduler."""
    service.create_routine("shadowed", task="celery.accumulate", every="1m")
    Routine.objects.update(shadow=True)
    service.pause_until("shadowed", clock.now() + timedelta(hours=1))
    older = migrated_back(BEFORE_SHADOW)
    routines = older.get_model("routines", "Routine").objects
    assert routines.values_list("status", "paused_until").get() == ("PAUSED", None)
    assert older.get_model("routines", "RoutineState").objects.get().next_run_at is None


@pytest.mark.each_database
@pytest.mark.usefixtures("forward_again")
def test_what_a_batch_has_paused_stays_paused_and_pools_have_room() -> None:
    """An older release knows neither batches nor a ceiling of 0: the least that it knows is 1."""
    service.create_routine("shop", task="celery.accumulate", every="1m", tags=["shop"])
    service.pause_batch("sale", tag="shop", reason="a sale")
    for name, ceiling in (("drained", 7), ("none", 0), ("some", 3)):
        service.create_pool(name, max_concurrent=ceiling)
    service.drain_pool("drained")
    older = migrated_back(BEFORE_BATCHES)
    routines, pools = (older.get_model("routines", name).objects for name in ("Routine", "Pool"))
    assert routines.values_list("status", "pause_reason").get() == ("PAUSED", "a sale")
    assert dict(pools.values_list("name", "max_concurrent")) == {"drained": 7, "none": 1, "some": 3}
