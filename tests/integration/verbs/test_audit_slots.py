"""The audit of a cron that has more slots than are counted."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command

from routines_app import service
from routines_app.models import RoutineRun
from routines_app.verbs import audit_slots
from tests.integration.conftest import Hours


def audited(hours: Hours) -> service.Audit:
    return service.audit(hours.began - timedelta(days=1), now=hours.now)


def test_more_slots_than_are_counted_are_left_out_and_said(hours: Hours, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was not enumerated is neither missed nor called no slot; what was is judged as ever."""
    hours.make("fast", cron="*/10 * * * * *", misfire_grace_ms=60_000)
    hours.make("slow", cron="* * * * *")
    hours.pass_by(minutes=5)
    hours.pass_by(minutes=5, beat=False)  # one row stands for many, on both sides of where the counting ends
    hours.pass_by(minutes=5)
    fast = RoutineRun.objects.filter(routine__name="fast").order_by("scheduled_for")
    monkeypatch.setattr(audit_slots, "MOST_SLOTS", 40)
    found = audited(hours)
    assert found.imbalances == []
    (unjudged,) = found.unjudged
    assert (unjudged.routine, unjudged.until) == ("fast", found.until)
    assert unjudged.after == fast[0].scheduled_for + timedelta(seconds=39 * 10)

    fast[3].delete()
    assert [each.slot for each in audited(hours).imbalances] == [fast[2].scheduled_for + timedelta(seconds=10)]


def test_the_command_says_what_was_not_compared(hours: Hours, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger that balances as far as it was looked at."""
    hours.make("fast", cron="*/10 * * * * *")
    hours.pass_by(minutes=5)
    monkeypatch.setattr(audit_slots, "MOST_SLOTS", 6)
    out, as_json = StringIO(), StringIO()
    call_command("routines", "audit", stdout=out)
    call_command("routines", "audit", "--json", stdout=as_json)
    after = RoutineRun.objects.order_by("scheduled_for")[5].scheduled_for
    assert f"fast: too many slots; those after {after:%Y-%m-%d %H:%M:%S}+00:00, until " in out.getvalue()
    assert [row["kind"] for row in json.loads(as_json.getvalue()) if row["kind"] != "waiting"] == ["unjudged"]
