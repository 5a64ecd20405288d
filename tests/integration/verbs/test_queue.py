"""The queue: what runs, what waits, in which order and for what."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from routines_app import service
from routines_app.core.words import Priority, Reason, RunStatus
from routines_app.models import Pool, Routine, RoutineRun, RoutineState
from routines_app.protocol.publish.pools import admit_pools
from routines_app.verbs import queue as queue_module
from tests.integration.conftest import MONDAY, Time
from tests.integration.verbs.rows import running_run, waiting_run

Make = Callable[..., Routine]

pytestmark = pytest.mark.django_db

SECOND = timedelta(seconds=1)
HELD = {"admitted_at": None, "publish_after": None, "reason": Reason.CEILING}


def pooled(make: Make, name: str, number: int, pool: Pool, **values: Any) -> RoutineRun:
    """A run that waits for room."""
    priority = values.pop("priority", "MEDIUM")
    return waiting_run(make(name, pool=pool, priority=priority), number, pool=pool, **HELD | values)


def names(queued: tuple[service.QueuedRun, ...]) -> list[str]:
    return [run.name for run in queued]


def test_a_pool_shows_what_runs_then_requests_then_the_rest_by_rank(make: Make, time: Time) -> None:
    """Each with its place, and with the reason for which it waits."""
    pool = service.create_pool("db", max_concurrent=1)
    busy = running_run(make("busy", pool=pool), 1, pool=pool, worker="w1@host")
    pooled(make, "low", 2, pool, priority="LOW")
    fresh, stale = pooled(make, "fresh", 3, pool), pooled(make, "stale", 4, pool)
    pooled(make, "high", 5, pool, priority="HIGH")
    pooled(make, "later", 6, pool, requested_at=MONDAY, requested_by="ann", trigger="manual")
    pooled(make, "sooner", 7, pool, requested_at=MONDAY - SECOND, trigger="manual", priority="LOW")
    for run, minutes in ((fresh, 1), (stale, 9)):
        RoutineState.objects.filter(pk=run.routine_id).update(last_success_at=MONDAY - timedelta(minutes=minutes))

    found = service.queue("db")

    assert (found.at, found.waiting, found.truncated) == (MONDAY, 6, False)
    (running,) = found.running
    assert (running.run_id, running.name, running.pool, running.since) == (busy.pk, "busy", "db", MONDAY)
    assert (running.worker, running.overdue) == ("w1@host", False)
    assert names(found.overrides) == ["sooner", "later"]
    assert names(found.automatic) == ["high", "stale", "fresh", "low"]
    assert [run.position for run in (*found.overrides, *found.automatic)] == [1, 2, 3, 4, 5, 6]
    assert [run.band for run in found.automatic] == [Priority.HIGH, Priority.MEDIUM, Priority.MEDIUM, Priority.LOW]
    assert [run.stale_seconds for run in found.automatic] == [None, 540.0, 60.0, None]
    assert {(run.reason, run.why) for run in found.automatic} == {(Reason.CEILING, "pool db is full (1 of 1)")}
    assert (found.overrides[1].requested_by, found.overrides[1].requested_at) == ("ann", MONDAY)


def test_a_second_request_of_a_routine_has_no_place_among_the_first_ones(make: Make, time: Time) -> None:
    """A routine jumps the queue once."""
    pool = service.create_pool("db", max_concurrent=1)
    routine = make("eager", pool=pool)
    for number in (1, 2):
        asked = MONDAY + number * SECOND
        waiting_run(routine, number, pool=pool, **HELD, requested_at=asked, trigger="manual")
    found = service.queue(pool)
    assert [run.requested_at for run in found.overrides] == [MONDAY + SECOND]
    assert [run.requested_at for run in found.automatic] == [MONDAY + 2 * SECOND]


def test_who_is_on_its_way_takes_nobodys_place_among_the_requests(make: Make, time: Time) -> None:
    """The next request of its routine is the first of those that wait for room: it goes before all others, too."""
    pool = service.create_pool("db", max_concurrent=2)
    routine = make("eager", pool=pool)
    waiting_run(routine, 1, pool=pool, dispatched_at=MONDAY, requested_at=MONDAY, trigger="manual")
    for number in (2, 3):
        waiting_run(routine, number, pool=pool, **HELD, requested_at=MONDAY + number * SECOND, trigger="manual")
    pooled(make, "urgent", 4, pool, priority="HIGH")
    found = service.queue(pool)
    assert [run.requested_at for run in found.overrides] == [MONDAY, MONDAY + 2 * SECOND]
    assert names(found.automatic) == ["urgent", "eager"]
    (goes,) = admit_pools(time.now)
    assert goes.run_id == str(found.overrides[1].run_id)


@pytest.mark.parametrize(
    ("values", "reason", "sentence"),
    [
        ({"reason": "not_yet", "eligible_at": MONDAY + SECOND}, "not_yet", "not to begin before 2026-03-02 10:00:31"),
        ({"reason": "not_yet", "eligible_at": MONDAY + SECOND, "attempt": 2}, "not_yet", "attempt 2 is not to begin"),
        ({"reason": "publish_failed", "error": "no queue 'x'"}, "publish_failed", "could not be sent, and is tried"),
        ({"reason": "publish_failed", "error": "password=hunter2"}, "publish_failed", "sent.*password=[^h]*$"),
        ({"reason": "redis_away"}, "redis_away", "Redis could not be reached"),
        ({"reason": "routine_held"}, "routine_held", "somebody holds the routine's row"),
        ({"reason": "lease_held"}, "lease_held", "another run of its routine, which has just ended, which holds"),
        ({"reason": ""}, "", "a beat looks at it in a moment"),
        ({"reason": "expired"}, "expired", r"it waits \(expired\)"),
        ({"admitted_at": MONDAY}, "", "let through at 2026-03-02 10:00:30 UTC: it is on its way"),
        ({"dispatched_at": MONDAY, "queue": "slow"}, "", "sent to queue slow at 2026-03-02 10:00:30 UTC: no worker"),
        ({"dispatched_at": MONDAY}, "", "sent to the broker at"),
    ],
)
def test_what_belongs_to_no_pool_says_why_it_waits(
    make: Make, time: Time, values: dict[str, Any], reason: str, sentence: str
) -> None:
    """A sentence that a person can do something with; secrets in it are hidden."""
    waiting_run(make(), 1, **{"admitted_at": None} | values)
    found = service.queue()
    (run,) = found.automatic
    assert (run.pool, run.reason, found.waiting) == (None, reason, 1)
    assert re.search(sentence, run.why), run.why


def test_a_status_that_holds_is_said_with_its_end_and_its_reason(make: Make, time: Time) -> None:
    """What somebody asked for by hand is not held by it."""
    waiting_run(make("paused"), 1, admitted_at=None)
    waiting_run(make("asked"), 2, admitted_at=None, requested_at=MONDAY, reason="")
    service.pause_routine("paused", until=MONDAY + timedelta(hours=1), reason="moving house")
    service.pause_routine("asked")
    found = service.queue()
    assert [(run.reason, run.why) for run in found.automatic] == [
        (Reason.PAUSED, "the routine is paused until 2026-03-02 11:00:30 UTC: moving house")
    ]
    assert [run.reason for run in found.overrides] == [Reason.NONE]
    Routine.objects.filter(name="paused").update(status="ARCHIVED", paused_until=None)
    assert "archived" in service.queue().automatic[0].why


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (Reason.OVERLAP, "behind run {}, which runs since 2026-03-02 10:00:30 UTC"),
        (Reason.REPLACING, "takes the place of run {}, which runs since 2026-03-02 10:00:30 UTC, when that has ended"),
        (Reason.OVERDUE, "behind run {}, which runs since 2026-03-02 10:00:30 UTC, whose body cannot be stopped"),
    ],
)
def test_a_run_that_waits_for_another_names_it(make: Make, time: Time, reason: Reason, words: str) -> None:
    """What runs rather than what is on its way, and never itself."""
    routine = make(concurrency_policy="FORBID")
    waiting_run(routine, 2)
    running = running_run(routine, 1)
    held = waiting_run(routine, 3, admitted_at=None, reason=reason)
    assert {run.run_id: run.why for run in service.queue().automatic}[held.pk] == words.format(running.pk)
    RoutineRun.objects.filter(pk=running.pk).update(stop_requested_at=MONDAY)
    assert "and was asked to stop" in {run.run_id: run.why for run in service.queue().automatic}[held.pk]


def test_a_run_that_is_behind_in_line_names_who_goes_first(make: Make, time: Time) -> None:
    """QUEUE: a retry that is due in an hour goes before the slot, and waits itself; nothing has just ended."""
    routine = make(concurrency_policy="QUEUE", every="10m")
    hour = MONDAY + timedelta(hours=1)
    waits = {"admitted_at": None, "publish_after": hour, "attempt": 2}
    retry = waiting_run(routine, 1, trigger="retry", eligible_at=hour, reason="not_yet", **waits)
    slot = waiting_run(routine, 2, reason="overlap", **waits)
    back = waiting_run(routine, 3, reason="lease_held", scheduled_for=MONDAY + timedelta(minutes=10), **waits)
    why = {run.run_id: run.why for run in service.queue().automatic}
    assert why[slot.pk] == f"behind run {retry.pk}, which is before it in line"
    assert why[retry.pk] == "attempt 2 is not to begin before 2026-03-02 11:00:30 UTC"
    assert why[back.pk] == "behind another run of its routine, which has just ended, which holds the routine's lease"
    service.cancel_run(retry)
    why = {run.run_id: run.why for run in service.queue().automatic}
    assert why[slot.pk] == "behind another run of its routine, which has just ended"


def test_every_line_is_told_who_is_in_the_way(make: Make, time: Time) -> None:
    """However many lines there are, and however long the first ones."""
    first, last = (make(name, concurrency_policy="QUEUE", every="10m") for name in ("first", "last"))
    ids = iter(range(2_000))
    for routine, many in ((first, 1_001), (last, 2)):
        RoutineRun.objects.bulk_create(
            RoutineRun(
                routine=routine,
                task=routine.task,
                scheduled_for=MONDAY,
                eligible_at=MONDAY,
                publish_after=MONDAY,
                idempotency_key=f"test:{next(ids)}",
                **{"admitted_at": MONDAY} if at < many - 1 else {"reason": "overlap"},
            )
            for at in range(many)
        )
    behind = {run.name: run.why for run in service.queue(limit=5_000).automatic if run.reason is Reason.OVERLAP}
    assert set(behind) == {"first", "last"}
    assert all("which has not begun" in why for why in behind.values())


def test_who_may_go_comes_before_who_is_held(make: Make, time: Time) -> None:
    """What is on its way, what waits for room, what waits for something else; each by rank."""
    pool = service.create_pool("db", max_concurrent=5)
    pooled(make, "not yet", 1, pool, priority="HIGH", reason="not_yet", eligible_at=MONDAY + SECOND)
    pooled(make, "next", 2, pool)
    pooled(make, "gone", 3, pool, admitted_at=MONDAY, priority="LOW")
    found = service.queue()
    assert names(found.automatic) == ["gone", "next", "not yet"]
    assert "pool db has room (1 of 5)" in found.automatic[1].why


def test_another_pool_is_not_shown_and_an_unknown_one_is_refused(make: Make, time: Time) -> None:
    """Of all pools together everything is."""
    one, other = service.create_pool("one", max_concurrent=1), service.create_pool("other", max_concurrent=1)
    pooled(make, "a", 1, one)
    pooled(make, "b", 2, other)
    waiting_run(make("c"), 3)
    assert names(service.queue(one.pk).automatic) == ["a"]
    assert service.queue(one).waiting == 1
    assert set(names(service.queue().automatic)) == {"a", "b", "c"}
    with pytest.raises(service.NotFound, match="there are: one, other"):
        service.queue("none")
    with pytest.raises(service.InvalidValue, match=r"^limit: "):
        service.queue(limit=0)


def test_what_is_cut_off_is_said(make: Make, time: Time) -> None:
    """The count is of all."""
    routine = make()
    for number in range(3):
        waiting_run(routine, number)
    found = service.queue(limit=2)
    assert (len(found.automatic), found.waiting, found.truncated) == (2, 3, True)
    RoutineRun.objects.update(status=RunStatus.RUNNING, started_at=MONDAY)
    found = service.queue(limit=2)
    assert (len(found.running), found.waiting, found.truncated) == (2, 0, True)


def test_however_much_waits_it_is_six_questions(
    make: Make, time: Time, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    """For many pools and routines as for one."""
    for number in range(12):
        pool = service.create_pool(f"pool {number}", max_concurrent=1)
        routine = make(f"routine {number}", pool=pool, concurrency_policy="FORBID")
        running_run(routine, number, pool=pool)
        waiting_run(routine, 100 + number, pool=pool, admitted_at=None, reason="overlap")
        waiting_run(routine, 200 + number, pool=pool, **HELD, requested_at=MONDAY)
    with django_assert_max_num_queries(6):
        found = service.queue()
    assert (len(found.running), len(found.overrides), len(found.automatic)) == (12, 12, 12)


def test_behind_enough_that_is_on_its_way_nothing_is_ranked(
    make: Make, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was asked for comes first, wherever it stands; a second request of the same routine does not."""
    pool = service.create_pool("pool", max_concurrent=1)
    routine, other = make("routine", pool=pool), make("other", pool=pool)
    asked = waiting_run(other, 1, pool=pool, **HELD, requested_at=MONDAY)
    waiting_run(other, 2, pool=pool, **HELD, requested_at=MONDAY + SECOND)
    due = [MONDAY - timedelta(seconds=before) for before in (3, 2, 1)]  # ids of one millisecond are in no order
    on_its_way = {"pool": pool, "dispatched_at": MONDAY}
    sent = [waiting_run(routine, 10 + n, eligible_at=at, **on_its_way).pk for n, at in enumerate(due)]
    held = waiting_run(make("last", pool=pool), 3, pool=pool, **HELD)
    ranked, rank = [], queue_module._ranked
    monkeypatch.setattr(queue_module, "_ranked", lambda rows, *rest: ranked.append(rows.count()) or rank(rows, *rest))
    for limit, sizes in {2: [5], 3: [5], 4: [6], 5: [6], 6: [6]}.items():
        found = service.queue(limit=limit)
        shown = [run.run_id for run in (*found.overrides, *found.automatic)]
        assert shown[:4] == [asked.pk, *sent][:limit]
        assert ranked == sizes
        ranked.clear()
    assert {run.run_id for run in found.automatic[3:]} > {held.pk}
