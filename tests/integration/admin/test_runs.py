"""The list of runs."""

from __future__ import annotations

from datetime import timedelta

from django.test import Client
from django.urls import reverse

from routines_app.protocol.ledger import clock
from tests.browser.scenes import ended, make_routine, make_run
from tests.integration.admin.pages import text_of


def test_the_runs_are_searched_by_name_and_id(operator: Client) -> None:
    """Exact, because anything else would read millions of rows."""
    run, other = ended(make_routine("one"), clock.now()), ended(make_routine("two"), clock.now())
    address = reverse("admin:routines_routinerun_changelist")
    for term in ("one", str(run.pk)):
        page = text_of(operator, f"{address}?q={term}")
        assert str(run.pk) in page
        assert str(other.pk) not in page


def test_runs_are_filtered_by_reason_within_the_last_days(operator: Client) -> None:
    """Old ones are left out: no index leads to them."""
    routine, now = make_routine(), clock.now()
    new = make_run(routine, at=now, status="SKIPPED", reason="overlap", completed_at=now)
    old = make_run(routine, at=now - timedelta(days=9), status="SKIPPED", reason="overlap", completed_at=now)
    other = ended(routine, now)
    page = operator.get(reverse("admin:routines_routinerun_changelist"), {"reason": "overlap"}).content.decode()
    assert [str(run.pk) in page for run in (new, old, other)] == [True, False, False]
