"""Each constraint of the database refuses what its name says, whoever writes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import models
from django.db.models import ProtectedError

from routines_app.core.words import RoutineStatus, RunStatus, Source
from routines_app.models import (
    ChangeKind,
    Node,
    NodeLifetime,
    PauseBatch,
    Pool,
    Rotation,
    RotationMember,
    RotationSample,
    Routine,
    RoutineRun,
    RoutineState,
    SavedFilter,
    ScheduleChange,
)
from tests.integration.schema.refused import CRON, NOW, assert_refused, routine, run

pytestmark = [pytest.mark.django_db, pytest.mark.each_database]

REFUSED_ROUTINES: list[tuple[str, dict[str, Any]]] = [
    ("routine_status_is_known", {"status": "ASLEEP"}),
    ("routine_trigger_is_known", {"trigger_kind": "SOMETIMES"}),
    ("routine_priority_is_known", {"priority": "URGENT"}),
    ("routine_concurrency_is_known", {"concurrency_policy": "MAYBE"}),
    ("routine_catch_up_is_known", {"catch_up_policy": "SOME"}),
    ("routine_has_what_its_trigger_needs", {"trigger_kind": "CRON"}),
    ("routine_has_what_its_trigger_needs", {"trigger_kind": "INTERVAL"}),
    ("routine_has_what_its_trigger_needs", {"cron": "0 * * * *"}),
    ("routine_has_what_its_trigger_needs", {"interval_ms": 5000}),
    ("routine_has_what_its_trigger_needs", {"trigger_kind": "CRON", "cron": "0 * * * *", "interval_ms": 5000}),
    ("routine_has_what_its_trigger_needs", {"trigger_kind": "ONCE"}),
    ("routine_has_what_its_trigger_needs", {"once_at": NOW}),
    ("routine_has_what_its_trigger_needs", {"trigger_kind": "ONCE", "once_at": NOW, "cron": "0 * * * *"}),
    ("routine_has_what_its_trigger_needs", {"trigger_kind": "ONCE", "once_at": NOW, "interval_ms": 5000}),
    ("routine_has_what_its_trigger_needs", {"trigger_kind": "CRON", "cron": "0 * * * *", "once_at": NOW}),
    ("routine_interval_is_a_second_up", {"trigger_kind": "INTERVAL", "interval_ms": 999}),
    ("routine_ends_after_it_starts", {"start_at": NOW, "end_at": NOW - timedelta(seconds=1)}),
    ("routine_timeout_none_or_1s_to_24h", {"timeout_ms": 999}),
    ("routine_timeout_none_or_1s_to_24h", {"timeout_ms": 86_400_001}),
    ("routine_has_an_attempt", {"max_attempts": 0}),
    ("routine_retry_delays_in_order", {"retry_delay_ms": 2, "retry_max_delay_ms": 1}),
    ("routine_retry_delays_in_order", {"retry_delay_ms": -1}),
    ("routine_min_below_max_interval", {"min_interval_ms": 2000, "max_interval_ms": 1000}),
    ("routine_paused_until_only_when_paused", {"paused_until": NOW}),
]


@pytest.mark.parametrize(("name", "values"), REFUSED_ROUTINES, ids=lambda value: str(value)[:50])
def test_a_routine_that_breaks_a_rule_is_refused(name: str, values: dict[str, Any]) -> None:
    """The database names the rule."""
    assert_refused(name, lambda: routine(**values))


def test_routine_names_are_unique() -> None:
    """Two routines of one name cannot exist."""
    routine()
    assert_refused("name", lambda: routine())


REFUSED_STATES: list[tuple[str, dict[str, Any]]] = [
    ("state_source_is_known", {"next_source": "whim", "next_run_at": NOW}),
    ("state_slot_source_is_known", {"slot_source": "whim", "next_slot": NOW}),
    ("state_slot_source_is_known", {"slot_source": Source.PAUSED, "next_slot": NOW}),
    ("state_asleep_means_no_next_run", {"next_source": Source.MANUAL, "next_run_at": NOW}),
    ("state_asleep_means_no_next_run", {"next_source": Source.ENDED, "next_run_at": NOW}),
    ("state_asleep_means_no_next_run", {"next_source": Source.PARKED, "next_run_at": NOW}),
    ("state_asleep_means_no_next_run", {"next_source": Source.ARCHIVED, "next_run_at": NOW}),
    ("state_asleep_means_no_next_run", {"next_source": Source.CATCHING_UP, "next_run_at": NOW}),
    ("state_asleep_means_no_next_run", {"next_source": Source.BASELINE_CRON}),
    ("state_release_has_policy_and_end", {"release_policy": "ALL"}),
    ("state_release_has_policy_and_end", {"release_until": NOW}),
    ("state_hint_interval_has_expiry", {"hint_interval_ms": 5000}),
    ("state_hint_interval_has_expiry", {"hint_interval_expires_at": NOW}),
    ("state_hint_next_has_expiry", {"hint_next_at": NOW}),
    ("state_hint_next_has_expiry", {"hint_next_expires_at": NOW}),
    ("state_hint_factor_has_expiry", {"hint_factor": 5}),
    ("state_hint_factor_has_expiry", {"hint_factor_expires_at": NOW}),
]


@pytest.mark.parametrize(("name", "values"), REFUSED_STATES, ids=lambda value: str(value)[:70])
def test_a_state_that_breaks_a_rule_is_refused(name: str, values: dict[str, Any]) -> None:
    """What no beat looks at has no time to be looked at, and the other way round."""
    of = routine()
    assert_refused(name, lambda: RoutineState.objects.create(routine=of, **values))


def test_a_pause_may_have_an_end_or_none() -> None:
    """`paused` is the one source with either."""
    for number, next_run_at in enumerate((None, NOW)):
        of = routine(name=str(number), status=RoutineStatus.PAUSED)
        RoutineState.objects.create(routine=of, next_source=Source.PAUSED, next_run_at=next_run_at)


REFUSED_RUNS: list[tuple[str, dict[str, Any]]] = [
    ("run_status_is_known", {"status": "LOST"}),
    ("run_trigger_is_known", {"trigger": "whim"}),
    ("run_key_only_while_running", {"running_key": 1}),
    ("run_completed_means_ended", {"completed_at": NOW}),
    ("run_completed_means_ended", {"status": RunStatus.SKIPPED}),
    ("run_running_or_success_has_started", {"status": RunStatus.RUNNING}),
    ("run_running_or_success_has_started", {"status": RunStatus.SUCCESS, "completed_at": NOW}),
    ("run_counts_from_one", {"attempt": 0}),
    ("run_counts_from_one", {"occurrences": 0}),
]


@pytest.mark.parametrize(("name", "values"), REFUSED_RUNS, ids=lambda value: str(value)[:70])
def test_a_run_that_breaks_a_rule_is_refused(name: str, values: dict[str, Any]) -> None:
    """The ledger's rows make sense, whatever wrote them."""
    of = routine()
    assert_refused(name, lambda: run(of, **values))


