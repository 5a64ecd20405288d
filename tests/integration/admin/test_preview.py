"""The live preview: words, fires, warnings, and what would change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from routines_app import service
from routines_app.admin.daylight import daylight_warnings
from routines_app.core.triggers import CronTrigger
from routines_app.models import Node, Routine, RoutineState
from routines_app.protocol.ledger import clock
from routines_app.verbs import second_opinion
from tests.browser.scenes import ended, make_routine

BASE = {
    "trigger_kind": "CRON",
    "cron": "0 9 * * 1-5",
    "timezone": "Europe/Paris",
    "task": "tests.acceptance.tasks.note",
}


def preview(client: Client, routine: Routine | None = None, **typed: str) -> dict[str, Any]:
    data = BASE | {"routine": str(routine.pk) if routine else ""} | typed
    answer: dict[str, Any] = client.post(reverse("admin:routines_routine_preview"), data).json()
    answer["text"] = " ".join(answer["html"].split())
    return answer


def test_the_preview_says_the_schedule_in_words(operator: Client) -> None:
    """The same words as in the list."""
    assert "At 09:00, Monday to Friday, Europe/Paris" in preview(operator)["text"]


def test_the_preview_shows_ten_fires_in_both_timezones(operator: Client) -> None:
    """Nine o'clock in Paris is three in New York, most days of the year."""
    html = preview(operator, page_zone="America/New_York")["text"]
    assert html.count(", 09:00</td>") == 10
    assert html.count("<tr>") == 11
    assert '<th scope="col">America/New_York</th>' in html


@pytest.mark.parametrize(
    ("typed", "field"),
    [
        ({"cron": "nope"}, "cron"),
        ({"cron": ""}, "cron"),
        ({"cron": "0 0 30 2 *"}, "cron"),
        ({"timezone": "Mars/Olympus"}, "timezone"),
        ({"trigger_kind": "INTERVAL", "interval_ms": "often"}, "interval_ms"),
        ({"start_at": "2030-01-02T00:00", "end_at": "2030-01-01T00:00"}, "end_at"),
        ({"start_at": "yesterday"}, "start_at"),
    ],
)
def test_what_is_wrong_is_told_while_typing(operator: Client, typed: dict[str, str], field: str) -> None:
    """Half-typed input gets an error at its field, and no fires."""
    answer = preview(operator, **typed)
    assert set(answer["errors"]) == {field}
    assert "<table" not in answer["html"]


def test_an_interval_counts_on_from_the_saved_anchor(operator: Client) -> None:
    """The preview shows the fires that saving would plan."""
    routine = make_routine(interval_ms=3_600_000)
    anchor = clock.now().replace(second=7) - timedelta(minutes=1)  # a full minute is shown without its seconds
    RoutineState.objects.filter(pk=routine.pk).update(last_slot=anchor)
    answer = preview(operator, routine, trigger_kind="INTERVAL", interval_ms="30m", timezone="UTC")
    first = anchor + timedelta(minutes=30)
    assert first.strftime("%H:%M:%S") in answer["text"]


@pytest.mark.parametrize("status", ["ACTIVE", "PAUSED"])
@pytest.mark.parametrize("interval", ["30m", "45m"])
@pytest.mark.parametrize("typed", [None, timedelta(hours=-50, minutes=-13), timedelta(hours=1, minutes=7)])
def test_an_interval_is_previewed_as_it_would_be_saved(
    operator: Client, status: str, interval: str, typed: timedelta | None
) -> None:
    """A start makes the saved anchor forgotten; without one it holds, after the slots that saving would skip."""
    now = clock.now().replace(microsecond=0)
    routine = make_routine(interval_ms=3_600_000, timezone="UTC")
    due = now - timedelta(minutes=41, seconds=7)
    RoutineState.objects.update(last_slot=due - timedelta(hours=1), next_slot=due if status == "PAUSED" else None)
    Routine.objects.update(status=status)
    start = now + typed if typed is not None else None
    text = f"{start:%Y-%m-%dT%H:%M:%S}" if start else ""
    data = {"trigger_kind": "INTERVAL", "interval_ms": interval, "timezone": "UTC", "start_at": text}
    fires = preview(operator, routine, **data)["text"].split("<tr>")[2]

    service.update_routine(routine.pk, every=interval, start_at=start)

    slot = RoutineState.objects.get().next_slot
    assert slot is not None
    assert f"{slot:%a} {slot.day} {slot:%b}, {slot:%H:%M:%S}".removesuffix(":00") in fires


