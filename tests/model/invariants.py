"""What holds after every step, whoever crashed where; and what holds once everything has come to rest."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.db.models import Count, Q

from routines_app.models import Pool, RoutineRun, RoutineState
from routines_app.verbs.audit import UNCLAIMED, audit
from tests.oracle.chains import check_chains
from tests.oracle.continuity import check_continuity
from tests.oracle.coverage import check_coverage
from tests.oracle.facts import read_histories
from tests.oracle.line import check_line
from tests.oracle.verdict import Verdict

EXCLUSIVE = ["FORBID", "REPLACE", "QUEUE"]
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


def check_step() -> None:
    """The invariants of every step, in a few statements."""
    running = RoutineRun.objects.filter(status="RUNNING", routine__concurrency_policy__in=EXCLUSIVE)
    for row in running.values("routine__name").annotate(together=Count("id")).order_by():
        assert row["together"] == 1, f"{row} runs of an exclusive routine are RUNNING"
    for pool in Pool.objects.all():
        flying = RoutineRun.objects.filter(pool=pool, status__in=["PENDING", "RUNNING"], admitted_at__isnull=False)
        assert flying.count() <= pool.max_concurrent, f"{pool} is over its ceiling"
    verdict = Verdict()
    for history in read_histories():
        accounted = history.state["last_slot"] or history.definition["created_at"]
        check_continuity(history, LONG_AGO, verdict)  # what is due may still be unclaimed
        check_coverage(history, accounted, verdict)
        check_chains(history, verdict)
        check_line(history, verdict)
    assert verdict.balances, verdict.page()


def owed(now: datetime) -> list[str]:
    """What should have happened by now and has not."""
    runs = RoutineRun.objects.filter(status__in=["PENDING", "RUNNING"], eligible_at__lte=now)
    found = [f"{run.routine.name} {run.status} {run.reason} {run.scheduled_for}" for run in runs.select_related()]
    states = RoutineState.objects.filter(Q(next_run_at__lte=now) | Q(next_source="catching-up"))
    return found + [
        f"{state.routine.name} {state.next_source} {state.next_run_at}" for state in states.select_related()
    ]


def is_at_rest(now: datetime) -> bool:
    return not owed(now)


def check_rest(now: datetime, began: datetime) -> None:
    """Nothing waits for anything, and the audit, too, finds that everything balances."""
    assert is_at_rest(now), owed(now)
    found = audit(began - timedelta(days=1), now=now + UNCLAIMED)
    assert found.balances, [str(imbalance) for imbalance in found.imbalances]
