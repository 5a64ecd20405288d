"""The default pool: a ceiling for everything that names none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from celery import current_app

from routines_app import service
from routines_app.coordination import wakeups
from routines_app.core.words import Reason, RunStatus
from routines_app.models import Pool, Routine, RoutineRun
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.end.finish import close_run, finish
from routines_app.protocol.publish.pools import admit_pools
from routines_app.protocol.publish.waiting import dispatch_waiting
from routines_app.protocol.record import facts
from routines_app.protocol.record.outcome import Outcome, failed, succeeded
from routines_app.protocol.upkeep import unpooled
from tests.integration.conftest import MONDAY, NOTE, Time
from tests.integration.verbs.rows import running_run, waiting_run

Make = Callable[..., Routine]

pytestmark = pytest.mark.django_db


def default_names() -> list[str]:
    return list(Pool.objects.filter(is_default=True).values_list("name", flat=True))


def pools_of_runs() -> set[str | None]:
    return set(RoutineRun.objects.values_list("pool__name", flat=True))


def test_one_pool_is_the_default_at_most() -> None:
    """The next one takes its place, made or changed; it can be none again."""
    assert service.create_pool("plain", max_concurrent=1).is_default is None
    service.create_pool("first", max_concurrent=1, is_default=True)
    assert default_names() == ["first"]
    second = service.create_pool("second", max_concurrent=1, is_default=True)
    assert default_names() == ["second"]
    service.update_pool("plain", is_default=True)
    assert default_names() == ["plain"]
    service.update_pool("plain", is_default=True, max_concurrent=4)
    service.update_pool(second, max_concurrent=3)  # an instance that still says that it is the default
    assert default_names() == ["plain"]
    assert service.update_pool("plain", is_default=False).is_default is None
    assert default_names() == []


@pytest.mark.parametrize("value", ["yes", 1, None])
def test_what_is_neither_yes_nor_no_is_refused(value: Any) -> None:
    """By name, and nothing is written."""
    pool = service.create_pool("p", max_concurrent=1)
    for ask in (
        lambda: service.update_pool(pool, is_default=value),
        lambda: service.create_pool("q", max_concurrent=1, is_default=value),
    ):
        with pytest.raises(service.InvalidValue, match=r"^is_default: "):
            ask()
    assert list(Pool.objects.values_list("name", "is_default")) == [("p", None)]


def test_every_new_run_of_a_routine_without_a_pool_belongs_to_it(make: Make, time: Time) -> None:
    """Of the schedule, by hand, of a backfill, and a retry; a routine with a pool keeps its own."""
    service.create_pool("default", max_concurrent=9, is_default=True)
    own = service.create_pool("own", max_concurrent=9)
    routine = make(every="1h")
    make("pooled", every="1h", pool=own)
    time.pass_by(hours=1)
    claim_due(time.now)
    service.run_now(routine)
    service.backfill(routine, MONDAY, time.now)
    of_default = RoutineRun.objects.filter(routine=routine)
    assert (of_default.count(), {run.pool.name for run in of_default if run.pool}) == (4, {"default"})
    assert RoutineRun.objects.get(routine__name="pooled").pool_id == own.pk


def test_a_retry_of_a_run_without_a_pool_belongs_to_it(make: Make) -> None:
    """The pool is judged anew with each attempt."""
    run = running_run(make(max_attempts=2))
    service.create_pool("default", max_concurrent=9, is_default=True)
    RoutineRun.objects.update(pool=None)
    close_run(run.pk, failed(Reason.EXCEPTION, "no"))
    assert RoutineRun.objects.get(retry_of=run.pk).pool.name == "default"  # type: ignore[union-attr]


def test_without_one_nobody_belongs_to_a_pool(make: Make, time: Time) -> None:
    """Other pools are no concern of theirs."""
    service.create_pool("plain", max_concurrent=1)
    routine = make(every="1h")
    time.pass_by(hours=1)
    claim_due(time.now)
    service.run_now(routine)
    assert pools_of_runs() == {None}


def test_its_ceiling_counts_for_them(make: Make, time: Time) -> None:
    """As any pool's, with those that name it."""
    pool = service.create_pool("default", max_concurrent=2, is_default=True)
    for name, values in (("named", {"pool": pool}), ("a", {}), ("b", {})):
        make(name, every="1h", **values)
    time.pass_by(hours=1)
    claim_due(time.now)
    admit_pools(time.now)
    assert RoutineRun.objects.filter(admitted_at__isnull=False).count() == 2
    (listed,) = service.list_pools()
    assert (listed.in_flight, listed.waiting) == (2, 1)