@pytest.mark.parametrize("kind", ["CRON", "INTERVAL"])
def test_fires_are_shown_in_the_routines_own_zone_whatever_the_trigger(operator: Client, kind: str) -> None:
    """Half past in Kolkata is the full hour in UTC."""
    start = (clock.now() + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    typed = {"trigger_kind": kind, "interval_ms": "1h", "cron": "30 * * * *", "start_at": f"{start:%Y-%m-%dT%H:%M}"}
    text = preview(operator, timezone="Asia/Kolkata", page_zone="UTC", **typed)["text"]
    assert "Asia/Kolkata" in text
    assert ", 05:30</td>" in text
    assert set(preview(operator, **typed | {"timezone": "Mars/Olympus"})["errors"]) == {"timezone"}


def test_a_schedule_that_ends_before_its_next_slot_never_fires(operator: Client) -> None:
    """Saving is possible, but the person is told."""
    assert "Never fires" in preview(operator, end_at="2020-01-01T00:00")["text"]


def test_an_unregistered_task_is_told(operator: Client) -> None:
    """The web process knows the registered tasks."""
    assert "Task not registered: nowhere.task" in preview(operator, task="nowhere.task")["text"]
    assert "Task not registered: there.task" in preview(operator, other_task="there.task")["text"]


def test_a_queue_that_no_worker_consumes_is_told(operator: Client) -> None:
    """Workers report their queues; a silent worker does not count."""
    assert "No worker consumes queue mail: no worker is running" in preview(operator, queue="mail")["text"]
    node = _worker(["celery"])
    assert "No worker consumes queue mail." in preview(operator, queue="mail")["text"]
    assert "No worker consumes" not in preview(operator, queue="celery")["text"]
    Node.objects.filter(pk=node.pk).update(seen_at=clock.now() - timedelta(minutes=5))
    assert "no worker is running" in preview(operator, queue="celery")["text"]


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        ("ALLOW", "will overlap"),
        ("FORBID", "will be skipped"),
        ("REPLACE", "will be replaced"),
        ("QUEUE", "will wait for the run before"),
    ],
)
def test_an_interval_shorter_than_the_usual_duration_is_told(operator: Client, policy: str, says: str) -> None:
    """What it means depends on the policy."""
    routine = make_routine(interval_ms=3_600_000)
    for minutes in range(3):
        ended(routine, clock.now() - timedelta(minutes=minutes), seconds=90)
    typed = {"trigger_kind": "INTERVAL", "interval_ms": "60s", "concurrency_policy": policy}
    text = preview(operator, routine, **typed)["text"]
    assert "1m is shorter than its usual duration of 1m 30s" in text
    assert says in text
    assert "shorter" not in preview(operator, routine, **(typed | {"interval_ms": "5m"}))["text"]


def test_a_change_is_compared_with_the_saved_version(operator: Client) -> None:
    """The fires of the coming week, gained and lost."""
    routine = make_routine(cron="0 9 * * *", timezone="UTC")
    text = preview(operator, routine, cron="0 10 * * *", timezone="UTC")["text"]
    assert "7 fires instead of 7" in text
    assert "10:00" in text.split("New:")[1].split("Gone:")[0]
    assert "09:00" in text.split("Gone:")[1]
    assert "Against the saved version" not in preview(operator, routine, cron="0 9 * * *", timezone="UTC")["text"]


def test_a_fast_schedule_is_compared_by_its_pace(operator: Client) -> None:
    """A fire per second is not listed, it is counted."""
    routine = make_routine(cron="0 9 * * *", timezone="UTC")
    text = preview(operator, routine, trigger_kind="INTERVAL", interval_ms="1s")["text"]
    assert "604,800 fires instead of 7" in text


@pytest.mark.parametrize("field", ["start_at", "end_at"])
@pytest.mark.parametrize("typed", ["0001-01-01T00:00", "9999-12-31T23:59"])
@pytest.mark.parametrize("kind", ["CRON", "INTERVAL"])
def test_the_preview_refuses_moments_beyond_the_calendar(operator: Client, kind: str, typed: str, field: str) -> None:
    """The same bounds as when saving."""
    answer = preview(operator, trigger_kind=kind, interval_ms="5m", **{field: typed})
    assert answer["errors"] == {field: "Give a datetime between 1900 and 3000."}


def test_the_preview_takes_digits_that_are_no_id_for_a_new_routine(operator: Client) -> None:
    """There is no saved version to compare with."""
    data = BASE | {"routine": "9" * 5_000}
    response = operator.post(reverse("admin:routines_routine_preview"), data)
    assert (response.status_code, response.json()["errors"]) == (200, {})


