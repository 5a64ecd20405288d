"""Archiving."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from routines_app import service
from routines_app.core.words import Reason, RoutineStatus, RunStatus, Source
from routines_app.models import Routine, RoutineRun, RoutineState
from tests.integration.conftest import MONDAY, Time
from tests.integration.verbs.rows import running_run, waiting_run

Make = Callable[..., Routine]


def test_archiving_cancels_what_waits_and_lets_what_runs_finish(make: Make) -> None:
    """Nothing is planned any more."""
    routine = make(every="1h")
    waiting, running = waiting_run(routine, 1), running_run(routine, 2)
    service.archive_routine(routine, actor="ann", reason="obsolete")
    waiting.refresh_from_db()
    running.refresh_from_db()
    assert (waiting.status, waiting.reason) == (RunStatus.CANCELLED, Reason.ARCHIVED)
    assert (running.status, running.stop_requested_at) == (RunStatus.RUNNING, None)
    state = RoutineState.objects.get()
    assert (state.next_slot, state.next_run_at, state.next_source) == (None, None, Source.ARCHIVED)
    assert routine.status == RoutineStatus.ARCHIVED


def test_archiving_accounts_for_slots_that_were_due(make: Make, time: Time) -> None:
    """The ledger balances up to the end."""
    routine = make(every="1h")
    time.pass_by(hours=2)
    service.archive_routine(routine)
    run = RoutineRun.objects.get()
    assert (run.status, run.reason, run.occurrences) == (RunStatus.SKIPPED, Reason.ARCHIVED, 2)


def test_archiving_a_paused_routine_ends_the_pause_too(make: Make, time: Time) -> None:
    """Its slots are skipped as paused, and no end of the pause is left behind."""
    routine = make(every="1h")
    service.pause_routine(routine, until=MONDAY + timedelta(days=1))
    time.pass_by(hours=3)
    service.archive_routine(routine)
    run = RoutineRun.objects.get()
    assert (run.reason, run.occurrences, routine.paused_until) == (Reason.PAUSED, 3, None)


def test_archiving_after_ten_years_of_seconds_counts_them_at_once(make: Make, time: Time) -> None:
    """Paused for so long, or with no beat at all: one row stands for all of them, and the lock is held for no time."""
    paused, unfired = make("paused", cron="* * * * * *"), make("unfired", cron="* * * * * *")
    service.pause_routine(paused)
    time.pass_by(days=3_650)
    for routine, reason in ((paused, Reason.PAUSED), (unfired, Reason.ARCHIVED)):
        service.archive_routine(routine)
        run = RoutineRun.objects.get(routine=routine)
        assert (run.status, run.reason, run.occurrences) == (RunStatus.SKIPPED, reason, 3_650 * 86_400)
        assert (run.scheduled_until, run.next_planned_for) == (time.now, time.now + timedelta(seconds=1))
