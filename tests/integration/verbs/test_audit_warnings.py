"""What a ledger that balances still tells of: each kind of warning, and what is none."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from routines_app import service
from routines_app.management.subcommands import audit as command
from routines_app.models import Node, Pool, RoutineRun
from routines_app.protocol.claim.claim import claim_due
from tests.integration.conftest import Hours

SECOND = timedelta(seconds=1)
MINUTELY = {"every": "1m"}


def warned(hours: Hours, **options: Any) -> list[str]:
    """What the audit warns of, in a ledger that balances."""
    found = service.audit(hours.began - timedelta(days=1), now=hours.now, **options)
    assert found.balances, found.imbalances
    return [f"{each.kind}: {each.what}" for each in found.warnings]


def succeed(hours: Hours, after: float = 1.0, length: float = 1.0) -> None:
    """Everything that has been claimed ran in time."""
    for run in RoutineRun.objects.filter(status="PENDING"):
        ran(run, run.eligible_at + after * SECOND, length)


def ran(run: RoutineRun, began: datetime, length: float = 1.0) -> None:
    RoutineRun.objects.filter(pk=run.pk).update(
        status="SUCCESS", dispatched_at=began, started_at=began, completed_at=began + length * SECOND
    )


def fifth() -> RoutineRun:
    return RoutineRun.objects.order_by("scheduled_for")[4]


@pytest.fixture
def worked(hours: Hours) -> Hours:
    """Ten minutes of an exclusive routine, as they should be."""
    hours.make(concurrency_policy="FORBID", **MINUTELY)
    while RoutineRun.objects.count() < 10:
        hours.pass_by(seconds=10)
        succeed(hours)
    hours.pass_by(seconds=10)
    assert warned(hours) == []
    return hours


def test_a_fire_before_its_slot_is_told(worked: Hours) -> None:
    """A stepped clock balances: each slot has its row. An hour early it is all the same."""
    ran(fifth(), fifth().scheduled_for - 3600 * SECOND)
    assert warned(worked) == ["early: 1 run fired too early, by up to 3600.0 s"]


def test_a_late_start_is_told_from_the_threshold_on(worked: Hours) -> None:
    """Whoever expects more asks for more."""
    ran(fifth(), fifth().scheduled_for + 31 * SECOND)
    assert warned(worked) == []
    assert warned(worked, late="30s") == ["late: 1 run started late, by up to 31.0 s"]


def test_what_waits_for_a_worker_is_told(hours: Hours) -> None:
    """Nobody has started anything."""
    hours.make(**MINUTELY)
    hours.pass_by(minutes=3)
    assert warned(hours) == ["waiting: 1 run not started yet, for up to 120.0 s"]


def test_what_waits_for_a_person_or_for_room_is_not_late(hours: Hours) -> None:
    """A pause holds runs back, and so does a pool; a catch-up is late by nature."""
    Pool.objects.create(name="full", max_concurrent=1)
    hours.make("pooled", pool="full", **MINUTELY)
    hours.make("paused", **MINUTELY)
    hours.make("caught up", catch_up_policy="LAST", misfire_grace_ms=1000, **MINUTELY)
    hours.pass_by(seconds=70)
    service.pause_routine("paused")
    hours.pass_by(minutes=10, beat=False)
    assert [text for text in warned_anyhow(hours) if "waiting" in text and "caught up" not in text] == []

    service.resume_routine("paused")
    claim_due(hours.now)
    for run in RoutineRun.objects.filter(status="PENDING"):
        RoutineRun.objects.filter(pk=run.pk, routine__name="pooled").update(admitted_at=hours.now)
        ran(run, hours.now + SECOND)
    hours.pass_by(seconds=5)
    late = {each.routine for each in audited(hours).warnings if each.kind == "late"}
    assert late == {"caught up"}  # its first slot, which was claimed in time


def test_what_waits_for_its_turn_is_not_late(hours: Hours) -> None:
    """QUEUE: before it was let through it could not have started; after that it can be late."""
    hours.make("in turn", concurrency_policy="QUEUE", **MINUTELY)
    hours.pass_by(minutes=2)
    first, second = RoutineRun.objects.order_by("scheduled_for")
    ran(first, first.scheduled_for + SECOND)
    hours.pass_by(minutes=10, beat=False)
    assert warned_anyhow(hours) == []

    RoutineRun.objects.filter(pk=second.pk).update(admitted_at=hours.now)
    ran(second, hours.now + SECOND)
    assert warned_anyhow(hours) == []
    RoutineRun.objects.filter(pk=second.pk).update(admitted_at=hours.now - timedelta(minutes=5))
    assert [each.kind for each in audited(hours).warnings] == ["late"]


def audited(hours: Hours) -> service.Audit:
    return service.audit(hours.began - timedelta(days=1), now=hours.now)


def warned_anyhow(hours: Hours) -> list[str]:
    return [str(each) for each in audited(hours).warnings]


def test_a_misfire_while_other_routines_were_claimed_is_told(hours: Hours) -> None:
    """Beats lived, and left this one alone."""
    stuck = hours.make("stuck", misfire_grace_ms=30_000, **MINUTELY)
    hours.make("busy", every="10s")
    hours.pass_by(seconds=70)
    held = stuck.state
    held.refresh_from_db()
    type(held).objects.filter(pk=stuck.pk).update(next_run_at=hours.now + timedelta(minutes=5))
    hours.pass_by(minutes=6)
    succeed(hours)
    assert warned(hours) == ["misfire: 4 slots missed while a beat was alive"]


def test_a_misfire_without_any_beat_is_none(hours: Hours) -> None:
    """An outage is what misfires are for; but a beat that is listed as alive all the time was no outage."""
    hours.make(misfire_grace_ms=30_000, **MINUTELY)
    hours.make("another", misfire_grace_ms=30_000, **MINUTELY)
    hours.pass_by(seconds=70)
    hours.pass_by(minutes=6, beat=False)
    hours.pass_by(minutes=1)
    succeed(hours)
    assert warned(hours) == []

    alive = {"role": "beat", "host": "here", "pid": 1}
    Node.objects.create(name="new", started_at=hours.now - 60 * SECOND, seen_at=hours.now, **alive)
    assert warned(hours) == []
    Node.objects.create(name="old", started_at=hours.began, seen_at=hours.now, **alive)
    assert len(warned(hours)) == 2


@pytest.mark.parametrize(("grace_ms", "missed"), [(60_000, 0), (40_000, 0), (20_000, 4), (0, 8)])
def test_what_skip_leaves_out_within_the_grace_is_no_misfire(hours: Hours, grace_ms: int, missed: int) -> None:
    """Forty seconds of nobody's claims, and one row for all but the newest slot: only the older ones were missed."""
    hours.make(every="5s", misfire_grace_ms=grace_ms)
    hours.pass_by(seconds=30, every=5)
    hours.pass_by(seconds=40, beat=False)
    hours.pass_by(seconds=30, every=5)
    succeed(hours)
    (row,) = RoutineRun.objects.filter(status="SKIPPED")
    assert (row.reason, row.occurrences) == ("misfire", 8)
    Node.objects.create(
        name="old", started_at=hours.began, seen_at=hours.now + 60 * SECOND, role="beat", host="here", pid=1
    )
    assert warned(hours) == ([f"misfire: {missed} slots missed while a beat was alive"] if missed else [])


