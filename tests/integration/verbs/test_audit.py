"""The audit: content with a ledger that balances, whatever happened, and not with one that somebody broke."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command

from routines_app import service
from routines_app.models import Routine, RoutineRun, RoutineState
from tests.integration.conftest import Hours


def test_a_ledger_with_every_kind_of_history_balances(hours: Hours) -> None:
    """Misses, edits, pauses, hints and the archive leave nothing unaccounted for."""
    hours.make("cron", cron="* * * * *")
    hours.make("interval", every="90s", catch_up_policy="LAST")
    hours.make("clamped", cron="*/2 * * * *", min_interval_ms=300_000)
    hours.make("edited", cron="*/3 * * * *")
    hours.make("hinted", cron="*/5 * * * *")
    hours.make("paused", cron="* * * * *")
    hours.make("archived", cron="* * * * *")
    hours.pass_by(minutes=10)
    service.update_routine("edited", every="7m")
    service.propose_interval("hinted", "2m", ttl="20m")
    service.pause_routine("paused")
    hours.pass_by(minutes=15, beat=False)
    service.archive_routine("archived")
    service.propose_next_time("interval", hours.now + timedelta(minutes=1), ttl="1h")
    hours.pass_by(minutes=15)
    service.resume_routine("paused")
    service.update_routine("edited", cron="*/4 * * * *")
    hours.pass_by(minutes=10)

    assert hours.found() == []


@pytest.mark.parametrize("schedule", [{"cron": "* * * * *"}, {"every": "1m"}])
def test_a_row_that_is_gone_is_missed(hours: Hours, schedule: dict[str, str]) -> None:
    """By recomputing the cron, and by the row before that planned it."""
    hours.make(**schedule)
    hours.pass_by(minutes=10)
    RoutineRun.objects.order_by("scheduled_for")[4].delete()

    (found,) = hours.found()
    assert found in ("should have fired and has no row", "was planned and has no row")


@pytest.mark.parametrize("schedule", [{"cron": "* * * * *"}, {"every": "1m"}])
def test_a_row_that_nobody_planned_is_found(hours: Hours, schedule: dict[str, str]) -> None:
    """A slot between two slots."""
    hours.make(**schedule)
    hours.pass_by(minutes=10)
    run = RoutineRun.objects.order_by("scheduled_for")[4]
    run.pk, run.idempotency_key = RoutineRun().pk, "s:0:0:1"
    run.scheduled_for += timedelta(seconds=17)
    run.save(force_insert=True)

    (found,) = hours.found()
    assert found.startswith("has a row (PENDING) and ")


def test_a_span_that_counts_wrong_is_found(hours: Hours) -> None:
    """One row for many slots says how many."""
    hours.make(cron="* * * * *")
    hours.pass_by(minutes=30, beat=False)
    hours.pass_by(minutes=5)
    RoutineRun.objects.filter(status="SKIPPED").update(occurrences=12)

    (found,) = hours.found()
    assert found.startswith("begins a row for 12 slots, and there are")


def test_a_slot_in_two_rows_is_found(hours: Hours) -> None:
    """A span that reaches over slots which have rows of their own."""
    hours.make(cron="* * * * *")
    hours.pass_by(minutes=30, beat=False)
    hours.pass_by(minutes=5)
    span = RoutineRun.objects.get(status="SKIPPED")
    span.scheduled_until += timedelta(minutes=1)
    span.occurrences += 1
    span.save()

    assert hours.found() == ["is accounted for in a row of its own and in a span"]


def test_without_a_beat_what_is_due_is_found(hours: Hours) -> None:
    """Nobody has claimed the slots of the last minutes."""
    hours.make("cron", cron="* * * * *")
    hours.make("interval", every="1m")
    hours.pass_by(minutes=5, beat=False)

    found = hours.found()
    assert "is due and no beat has claimed it" in found
    assert len(found) >= 4


def test_a_paused_routine_owes_nothing_yet(hours: Hours) -> None:
    """Its slots are accounted for when the pause ends."""
    hours.make(cron="* * * * *")
    hours.pass_by(minutes=5)
    service.pause_routine("report")
    hours.pass_by(minutes=10)

    assert hours.found() == []


def test_an_edit_by_sql_is_followed_from_where_a_beat_noticed_it(hours: Hours) -> None:
    """Nobody knows what held before; from then on the new cron is what counts."""
    hours.make(cron="* * * * *")
    hours.pass_by(minutes=5)
    Routine.objects.update(cron="*/2 * * * *")
    hours.pass_by(minutes=10)

    assert hours.found() == []
    RoutineRun.objects.order_by("-scheduled_for")[1].delete()
    assert len(hours.found()) == 1


def test_a_cron_that_cannot_be_computed_is_a_finding(hours: Hours) -> None:
    """The audit goes on with the others."""
    hours.make("broken", cron="* * * * *")
    hours.make("sound", every="1m")
    hours.pass_by(minutes=5)
    Routine.objects.filter(name="broken").update(cron="so so")

    (found,) = hours.found()
    assert "cannot be computed" in found


def test_the_command_says_that_the_ledger_balances(hours: Hours) -> None:
    """One line, exit code 0."""
    hours.make(cron="* * * * *")
    hours.pass_by(minutes=5)
    out = StringIO()

    call_command("routines", "audit", "--since", "2h", "--late", "1h", stdout=out)

    (line,) = out.getvalue().splitlines()
    assert line.startswith("The ledger balances: 5 slots of 1 routines since ")


def test_the_command_lists_what_does_not_balance_and_exits_with_one(hours: Hours) -> None:
    """As a table, and as JSON for programs."""
    hours.make(cron="* * * * *")
    hours.pass_by(minutes=5)
    RoutineRun.objects.order_by("scheduled_for")[2].delete()
    out, as_json = StringIO(), StringIO()

    with pytest.raises(SystemExit) as exit_code:
        call_command("routines", "audit", "--late", "1h", stdout=out)
    with pytest.raises(SystemExit):
        call_command("routines", "audit", "--late", "1h", "--json", stdout=as_json)

    assert exit_code.value.code == 1
    assert "should have fired and has no row" in out.getvalue()
    assert out.getvalue().splitlines()[-1] == "The ledger does not balance: 1 findings in 1 routines."
    assert [row["routine"] for row in json.loads(as_json.getvalue())] == ["report"]


def test_a_slot_that_a_claim_has_moved_past_without_a_row_is_found(hours: Hours) -> None:
    """The state says that everything up to its last slot is accounted for; the ledger does not."""
    hours.make(every="1m")
    hours.pass_by(minutes=5)
    state = RoutineState.objects.get()
    assert state.next_slot is not None
    RoutineState.objects.update(
        next_slot=state.next_slot + timedelta(minutes=3), next_run_at=state.next_slot + timedelta(minutes=3)
    )
    hours.pass_by(minutes=8)

    assert "was planned and has no row" in hours.found()