def test_one_run_per_slot_and_attempt() -> None:
    """A second row with the same key is impossible."""
    of = routine()
    run(of)
    assert_refused("one_run_per_slot_and_attempt", lambda: run(of))


def test_one_exclusive_run_at_a_time() -> None:
    """A second RUNNING row with the routine's key is impossible; rows without a key do not mind each other."""
    of = routine()
    running = {"status": RunStatus.RUNNING, "started_at": NOW}
    run(of, idempotency_key="a", running_key=of.pk, **running)
    run(of, idempotency_key="b", **running)
    run(of, idempotency_key="c", **running)
    assert_refused("one_exclusive_run_at_a_time", lambda: run(of, idempotency_key="d", running_key=of.pk, **running))


def rotation(**values: Any) -> Rotation:
    return Rotation.objects.create(routine=routine(name="feeds"), **values)


REFUSED_ROTATIONS: list[tuple[str, dict[str, Any]]] = [
    ("rotation_has_a_budget", {"budget": 0}),
    ("rotation_has_a_budget", {"max_in_flight": 0}),
    ("rotation_is_fresh_forwards", {"fresh_for_ms": -1}),
    ("rotation_idles_at_most_fourfold", {"idle_multiplier": 0}),
    ("rotation_idles_at_most_fourfold", {"idle_multiplier": 5}),
]


@pytest.mark.parametrize(("name", "values"), REFUSED_ROTATIONS, ids=lambda value: str(value)[:70])
def test_a_rotation_that_breaks_a_rule_is_refused(name: str, values: dict[str, Any]) -> None:
    """One without a budget would never pick anybody."""
    assert_refused(name, lambda: rotation(**values))


REFUSED_MEMBERS: list[tuple[str, dict[str, Any]]] = [
    ("member_status_is_known", {"status": "LATE"}),
    ("member_in_flight_has_a_run", {"status": "IN_FLIGHT"}),
    ("member_in_flight_has_a_run", {"status": "OWED", "run": UUID(int=1)}),
    ("member_fresh_has_an_end", {"status": "FRESH"}),
    ("member_failed_has_a_tick", {"status": "FAILED"}),
]


@pytest.mark.parametrize(("name", "values"), REFUSED_MEMBERS, ids=lambda value: str(value)[:70])
def test_a_member_that_breaks_a_rule_is_refused(name: str, values: dict[str, Any]) -> None:
    """A member that waits for nothing would wait for ever."""
    of, member = rotation(), routine()
    assert_refused(name, lambda: RotationMember.objects.create(routine=member, rotation=of, stale_since=NOW, **values))


def test_only_a_manual_routine_names_a_rotation() -> None:
    """Else its schedule and its rotation would both fire it."""
    of = rotation()
    routine(rotation=of)
    assert_refused("routine_of_a_rotation_is_manual", lambda: routine(**(CRON | {"name": "cron"}), rotation=of))


