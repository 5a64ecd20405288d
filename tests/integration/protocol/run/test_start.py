"""Starting runs: the compare-and-set, the lease, the fence, and handing back."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import redis
from django.db import connection
from django.test import override_settings
from django.utils import timezone

from routines_app import service
from routines_app.conf import get_settings
from routines_app.coordination import leases
from routines_app.core.words import Reason, RoutineStatus, RunStatus, RunTrigger
from routines_app.models import Pool, Routine, RoutineRun, RoutineState
from routines_app.protocol.end.finish import finish
from routines_app.protocol.publish.outbox import stamp
from routines_app.protocol.record.outcome import succeeded
from routines_app.protocol.run.start import Expired, NotOurs, Refused, Retired, Started, start
from tests.acceptance.ringing import ring, routine
from tests.processes import free_port

pytestmark = pytest.mark.usefixtures("ledger", "short_lived_threads")


def test_a_run_starts_once() -> None:
    """The second message finds a row that is not PENDING."""
    run = ring(routine("plain", args=[1], kwargs={"a": 2}), send=False)
    begun = start(run.id, "me")
    assert isinstance(begun, Started)
    assert (begun.facts.args, begun.facts.kwargs, begun.facts.routine_name) == ([1], {"a": 2}, "plain")
    assert start(run.id, "me too") == NotOurs()
    assert run.refresh() == RunStatus.RUNNING
    assert (run.row.worker, run.row.fence, run.row.running_key) == ("me", None, None)
    assert run.row.started_at == run.row.heartbeat_at == begun.facts.started_at


def test_a_run_with_arguments_of_its_own_gets_those() -> None:
    run = ring(routine("plain", args=[1]), send=False, args=[5], kwargs={"b": 1})
    begun = start(run.id, "me")
    assert isinstance(begun, Started)
    assert (begun.facts.args, begun.facts.kwargs) == ([5], {"b": 1})


@pytest.mark.parametrize("hint", [False, True, "id"])
def test_an_exclusive_run_gets_lease_key_and_fence(hint: Any) -> None:
    """Whatever the publisher hinted."""
    made = routine("alone", concurrency_policy="FORBID")
    run = ring(made, send=False)
    begun = start(run.id, "me", exclusive=made.pk if hint == "id" else hint)
    assert isinstance(begun, Started)
    assert (begun.facts.fence, begun.facts.exclusive) == (1, True)
    run.refresh()
    assert (run.row.fence, run.row.running_key) == (1, made.pk)
    holder = leases.holder(made.pk)
    assert holder is not None
    assert holder[0] == str(run.id)


def test_a_wrong_hint_changes_nothing() -> None:
    """The hint is about speed; the routine's policy decides."""
    assert isinstance(start(ring(routine("plain"), send=False).id, "me", exclusive=True), Started)
    assert isinstance(start(ring(routine("other"), send=False).id, "me", exclusive=999), Started)


def test_a_second_exclusive_run_is_handed_back_while_the_lease_is_held() -> None:
    """It waits a second, and says why."""
    made = routine("alone", concurrency_policy="FORBID")
    first, second = ring(made, send=False), ring(made, send=False)
    start(first.id, "me")
    assert start(second.id, "me") == Refused(Reason.LEASE_HELD)
    assert second.refresh() == RunStatus.PENDING
    row = second.row
    assert (row.reason, row.dispatched_at, row.admitted_at, row.attempt) == (Reason.LEASE_HELD, None, None, 1)
    assert row.publish_after == row.eligible_at
    assert row.eligible_at > timezone.now()


def test_a_run_that_was_handed_back_before_the_stamp_still_waits() -> None:
    """A fast worker refuses the message before its publisher has stamped the row."""
    made = routine("alone", concurrency_policy="FORBID")
    first, second = ring(made, send=False), ring(made, send=False, dispatched_at=None)
    start(first.id, "me")
    start(second.id, "me")
    assert stamp([str(second.id)], timezone.now()) == 0
    second.refresh()
    assert second.row.dispatched_at is None
    assert second.row.publish_after == second.row.eligible_at


def test_a_forgotten_lease_lets_no_second_exclusive_run_start(redis_client: redis.Redis) -> None:
    """FLUSHALL: the running key holds, and the lease that the refused run took is given back."""
    made = routine("alone", concurrency_policy="REPLACE")
    first, second = ring(made, send=False), ring(made, send=False)
    start(first.id, "me")
    redis_client.flushdb()
    assert start(second.id, "me") == Refused(Reason.KEY_TAKEN)
    assert leases.holder(made.pk) is None


def test_a_second_message_of_a_running_exclusive_run_leaves_its_lease_alone() -> None:
    made = routine("alone", concurrency_policy="FORBID")
    run = ring(made, send=False)
    start(run.id, "me")
    assert start(run.id, "me again", exclusive=made.pk) == NotOurs()
    assert leases.holder(made.pk) is not None


def test_an_exclusive_start_refuses_beside_any_running_run() -> None:
    """The policy was edited while a run that started under ALLOW still runs."""
    made = routine("edited")
    start(ring(made, send=False).id, "me")
    Routine.objects.filter(pk=made.pk).update(concurrency_policy="FORBID")
    second = ring(made, send=False)
    assert start(second.id, "me") == Refused(Reason.KEY_TAKEN)
    assert leases.holder(made.pk) is None


def test_without_redis_exclusive_runs_wait_and_others_start() -> None:
    """Redis is not trusted with truth, but an exclusive start asks it first."""
    alone, plain = ring(routine("alone", concurrency_policy="FORBID"), send=False), ring(routine("plain"), send=False)
    with override_settings(ROUTINES={"REDIS_URL": f"redis://127.0.0.1:{free_port()}/0"}):
        assert start(alone.id, "me") == Refused(Reason.REDIS_AWAY)
        assert isinstance(start(plain.id, "me"), Started)
    alone.refresh()
    assert (alone.row.reason, alone.row.attempt, alone.row.budget_used) == (Reason.REDIS_AWAY, 1, 1)