def test_what_is_active_gets_into_a_pool_that_becomes_the_default(make: Make, time: Time) -> None:
    """What runs or was sent has a place, also beyond the ceiling; what waits will wait for room."""
    routine = make()
    running_run(routine, 1, admitted_at=None)
    waiting_run(routine, 2, admitted_at=None, dispatched_at=MONDAY)
    waiting_run(routine, 3, admitted_at=None, publish_after=MONDAY, reason="not_yet")
    ended = waiting_run(routine, 4, status=RunStatus.SKIPPED, completed_at=MONDAY)
    pool = service.create_pool("default", max_concurrent=1)
    service.update_pool(pool, is_default=True)
    (listed,) = service.list_pools()
    assert (listed.in_flight, listed.waiting) == (2, 1)
    dispatch_waiting(time.now)
    held = RoutineRun.objects.get(idempotency_key="test:3")
    assert (held.admitted_at, held.publish_after, held.reason) == (None, None, Reason.CEILING)
    ended.refresh_from_db()
    assert ended.pool_id is None
    service.update_pool(pool, is_default=False)
    assert RoutineRun.objects.filter(pool=pool).count() == 3, "they stay where they are"


def test_of_very_many_the_beats_take_the_rest_in(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The verb some, each pass of the upkeep some more."""
    monkeypatch.setattr(unpooled, "TAKEN_AT_ONCE", 2)
    routine = make()
    for number in range(5):
        waiting_run(routine, number)
    assert unpooled.take_unpooled() == 0, "there is no default pool"
    service.create_pool("default", max_concurrent=1, is_default=True)
    assert RoutineRun.objects.filter(pool=None).count() == 3
    assert [unpooled.take_unpooled() for _ in range(3)] == [2, 1, 0]


def test_while_some_are_taken_in_they_count(make: Make, time: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or the pool would let its whole ceiling in beside them. What has not been let through does not count."""
    monkeypatch.setattr(unpooled, "TAKEN_AT_ONCE", 1)
    routine = make()
    running_run(routine, 1)
    running_run(routine, 2, admitted_at=None)
    waiting_run(routine, 3, admitted_at=None, dispatched_at=MONDAY)
    waiting_run(routine, 4, admitted_at=None, reason="not_yet", publish_after=MONDAY)
    pool = service.create_pool("default", max_concurrent=3, is_default=True)
    asked = service.run_now(routine)
    assert RoutineRun.objects.filter(pool=None).count() == 3
    assert admit_pools(time.now) == []
    assert (service.list_pools()[0].in_flight, service.list_pools()[0].waiting) == (3, 2)
    assert service.pool_counts() == {pool.pk: (3, 2, 3)} == service.pool_counts(pool)
    assert service.queue(pool).overrides[0].why == "pool default is full (3 of 3)"
    (planned,) = [each for each in service.plan_leases().decisions if each.run_id == asked.pk]
    assert planned.verdict == "hold"
    service.update_pool(pool, max_concurrent=4)
    assert [message.run_id for message in admit_pools(time.now)] == [str(asked.pk)]


def test_what_only_waits_when_a_pool_becomes_the_default_keeps_to_its_ceiling(
    make: Make, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However much of it the verb has left: a look takes it in before it judges it."""
    monkeypatch.setattr(unpooled, "TAKEN_AT_ONCE", 2)
    routine = make()
    for number in range(5):
        waiting_run(routine, number, admitted_at=None, reason="not_yet", publish_after=MONDAY)
    pool = service.create_pool("default", max_concurrent=1, is_default=True)
    sent = [message for _ in range(3) for message in (*dispatch_waiting(time.now), *admit_pools(time.now))]
    assert len(sent) == 1
    assert RoutineRun.objects.filter(pool=pool, admitted_at=None, reason=Reason.CEILING).count() == 4


def test_what_comes_back_after_a_pool_became_the_default_keeps_to_its_ceiling(make: Make, time: Time) -> None:
    """A run that was sent before and is handed back, or that could not be sent, is judged by that pool."""
    routine = make()
    pool = service.create_pool("default", max_concurrent=1, is_default=True)
    running_run(routine, 1, pool=pool)
    waiting_run(routine, 2, admitted_at=None, reason=Reason.LEASE_HELD, publish_after=MONDAY)
    waiting_run(routine, 3, admitted_at=MONDAY, publish_after=MONDAY)
    assert (dispatch_waiting(time.now), admit_pools(time.now)) == ([], [])
    assert RoutineRun.objects.filter(pool=pool, admitted_at=None, reason=Reason.CEILING).count() == 2


def test_the_plan_is_what_a_beat_does_with_a_run_that_is_not_taken_in_yet(make: Make, time: Time) -> None:
    """It competes for room with those that are, by rank."""
    pool = service.create_pool("default", max_concurrent=1, is_default=True)
    waiting_run(make("outside"), 1, admitted_at=None, publish_after=MONDAY, reason="not_yet")
    waiting_run(make("queued", priority="HIGH"), 2, pool=pool, admitted_at=None, publish_after=None, reason="ceiling")
    plan = {each.name: (each.verdict.value, each.pool) for each in service.plan_leases().decisions}
    assert plan == {"outside": ("hold", "default"), "queued": ("start", "default")}
    dispatch_waiting(time.now)
    admit_pools(time.now)
    assert RoutineRun.objects.get(admitted_at__isnull=False).routine.name == "queued"


def test_when_the_default_is_taken_away_what_it_had_not_taken_in_goes(make: Make, time: Time) -> None:
    """What it had taken in stays with it."""
    routine = make()
    outside = waiting_run(routine, 1, admitted_at=None, reason="not_yet", publish_after=MONDAY)
    pool = service.create_pool("default", max_concurrent=1, is_default=True)
    running_run(routine, 2, pool=pool)
    RoutineRun.objects.filter(pk=outside.pk).update(pool=None)
    service.update_pool(pool, is_default=False)
    assert [message.run_id for message in dispatch_waiting(time.now)] == [str(outside.pk)]
    outside.refresh_from_db()
    assert outside.pool_id is None


@pytest.mark.parametrize("outcome", [succeeded(None), failed(Reason.EXCEPTION, "no")], ids=["success", "failure"])
def test_the_end_of_a_run_that_was_taken_in_wakes_beats(
    make: Make, outcome: Outcome, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    """There is room now, although its worker does not know of any pool."""
    run = running_run(make(max_attempts=1))
    known = facts.load(run.pk)
    assert known is not None
    service.create_pool("default", max_concurrent=1, is_default=True)
    woken: list[bool] = []
    monkeypatch.setattr(wakeups, "wake_beats", lambda: woken.append(True))
    with django_capture_on_commit_callbacks(execute=True):
        finish(known, outcome)
    assert woken


def test_it_goes_as_any_other_pool(make: Make) -> None:
    """When nothing needs it; the default pool, or one that runs are in, does not."""
    service.create_pool("default", max_concurrent=1, is_default=True)
    with pytest.raises(service.NotAllowed, match="default pool"):
        service.delete_pool("default")
    service.run_now(make())
    service.update_pool("default", is_default=False)
    with pytest.raises(service.NotAllowed, match="active"):
        service.delete_pool("default")
    RoutineRun.objects.all().delete()
    service.delete_pool("default")
    service.run_now("report")
    assert pools_of_runs() == {None}


@pytest.fixture
def eager() -> Iterator[None]:
    current_app.conf.task_always_eager = True
    yield
    current_app.conf.task_always_eager = False


@pytest.mark.django_db(transaction=True)
def test_in_eager_mode_it_holds_what_it_has_no_room_for(eager: None) -> None:
    """A run that has room starts and finishes inline."""
    pool = service.create_pool("default", max_concurrent=1, is_default=True)
    service.create_routine("report", task=NOTE, kwargs={})
    run = service.run_now("report")
    run.refresh_from_db()
    assert (run.pool_id, run.completed_at is not None) == (pool.pk, True)
    running_run(service.create_routine("busy", task=NOTE), 1, pool=pool)
    held = service.run_now("report")
    held.refresh_from_db()
    assert (held.status, held.reason) == (RunStatus.PENDING, Reason.CEILING)