def test_one_sample_of_a_rotation_at_a_time() -> None:
    of = rotation()
    counts = dict.fromkeys(("owed", "in_flight", "fresh", "failing", "left_out"), 0)
    RotationSample.objects.create(rotation=of, at=NOW, **counts)
    assert_refused("one_sample_at_a_time", lambda: RotationSample.objects.create(rotation=of, at=NOW, **counts))


def test_a_pool_that_is_drained_has_no_room() -> None:
    """What it was drained from is remembered only as long as it is."""
    Pool.objects.create(name="none", max_concurrent=0)
    Pool.objects.create(name="drained", max_concurrent=0, drained_from=3)
    assert_refused("pool_drained_has_no_room", lambda: Pool.objects.create(name="x", max_concurrent=2, drained_from=3))
    assert_refused("pool_drained_has_no_room", lambda: Pool.objects.create(name="x", max_concurrent=0, drained_from=0))


def test_only_what_is_paused_is_in_a_batch() -> None:
    """And open batches have different names."""
    batch = PauseBatch.objects.create(name="sale", up_to_id=0)
    routine(status="PAUSED", pause_batch=batch)
    assert_refused("routine_in_a_batch_only_when_paused", lambda: routine(name="active", pause_batch=batch))
    assert_refused("one_open_batch_of_a_name", lambda: PauseBatch.objects.create(name="sale", up_to_id=0))
    for _ in range(2):
        PauseBatch.objects.create(name="sale", up_to_id=0, is_open=None, closed_at=NOW)
    assert_refused(
        "batch_is_open_or_was_closed", lambda: PauseBatch.objects.create(name="x", up_to_id=0, closed_at=NOW)
    )


def test_one_pool_is_the_default_and_the_others_say_nothing() -> None:
    """True or NULL: a second False would be refused by the index, and nobody would know why."""
    assert_refused(
        "pool_is_default_or_says_nothing", lambda: Pool.objects.create(name="no", max_concurrent=1, is_default=False)
    )
    for number in range(2):
        Pool.objects.create(name=f"plain {number}", max_concurrent=1)
    Pool.objects.create(name="default", max_concurrent=1, is_default=True)
    assert_refused("is_default", lambda: Pool.objects.create(name="another", max_concurrent=1, is_default=True))


def test_a_lifetime_is_a_beats_or_a_workers() -> None:
    values = {"name": "n", "host": "h", "pid": 1, "started_at": NOW, "seen_at": NOW}
    assert_refused("lifetime_role_is_known", lambda: NodeLifetime.objects.create(role="web", **values))


def test_one_saved_filter_of_a_name() -> None:
    """Of a list and an owner: another person may call theirs the same."""
    values = {"listed": "routine", "name": "mine", "query": "q=a"}
    SavedFilter.objects.create(owner="1", **values)
    SavedFilter.objects.create(owner="2", **values)
    assert_refused("one_saved_filter_per_name", lambda: SavedFilter.objects.create(owner="1", **values))


def test_changes_and_nodes_have_known_kinds() -> None:
    """No bare strings."""
    assert_refused("change_kind_is_known", lambda: change(kind="whim"))
    assert_refused("node_role_is_known", lambda: node(role="king"))
    change(kind=ChangeKind.CREATED)
    node(role="beat")


def test_history_protects_its_routine_and_its_pool() -> None:
    """Neither disappears under the runs that tell of them."""
    pool = Pool.objects.create(name="slow", max_concurrent=1)
    of = routine(pool=pool)
    run(of, pool=pool)
    for protected in (of, pool):
        with pytest.raises(ProtectedError):
            protected.delete()


def test_every_constraint_has_a_test_here() -> None:
    """A new constraint without one fails this test."""
    refused = REFUSED_ROUTINES + REFUSED_STATES + REFUSED_RUNS + REFUSED_ROTATIONS + REFUSED_MEMBERS
    tested = {name for name, _ in refused} | {
        "routine_of_a_rotation_is_manual",
        "one_sample_at_a_time",
        "one_run_per_slot_and_attempt",
        "one_exclusive_run_at_a_time",
        "pool_drained_has_no_room",
        "routine_in_a_batch_only_when_paused",
        "one_open_batch_of_a_name",
        "batch_is_open_or_was_closed",
        "pool_is_default_or_says_nothing",
        "change_kind_is_known",
        "node_role_is_known",
        "lifetime_role_is_known",
        "one_saved_filter_per_name",
    }
    tables: list[type[models.Model]] = [Routine, RoutineState, RoutineRun, Pool, Node, ScheduleChange]
    tables += [NodeLifetime, PauseBatch, SavedFilter, Rotation, RotationMember, RotationSample]
    assert tested == {constraint.name for table in tables for constraint in table._meta.constraints}


def change(**values: Any) -> ScheduleChange:
    return ScheduleChange.objects.create(routine_name="report", at=NOW, **values)


def node(**values: Any) -> Node:
    return Node.objects.create(name="n", host="h", pid=1, started_at=NOW, seen_at=NOW, **values)
