"""What a new kind of trigger must bring along."""

from __future__ import annotations

from routines_app.core.holding import HELD_AS, HELD_SINCE
from routines_app.core.words import BASELINE, BASELINES, Source, TriggerKind


def test_each_kind_says_where_its_plans_come_from():
    """A kind that is missing here is named."""
    assert set(TriggerKind) - set(BASELINE) == set()
    assert {Source.BASELINE_CRON, Source.BASELINE_INTERVAL, Source.BASELINE_ONCE} == BASELINES


def test_a_status_that_holds_runs_back_is_known_by_the_source_of_its_plan_too():
    assert sorted(HELD_SINCE) == [Source.PARKED, Source.PAUSED]
    assert sorted(HELD_SINCE.values()) == sorted(HELD_AS.values())
