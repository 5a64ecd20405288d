"""QUEUE under ends, claims and looks that meet at the same moment: never two slots wait, and never does nobody go."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from routines_app import service
from routines_app.core.admission import LOOK_AGAIN
from routines_app.models import RoutineRun, RoutineState
from routines_app.protocol.upkeep.reconcile import release_forgotten
from tests.integration.conftest import Hours
from tests.integration.protocol.lines import EVERY, Line
from tests.integration.races.test_verbs import at_once

pytestmark = pytest.mark.usefixtures("ledger")

ROUNDS = 6


def end(line: Line, run: RoutineRun) -> Callable[[], object]:
    return lambda: line.end(run)


def cancel(line: Line, run: RoutineRun) -> Callable[[], object]:
    return lambda: service.cancel_run(run.pk)


def ask(line: Line, key: str) -> Callable[[], object]:
    return lambda: service.run_now(line.routine.pk, args=[key], idempotency_key=key)


def in_flight(line: Line) -> list[RoutineRun]:
    active = RoutineRun.objects.filter(status__in=["PENDING", "RUNNING"])
    return list(active.exclude(status="PENDING", admitted_at=None))


def settled(line: Line) -> RoutineRun:
    """The one that is on its way, after a beat has looked as often as it would in two seconds."""
    for _ in range(3):
        line.look()
        assert len(line.waiting_slots()) <= 1
        line.hours.now += LOOK_AGAIN
        release_forgotten(line.hours.now)
    (goes,) = in_flight(line)
    return goes


@pytest.mark.parametrize("started", [True, False], ids=["running", "on its way"])
@pytest.mark.parametrize("waits", [True, False], ids=["one waits", "nobody waits"])
def test_an_end_meets_a_claim_and_a_look(hours: Hours, waits: bool, started: bool) -> None:
    """Whichever comes first: at most one slot waits afterwards, exactly one goes, and the ledger balances."""
    line = Line(hours)
    goes = line.slot()
    for _ in range(ROUNDS):
        if started:
            line.start(goes)
        if waits and not line.waiting_slots():
            line.slot()
        hours.now += EVERY
        RoutineState.objects.update(next_run_at=hours.now)
        ending = end(line, goes) if started else cancel(line, goes)
        outcomes = at_once(ending, line.claim, line.look, line.claim)
        assert not [outcome for outcome in outcomes if isinstance(outcome, type)], outcomes
        line.claim()  # what somebody held at that moment
        assert len(line.waiting_slots()) <= 1
        goes = settled(line)
    assert hours.found() == []


def test_requests_an_end_and_a_claim_at_once(hours: Hours) -> None:
    """Each request has its turn, one after another, and one slot after them."""
    line = Line(hours)
    run = line.running()
    hours.now += EVERY
    outcomes = at_once(end(line, run), line.claim, ask(line, "a"), ask(line, "b"))
    assert not [outcome for outcome in outcomes if isinstance(outcome, type)], outcomes
    line.claim()
    done = {run.pk}
    while RoutineRun.objects.filter(status="PENDING").exists():
        goes = settled(line)
        done.add(goes.pk)
        line.end(line.start(goes))
    assert RoutineRun.objects.filter(status="SUCCESS", trigger="manual").count() == 2
    assert RoutineRun.objects.filter(status="SUCCESS").count() == len(done) == 4
