"""The path of the interval on the page of a routine."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.test import Client

from routines_app.admin import pace_facts
from routines_app.admin.charts import Step
from routines_app.models import Routine, ScheduleChange
from routines_app.protocol.ledger import clock
from tests.browser.scenes import ended, make_routine, make_run
from tests.integration.admin.pages import overview_url, text_of

MINUTE = timedelta(minutes=1)


def steps_of(routine: Routine) -> list[Step]:
    changes = list(ScheduleChange.objects.filter(routine_id=routine.pk))
    return list(pace_facts._steps(pace_facts._slots(routine), pace_facts._intervals(routine, changes)))


def change(routine: Routine, minutes_ago: float, kind: str = "updated", **fields: Any) -> ScheduleChange:
    at = clock.now() - minutes_ago * MINUTE
    return ScheduleChange.objects.create(routine=routine, routine_name=routine.name, kind=kind, at=at, **fields)


def slot(routine: Routine, minutes_ago: float, source: str = "baseline-interval", **fields: Any) -> None:
    ended(routine, clock.now() - minutes_ago * MINUTE, source=source, **fields)


def test_each_distance_is_told_by_what_chose_its_slot() -> None:
    """Hints, clamps and back-off are told apart from the schedule itself; retries and requests are no slots."""
    routine = make_routine(interval_ms=600_000)
    for minutes, source in ((90, "baseline-interval"), (80, "baseline-interval"), (75, "hint-interval")):
        slot(routine, minutes, source)
    slot(routine, 60, "clamped-min")
    slot(routine, 20)
    slot(routine, 10, "", trigger="manual")
    slot(routine, 9, trigger="retry", attempt=2)
    found = [(step.kind, round(step.seconds / 60)) for step in steps_of(routine)]
    assert found == [("baseline", 10), ("hint", 5), ("clamped", 15), ("back-off", 40)]


def test_back_off_is_judged_by_the_interval_of_its_time() -> None:
    """An edit that doubled the interval is no failure."""
    routine = make_routine(interval_ms=1_200_000)
    change(routine, 35, before={"interval_ms": 600_000}, after={"interval_ms": 1_200_000})
    for minutes in (70, 50, 40, 20, 0):
        slot(routine, minutes)
    assert [step.kind for step in steps_of(routine)] == ["back-off", "baseline", "baseline", "baseline"]


def test_a_row_of_many_slots_tells_how_far_apart_they_were() -> None:
    """A night without beats is one row and still has its pace."""
    routine, now = make_routine(interval_ms=60_000), clock.now()
    make_run(
        routine,
        at=now - 60 * MINUTE,
        status="SKIPPED",
        reason="misfire",
        completed_at=now,
        scheduled_until=now - 2 * MINUTE,
        occurrences=59,
        source="baseline-interval",
    )
    slot(routine, 1)
    assert [(step.kind, round(step.seconds)) for step in steps_of(routine)] == [("baseline", 60), ("baseline", 60)]


def test_the_page_flags_who_changed_the_schedule_and_why(operator: Client) -> None:
    """Anybody's text is escaped, cut and masked."""
    routine = make_routine(interval_ms=600_000)
    for minutes in (30, 20, 10):
        slot(routine, minutes)
    change(routine, 15, "hinted", actor="<b>ada</b>", reason="password=hunter2")
    change(routine, 14, "hints_cleared", reason="calm " * 80)
    page = operator.get(overview_url(routine)).content.decode()
    flag = page[page.index("rt-pace") : page.index("</svg>", page.index('class="rt-pace"'))]
    assert "Hinted · by &lt;b&gt;ada&lt;/b&gt; · password=••••••" in flag
    assert "hunter2" not in flag
    assert ("calm " * 20 in flag, "calm " * 25 in flag, "…" in flag) == (True, False, True)


def test_a_routine_with_two_slots_has_no_path_yet(operator: Client) -> None:
    """Nothing is drawn, and no empty card is there."""
    routine = make_routine(interval_ms=600_000)
    slot(routine, 30)
    slot(routine, 20)
    assert "Interval over time" not in text_of(operator, overview_url(routine))
    slot(routine, 10)
    assert "Interval over time" in text_of(operator, overview_url(routine))
