"""The report of a shadow: what both did, slot by slot."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from routines_app import service
from routines_app.core.errors import InvalidValue, NotAllowed
from routines_app.models import RoutineRun
from routines_app.verbs.shadow import report
from tests.integration.conftest import Hours
from tests.integration.verbs.shadow.conftest import DJANGO_CELERY_BEAT, fired, shadowed

pytestmark = pytest.mark.django_db(transaction=True)

SECOND = timedelta(seconds=1)


def slots(name: str) -> list[Any]:
    runs = RoutineRun.objects.filter(routine__name=name, reason="shadow").order_by("scheduled_for")
    return list(runs.values_list("scheduled_for", flat=True))


def side_by_side(hours: Hours) -> None:
    """Ten minutes of a cron that the old one fires a little late, but for one slot, and another one twice."""
    shadowed("report", DJANGO_CELERY_BEAT, cron="* * * * *", every=None)
    hours.pass_by(minutes=10, every=1)
    found = slots("report")
    late = [slot + 0.25 * SECOND for slot in found if slot != found[3]]
    fired("report", *late, found[5] + 2 * SECOND)
    hours.pass_by(minutes=1, beat=False)


def test_each_slot_is_told_once(hours: Hours) -> None:
    side_by_side(hours)
    each: list[service.ShadowSlot] = []
    found = service.shadow_report("1h", each=each.append)
    assert (found.both, found.only_old, found.only_ours, found.differs) == (9, 1, 1, True)
    assert found.routines[0].latest == 0.25 * SECOND
    expected = slots("report")
    assert [slot.slot for slot in each if slot.slot] == expected
    assert [(slot.who, slot.slot or slot.fired_at) for slot in found.differences] == [
        ("only ours", expected[3]),
        ("only old", expected[5] + 2 * SECOND),
    ]


def test_a_window_cuts_no_pair_apart(hours: Hours) -> None:
    """A slot just before it, whose fire is in it, is not told; and the last one has its fire, which is later."""
    side_by_side(hours)
    at = slots("report")
    found = service.shadow_report(at[6] + 0.1 * SECOND, at[8] + 0.1 * SECOND)
    assert (found.both, found.differs) == (2, False)


def test_a_row_that_stands_for_many_slots_is_all_of_them(hours: Hours) -> None:
    """Our beats were away; the switch-over has recorded what the old one fired then."""
    shadowed("report", "beat_schedule", cron="* * * * *", every=None)
    start = hours.now
    hours.pass_by(minutes=6, beat=False)
    moments = [start.replace(second=0) + number * timedelta(minutes=1) for number in range(1, 7)]
    fired("report", *moments, scheduler="beat_schedule")
    service.switch_over(stopped=True)
    assert RoutineRun.objects.get(reason="shadow").occurrences == 6
    found = service.shadow_report("1h", routines="report")
    hours.pass_by(minutes=1, beat=False)
    assert (service.shadow_report("1h", routines="report").both, found.differs) == (6, False)


def test_of_an_interval_a_slot_may_be_slid_past(hours: Hours) -> None:
    """The old one counts from its last fire: in ten minutes it has fired once less, and lost nothing."""
    shadowed("tick", DJANGO_CELERY_BEAT, every="10s")
    start = hours.now
    hours.pass_by(minutes=10, every=1)
    fired("tick", *(start + number * 10.2 * SECOND for number in range(1, 60)))
    found = service.shadow_report("1h")
    assert (found.slid, found.only_old, found.only_ours) == (1, 0, 0)


def test_what_is_under_way_is_not_judged(hours: Hours) -> None:
    """The old beat may be about to fire it."""
    shadowed("report", DJANGO_CELERY_BEAT, cron="* * * * *", every=None)
    hours.pass_by(seconds=35, every=1)
    assert len(slots("report")) == 1
    assert service.shadow_report().routines[0].only_ours == 0


def test_too_much_is_refused(hours: Hours, monkeypatch: pytest.MonkeyPatch) -> None:
    side_by_side(hours)
    monkeypatch.setattr(report, "MOST_OF_ONE", 5)
    with pytest.raises(InvalidValue, match="ask for a shorter time"):
        service.shadow_report()


def test_one_that_was_not_moved_is_refused(hours: Hours) -> None:
    hours.make("own", every="1m")
    with pytest.raises(NotAllowed, match="was not moved"):
        service.shadow_report(routines="own")


def command(*arguments: str) -> tuple[str, int]:
    out = StringIO()
    try:
        call_command("routines", *arguments, stdout=out)
    except SystemExit as ended:
        return out.getvalue(), int(str(ended.code))
    return out.getvalue(), 0


def test_the_command_tells_of_differences_and_exits_with_one(hours: Hours) -> None:
    side_by_side(hours)
    text, code = command("shadow-report")
    assert code == 1
    assert "9 slots fired by both, 1 only by the old, 1 only by ours" in text
    assert [line.split()[:2] for line in text.splitlines()[:2]] == [["only", "ours"], ["only", "old"]]
    everything, _ = command("shadow-report", "--all")
    assert everything.count("both  ") == 9


def test_the_command_writes_json_lines(hours: Hours) -> None:
    side_by_side(hours)
    *each, counts = [json.loads(line) for line in command("shadow-report", "--all", "--json")[0].splitlines()]
    assert [line["who"] for line in each].count("both") == 9
    assert (counts["differs"], counts["routines"][0]["only_ours"]) == (True, 1)


def test_the_command_doubts_a_beat_of_which_nothing_was_recorded(hours: Hours) -> None:
    shadowed("report", DJANGO_CELERY_BEAT, cron="* * * * *", every=None)
    hours.pass_by(minutes=3, every=1)
    text, code = command("shadow-report")
    assert code == 1
    assert "report: no fire of django-celery-beat was recorded" in text


def test_the_command_is_quiet_about_what_agrees(hours: Hours) -> None:
    shadowed("report", DJANGO_CELERY_BEAT, cron="* * * * *", every=None)
    hours.pass_by(minutes=3, every=1)
    fired("report", *slots("report"))
    hours.pass_by(minutes=1, beat=False)
    text, code = command("shadow-report", "report")
    assert (code, len(text.splitlines())) == (0, 1)


def test_the_command_switches_over_and_back(hours: Hours) -> None:
    """What is refused makes it exit with 1."""
    shadowed("static", "beat_schedule")
    text, code = command("switch-over")
    assert (code, "refused  static: a beat_schedule cannot be changed" in text) == (1, True)
    told, code = command("switch-over", "--old-beat-stopped", "--json")
    assert (code, json.loads(told)["switched"]) == (0, ["static"])
    text, code = command("switch-over", "--back", "static")
    assert (code, "refused  static" in text) == (1, True)
