"""Pruning by hand: what it has taken away, the audit does not miss."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from routines_app import service
from routines_app.models import RoutineRun, ScheduleChange
from routines_app.protocol.upkeep.prune import Sweep
from routines_app.verbs.audit import audit
from routines_app.verbs.prune_runs import pruned_before
from tests.integration.conftest import Hours
from tests.integration.verbs.rows import made_at

MINUTE = 1 / 1440  # in days


@pytest.fixture
def worked(hours: Hours, settings: Any) -> Hours:
    """An hour of runs that have all ended; they are deleted a few at a time."""
    settings.ROUTINES = settings.ROUTINES | {"PRUNE_BATCH": 4}
    hours.make(cron="* * * * *")
    hours.pass_by(minutes=60)
    RoutineRun.objects.update(status="SUCCESS", started_at=hours.now, completed_at=hours.now)
    for run in RoutineRun.objects.all():
        RoutineRun.objects.filter(pk=run.pk).update(id=made_at(run.scheduled_for))
    return hours


@pytest.mark.parametrize(("dies_after", "gone"), [(1, 0), (2, 8)])
def test_a_pruning_that_dies_on_its_way_leaves_nothing_that_is_missed(
    worked: Hours, monkeypatch: pytest.MonkeyPatch, dies_after: int, gone: int
) -> None:
    """The history says it with the first batch: what would come after that one's commit could come never."""
    before, batches, once = RoutineRun.objects.count(), [], Sweep.once

    def dying(sweep: Sweep, *arguments: Any) -> int | None:
        batches.append(once(sweep, *arguments))
        if len(batches) == dies_after:
            raise KeyboardInterrupt
        return batches[-1]

    monkeypatch.setattr(Sweep, "once", dying)
    with pytest.raises(KeyboardInterrupt):
        service.prune_runs(14 * MINUTE)
    assert batches == [4] * dies_after
    assert RoutineRun.objects.count() == before - gone
    found = audit(timedelta(days=1), now=worked.now)
    assert (found.imbalances, found.pruned) == ([], gone > 0)


def test_the_pruning_that_took_most_away_counts(worked: Hours, django_assert_num_queries: Any) -> None:
    """Whenever it was; one that took nothing away is not in the history."""
    for minutes in (40, 14, 14, 30):
        service.prune_runs(minutes * MINUTE)
    assert ScheduleChange.objects.filter(routine=None).count() == 2
    with django_assert_num_queries(1) as asked:
        assert pruned_before(worked.now) == worked.now - timedelta(minutes=14)
    assert "MAX(" in asked.captured_queries[0]["sql"]  # the database's work: not one row for each pruning ever


def test_nothing_is_taken_away_when_everything_is_kept(worked: Hours) -> None:
    """0 days are no limit, as the setting says; and nobody is told otherwise."""
    before = RoutineRun.objects.count()
    assert service.prune_runs(0) == 0
    assert RoutineRun.objects.count() == before
    assert not audit(timedelta(days=1), now=worked.now).pruned