def test_runs_of_a_paused_routine_are_held_until_it_is_resumed() -> None:
    """Except those that somebody asked for by hand."""
    made = routine("paused", status=RoutineStatus.PAUSED)
    held, asked = ring(made, send=False), ring(made, send=False, requested_at=datetime.now(UTC))
    assert start(held.id, "me") == Refused(Reason.PAUSED)
    held.refresh()
    assert (held.row.publish_after, held.row.dispatched_at, held.row.reason) == (None, None, Reason.PAUSED)
    assert isinstance(start(asked.id, "me"), Started)


@pytest.mark.parametrize("policy", ["ALLOW", "FORBID"])
def test_runs_of_a_parked_routine_are_held_until_it_is_reset(policy: str) -> None:
    """As those of a paused one: what somebody asked for by hand runs, the rest goes on after the reset."""
    made = routine("parked", status=RoutineStatus.PARKED, concurrency_policy=policy)
    held, asked = ring(made, send=False), ring(made, send=False, requested_at=datetime.now(UTC))
    assert start(held.id, "me") == Refused(Reason.PARKED)
    held.refresh()
    assert (held.row.publish_after, held.row.dispatched_at, held.row.reason) == (None, None, Reason.PARKED)
    begun = start(asked.id, "me")
    assert isinstance(begun, Started)
    finish(begun.facts, succeeded(None))
    service.reset_routine(made)
    held.refresh()
    assert held.row.publish_after is not None
    assert held.row.reason == ""
    assert isinstance(start(held.id, "me"), Started)


@pytest.mark.parametrize("policy", ["ALLOW", "FORBID"])
def test_a_run_of_an_archived_routine_is_cancelled(policy: str) -> None:
    """A row that was written while the routine was archived; also one that somebody asked for by hand."""
    made = routine("retired", status=RoutineStatus.ARCHIVED, concurrency_policy=policy)
    for trigger in (RunTrigger.RETRY, RunTrigger.MANUAL):
        run = ring(made, send=False, trigger=trigger)
        assert start(run.id, "me") == Retired()
        assert (run.refresh(), run.row.reason) == (RunStatus.CANCELLED, Reason.ARCHIVED)
        assert start(run.id, "me") == NotOurs()
    assert leases.holder(made.pk) is None


@pytest.mark.parametrize("policy", ["ALLOW", "FORBID"])
def test_a_run_that_is_too_old_is_skipped(policy: str) -> None:
    old = timezone.now() - timedelta(seconds=10)
    run = ring(routine("late", expires_ms=5000, concurrency_policy=policy), send=False, scheduled_for=old)
    assert start(run.id, "me") == Expired()
    assert (run.refresh(), run.row.reason) == (RunStatus.SKIPPED, Reason.EXPIRED)
    assert run.row.completed_at is not None


def test_a_pooled_run_that_has_no_room_yet_does_not_start() -> None:
    """An old message must not take it past the ceiling."""
    pool = Pool.objects.create(name="narrow", max_concurrent=1)
    run = ring(routine("pooled", pool=pool), send=False, pool=pool, admitted_at=None, dispatched_at=None)
    assert start(run.id, "me") == NotOurs()
    assert run.refresh() == RunStatus.PENDING


def test_many_workers_start_one_run_once() -> None:
    run = ring(routine("plain"), send=False)
    begun = in_threads([lambda: start(run.id, "me")] * 8)
    assert [isinstance(one, Started) for one in begun].count(True) == 1


@pytest.mark.parametrize("lease", [True, False])
def test_many_workers_start_one_exclusive_run_of_many(lease: bool) -> None:
    """With leases, and — as if Redis had forgotten every one of them — without."""
    made = routine("alone", concurrency_policy="FORBID")
    runs = [ring(made, send=False) for _ in range(6)]
    begun = in_threads([lambda run=run: start(run.id, "me", lease=lease) for run in runs])
    assert [isinstance(one, Started) for one in begun].count(True) == 1
    assert RoutineRun.objects.filter(status=RunStatus.RUNNING).count() == 1
    assert all(isinstance(one, Started | Refused) for one in begun)


def test_the_fence_only_grows() -> None:
    made = routine("alone", concurrency_policy="FORBID")
    fences = []
    for _ in range(3):
        begun = start(ring(made, send=False).id, "me")
        assert isinstance(begun, Started)
        fences.append(begun.facts.fence)
        RoutineRun.objects.filter(status=RunStatus.RUNNING).update(
            status=RunStatus.CANCELLED, running_key=None, completed_at=timezone.now()
        )
        leases.release(made.pk, begun.facts.token)
    assert fences == [1, 2, 3]
    assert RoutineState.objects.get(pk=made.pk).fence == 3


def test_a_message_without_a_row_does_nothing() -> None:
    run = ring(routine("gone"), send=False)
    run.row.delete()
    assert start(run.row.id or run.id, "me") == NotOurs()


def test_a_lease_lives_for_as_long_as_set() -> None:
    made = routine("alone", concurrency_policy="FORBID")
    start(ring(made, send=False).id, "me")
    holder = leases.holder(made.pk)
    assert holder is not None
    assert get_settings().lease_seconds - 5 < holder[1] <= get_settings().lease_seconds


def in_threads(calls: list[Callable[[], Any]]) -> list[Any]:
    def call(one: Callable[[], Any]) -> Any:
        try:
            return one()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as executor:
        return list(executor.map(call, calls))
