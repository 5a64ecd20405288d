"""Shadow and switch-over with the real packages and real beats: theirs and ours side by side, on one broker."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.conf import settings

from routines_app import service
from routines_app.models import OldFire, Routine, RoutineRun
from routines_app.protocol.ledger import clock
from routines_app.verbs.shadow import report
from tests.acceptance.conftest import StackFactory
from tests.acceptance.stack import Stack

NOTE = "tests.acceptance.tasks.note"
SECONDS = {"every second": 1, "every two": 2, "another": 2}
A_MOMENT = timedelta(seconds=0.5)

ADD_TO_DJANGO_CELERY_BEAT = """
from django_celery_beat.models import IntervalSchedule, PeriodicTask
for name, seconds in {entries}.items():
    every, _ = IntervalSchedule.objects.get_or_create(every=seconds, period="seconds")
    PeriodicTask.objects.create(name=name, task={task!r}, interval=every, args='["' + name + '"]')
"""
ADD_TO_REDBEAT = """
from celery.schedules import schedule
from redbeat import RedBeatSchedulerEntry
from tests.acceptance.app import app
for name, seconds in {entries}.items():
    RedBeatSchedulerEntry(name, {task!r}, schedule(run_every=seconds, app=app), args=[name], app=app).save()
"""


class SideBySide:
    """A worker, an old beat with its entries, and ours with routines in shadow."""

    def __init__(self, stack: Stack, scheduler: str, plug_in: str, add: str) -> None:
        self.stack = stack
        self.run("migrate", "--verbosity=0")
        self.run("shell", "-c", add.format(entries=SECONDS, task=NOTE))
        stack.worker(concurrency=1)
        self.old = stack.celery("beat", ["-S", plug_in], {})
        self.old.wait_for_log("Sending due task")
        stack.beat()
        self.run("routines", "import-beat", "--source", scheduler, "--shadow")
        self.wait_for_fires(1)

    def run(self, *arguments: str) -> str:
        done = self.stack.manage(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def fires(self, name: str) -> list[datetime]:
        """Of the old beat."""
        return list(OldFire.objects.filter(key=name).order_by("fired_at").values_list("fired_at", flat=True))

    def sent(self, name: str) -> int:
        """How often the old beat says that it has sent it, also before it was moved."""
        return self.old.log().count(f"Sending due task {name} (")

    def slots(self, name: str) -> list[datetime]:
        """That we have fired."""
        runs = RoutineRun.objects.filter(routine__name=name).exclude(status="SKIPPED")
        return list(runs.order_by("scheduled_for").values_list("scheduled_for", flat=True))

    def wait_for_fires(self, more: int) -> None:
        """Of each entry, by the old beat."""
        wanted = {name: len(self.fires(name)) + more for name in SECONDS}
        self.stack.wait_until(
            lambda: all(len(self.fires(name)) >= count for name, count in wanted.items()), 60, "the old beat is silent"
        )

    def wait_for_runs(self, more: int) -> None:
        wanted = {name: len(self.slots(name)) + more for name in SECONDS}
        self.stack.wait_until(
            lambda: all(len(self.slots(name)) >= count for name, count in wanted.items()), 60, "ours fire nothing"
        )

    def wait_for_bodies(self) -> dict[str, tuple[int, int]]:
        """How often each body ran, by the old beat and by us, when all that was sent has run."""

        def all_ran() -> bool:
            return not RoutineRun.objects.filter(status__in=["PENDING", "RUNNING"]).exists()

        self.stack.wait_until(all_ran, 30, "not all that was sent has run")
        lines = [line for line in self.stack.body_lines() if line["event"] == "start"]
        return {
            name: (
                sum(line["args"] == [name] and line["run"] is None for line in lines),
                sum(line["args"] == [name] and line["run"] is not None for line in lines),
            )
            for name in SECONDS
        }


OLD = {
    "django-celery-beat": ("django", ADD_TO_DJANGO_CELERY_BEAT),
    "celery-redbeat": ("redbeat.RedBeatScheduler", ADD_TO_REDBEAT),
}


def beside(always: str, now_and_then: str) -> pytest.MarkDecorator:
    """Each takes a minute and a half: a scheduler is always beside one of the tests, and now and then both are."""
    schedulers = [always, pytest.param(now_and_then, marks=pytest.mark.everything)]
    return pytest.mark.parametrize("both", schedulers, indirect=True)


@pytest.fixture
def both(request: pytest.FixtureRequest, make_stack: StackFactory) -> SideBySide:
    stack = make_stack()
    # In its processes only: this one would keep the package's pages in its admin for ever.
    stack.settings["INSTALLED_APPS"] = [*settings.INSTALLED_APPS, "django_celery_beat"]
    return SideBySide(stack, request.param, *OLD[request.param])


def gaps(moments: Sequence[datetime]) -> list[timedelta]:
    return [later - earlier for earlier, later in pairwise(moments)]


@beside("django-celery-beat", "celery-redbeat")
def test_both_side_by_side_and_then_ours(both: SideBySide, monkeypatch: pytest.MonkeyPatch) -> None:
    """In shadow the report is clean and no body is ours. Switched over while both beats run, each slot is fired once:
    between the last fire of the old beat and our first slot there is one interval, and no body runs twice."""
    monkeypatch.setattr(report, "UNDER_WAY", timedelta(seconds=2))
    began = clock.now()
    both.wait_for_fires(12)
    found = service.shadow_report(began)
    assert not found.differs, found
    assert {each.routine for each in found.routines if each.both >= 3} == set(SECONDS)
    assert all(both.slots(name) == [] for name in SECONDS)

    told = json.loads(both.run("routines", "switch-over", "--json"))
    assert (sorted(told["switched"]), told["refused"]) == (sorted(SECONDS), {})
    both.wait_for_runs(6)
    for name in SECONDS:
        service.pause_routine(name)

    bodies = both.wait_for_bodies()
    for name, seconds in SECONDS.items():
        fires, slots, every = both.fires(name), both.slots(name), timedelta(seconds=seconds)
        assert all(every - A_MOMENT < gap < every + every for gap in gaps(fires)), (name, fires)
        first, *others = gaps([fires[-1], *slots])
        assert abs(first - every) < timedelta(milliseconds=20), (name, fires[-1], slots)  # redbeat stamps it once more
        assert others == [every] * (len(slots) - 1), (name, slots)
        assert bodies[name] == (both.sent(name), len(slots))
    assert service.audit(began - timedelta(minutes=5), now=clock.now() + timedelta(minutes=2)).imbalances == []


@beside("celery-redbeat", "django-celery-beat")
def test_back_to_the_old_beat(both: SideBySide) -> None:
    """Ours stop, and the old beat goes on an interval later at the earliest: no slot is fired twice."""
    both.run("routines", "switch-over")
    both.wait_for_runs(2)

    both.run("routines", "switch-over", "--back")
    before = {name: len(both.fires(name)) for name in SECONDS}
    both.wait_for_fires(2)

    bodies: dict[str, Any] = both.wait_for_bodies()
    for name, seconds in SECONDS.items():
        slots, fires = both.slots(name), both.fires(name)
        assert fires[before[name]] - slots[-1] >= timedelta(seconds=seconds) - A_MOMENT
        assert bodies[name][1] == len(slots)
    assert not Routine.objects.filter(shadow=False).exists()