def test_bodies_of_an_exclusive_routine_that_overlap_are_told(worked: Hours) -> None:
    """By their own times, whatever the statuses say; one that still runs counts until now."""
    first = RoutineRun.objects.order_by("scheduled_for")[3]
    ran(first, first.scheduled_for, 75)
    assert warned(worked) == ["overlap: 1 run began beside another one of an exclusive routine, for up to 14.0 s"]
    RoutineRun.objects.filter(pk=first.pk).update(status="RUNNING", completed_at=None)
    assert warned(worked)[0].startswith("overlap: 6 runs began beside")

    service.update_routine("report", concurrency_policy="ALLOW")
    assert warned(worked) == []
    worked.now += SECOND
    service.update_routine("report", concurrency_policy="FORBID")
    assert warned(worked) == []  # they were allowed to


def test_warnings_have_a_section_and_an_exit_code_of_their_own(worked: Hours) -> None:
    """A ledger that balances exits with 0, and with --strict with 2."""
    ran(fifth(), fifth().scheduled_for - 3600 * SECOND)
    out, as_json = StringIO(), StringIO()
    call_command("routines", "audit", "--since", "2h", stdout=out)
    call_command("routines", "audit", "--since", "2h", "--json", stdout=as_json)
    with pytest.raises(SystemExit) as strictly:
        call_command("routines", "audit", "--since", "2h", "--strict", stdout=StringIO())

    first, _, title, *table = out.getvalue().splitlines()
    assert first.startswith("The ledger balances: 10 slots of 1 routines")
    assert title == "Warnings: 1, each with its first slot"
    assert "1 run fired too early, by up to 3600.0 s" in table[1]
    assert [row["kind"] for row in json.loads(as_json.getvalue())] == ["early"]
    assert strictly.value.code == 2


def test_a_long_audit_tells_how_far_it_is(
    worked: Hours, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On stderr: what is printed as JSON stays JSON."""
    monkeypatch.setattr(command, "TELL_SECONDS", 0.0)
    call_command("routines", "audit", "--json", stdout=StringIO())
    assert capsys.readouterr().err == "1 of 1 routines …\n"


def test_rows_are_read_once_and_one_routine_at_a_time(worked: Hours, django_assert_max_num_queries: Any) -> None:
    """However many rows and routines of a batch there are."""
    for number in range(20):
        worked.make(f"more {number}", **MINUTELY)
    worked.pass_by(minutes=2)
    with django_assert_max_num_queries(5):
        service.audit("2h", now=worked.now)
