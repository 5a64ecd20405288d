"""Verbs that meet a row which somebody else holds, in a web request: they say so, soon, and write nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import transaction

from routines_app import service
from routines_app.core.words import RunStatus
from routines_app.models import Pool, Routine, RoutineRun
from routines_app.verbs import clear_overrides, held_rows
from tests.integration.holding import held, needs_row_locks, row_locked
from tests.integration.protocol.conformance.rows import MOMENT, make_routine, make_run

pytestmark = [pytest.mark.django_db(transaction=True), needs_row_locks, pytest.mark.timeout(30)]

VERBS: dict[str, Callable[[Routine], object]] = {
    "run now": service.run_now,
    "pause": service.pause_routine,
    "update": lambda routine: service.update_routine(routine, description="edited"),
    "archive": service.archive_routine,
    "hint": lambda routine: service.propose_interval(routine, "10m", ttl="1h"),
}


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_rows, "LOCK_MS", 100)


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_says_that_its_routine_is_held(verb: str) -> None:
    routine = make_routine()
    says = f"routine: '{routine.name}' is not accepted: somebody else"
    with (
        held("routinestate", "routine_id", [routine.pk]),
        service.impatiently(),
        pytest.raises(service.Held, match=says),
    ):
        VERBS[verb](routine)
    routine.refresh_from_db()
    assert (routine.status, routine.description, routine.version) == ("ACTIVE", "", 1)
    assert not RoutineRun.objects.exists()


def test_cancelling_says_that_the_run_is_held() -> None:
    run = make_run(make_routine())
    with row_locked(run.id), service.impatiently(), pytest.raises(service.Held, match="run: "):
        service.cancel_run(run)
    run.refresh_from_db()
    assert run.status == RunStatus.PENDING


def test_a_pool_says_that_it_is_held() -> None:
    pool = Pool.objects.create(name="narrow", max_concurrent=1)
    with held("pool", "id", [pool.pk]), service.impatiently(), pytest.raises(service.Held, match="pool: 'narrow'"):
        service.update_pool(pool.pk, max_concurrent=2)
    pool.refresh_from_db()
    assert pool.max_concurrent == 1


def test_a_callers_transaction_goes_on() -> None:
    """What it has written before, and what it writes then, is kept."""
    routine, other = make_routine(), make_routine()
    with held("routinestate", "routine_id", [routine.pk]), transaction.atomic(), service.impatiently():
        with pytest.raises(service.Held):
            service.pause_routine(routine)
        service.pause_routine(other)
    other.refresh_from_db()
    assert other.status == "PAUSED"


@pytest.mark.parametrize("kind", ["routinestate", "routinerun"])
def test_clearing_overrides_leaves_what_is_held_and_goes_on(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """In whichever batch it is. With a held state it alone is left; with a held run its batch, and on MariaDB perhaps
    others, because whoever looks for rows there waits at those beside them."""
    monkeypatch.setattr(clear_overrides, "CANCELLED_AT_ONCE", 2)
    waits = {"trigger": "manual", "requested_at": MOMENT, "admitted_at": None}
    runs = [make_run(make_routine(), **waits) for _ in range(6)]
    holding = held(kind, "routine_id", [runs[3].routine_id]) if kind == "routinestate" else row_locked(runs[3].pk)
    with holding, service.impatiently():
        cleared = service.clear_overrides()
    assert cleared in ([5] if kind == "routinestate" else [2, 4])
    runs[3].refresh_from_db()
    assert runs[3].status == RunStatus.PENDING
    assert service.clear_overrides() == 6 - cleared