AUTUMN = datetime(2026, 9, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("cron", "says"),
    [
        ("15 * * * *", "Fires twice on 25 October 2026: 02:15 comes twice when the clock goes back."),
        (
            "*/15 * * * *",
            "Fires 8 times instead of 4 on 25 October 2026: 02:00 to 03:00 comes twice when the clock goes back.",
        ),
        (
            "*/15 2 * * *",
            "Fires 8 times instead of 4 on 25 October 2026: 02:00 to 03:00 comes twice when the clock goes back.",
        ),
        ("*/15 2 * * *", "On 28 March 2027 the clock skips 02:00 to 03:00; what falls into it does not fire."),
        ("0 */2 * * *", "On 28 March 2027 the clock skips 02:00 to 03:00; what falls into it does not fire."),
        ("0,15,30,45 2 * * *", "On 28 March 2027 the clock skips 02:00 to 03:00; what falls into it fires at 03:00."),
        ("30 2 * * *", "On 25 October 2026 02:30 comes twice; it fires the first time only."),
        ("30 2 * * *", "On 28 March 2027 the clock skips 02:00 to 03:00; what falls into it fires at 03:00."),
    ],
)
def test_changes_of_the_clock_are_told(cron: str, says: str) -> None:
    """Berlin goes back on 25 October and forward on 28 March."""
    assert says in daylight_warnings(CronTrigger(expression=cron, timezone="Europe/Berlin"), AUTUMN)


@pytest.mark.parametrize(
    ("cron", "zone"),
    [
        ("0 9 * * *", "Europe/Berlin"),
        ("30 2 * * *", "UTC"),
        ("0 3 * * *", "Europe/Berlin"),
        ("*/15 4-6 * * *", "Europe/Berlin"),
        ("*/15 2 1 6 *", "Europe/Berlin"),
    ],
)
def test_a_schedule_that_does_not_feel_the_change_is_left_alone(cron: str, zone: str) -> None:
    """No warning without a reason: three o'clock exists on both days."""
    assert daylight_warnings(CronTrigger(expression=cron, timezone=zone), AUTUMN) == []


@pytest.mark.parametrize(
    ("cron", "zone", "told"),
    [
        ("*/15 * * * *", "Europe/Berlin", 0),
        ("5 * * * *", "Europe/Berlin", 0),
        ("*/30 * * * *", "Australia/Lord_Howe", 0),  # its clock moves by half an hour
        ("0 * * * *", "Australia/Lord_Howe", 1),
        ("*/20 * * * *", "Australia/Lord_Howe", 1),
    ],
)
def test_a_skipped_hour_is_told_of_only_where_a_fire_is_missed(cron: str, zone: str, told: int) -> None:
    """Elapsed time that goes on evenly feels nothing of the hour that the clock leaves out."""
    warnings = daylight_warnings(CronTrigger(expression=cron, timezone=zone), AUTUMN)
    assert len([warning for warning in warnings if "does not fire" in warning]) == told


def test_the_preview_shows_where_croniter_disagrees(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both lists, and the reason; where they agree, nothing is said of it."""
    monkeypatch.setattr(second_opinion, "PATIENCE_SECONDS", 30)  # this machine may be busy
    text = preview(operator, cron="0 9 */2 * MON")["text"]
    assert "croniter reads this otherwise: a day field that begins with `*` narrows the other one" in text
    theirs = text.partition('<th scope="col">croniter</th>')[2]
    assert theirs.count("<tr>") == 4
    assert theirs.count(", 09:00</td>") == 8
    assert "croniter" not in preview(operator)["text"]
    assert "croniter" not in preview(operator, cron="0 9 L-3 * *")["text"]  # which it cannot read


def _worker(queues: list[str]) -> Node:
    now = clock.now()
    return Node.objects.create(
        name="worker@a:1", role="worker", host="a", pid=1, queues=queues, started_at=now, seen_at=now
    )


def test_a_preview_after_ten_years_of_seconds_counts_them_at_once(operator: Client) -> None:
    """An interval is drafted over a cron that has been paused so long: it counts on from the last slot of those."""
    saved = make_routine(cron="* * * * * *")
    service.pause_routine(saved)
    long_ago = clock.now().replace(microsecond=0) - timedelta(days=3_650)
    RoutineState.objects.update(last_slot=long_ago, next_slot=long_ago + timedelta(seconds=1))
    text = preview(operator, saved, trigger_kind="INTERVAL", interval_ms="1h", timezone="UTC")["text"]
    assert "168 fires instead of 604,800" in text
    assert text.count("<tr>") == 11
