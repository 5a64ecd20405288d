"""The verbs, from the list and from the page of a routine: what they do, say and leave in the history."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from pytest_django import Settings

from routines_app import service
from routines_app.admin import actions
from routines_app.models import Routine, RoutineRun, RoutineState, ScheduleChange
from routines_app.protocol.ledger import clock
from tests.browser.rotation_scene import make_member, make_rotation
from tests.browser.scenes import make_routine
from tests.integration.admin.pages import act, last_entry, list_url, overview_url, run_url, shown_in, told, verb_url
from tests.integration.conftest import Login


def test_run_now_from_the_list_asks_for_a_run_of_each(operator: Client) -> None:
    """Each chosen routine gets a manual run, and the history says who asked and why."""
    routines = [make_routine("a"), make_routine("b")]
    response = act(operator, "run", *routines, reason="the report was late")
    assert told(response) == ["Asked for runs of 2 routines."]
    assert [(run.trigger, run.requested_by) for run in RoutineRun.objects.all()] == [("manual", "root")] * 2
    assert last_entry().user.get_username() == "root"
    assert last_entry().change_message == "Asked for a run of b. Why: the report was late"


def test_run_now_leads_to_its_run(operator: Client, login: Login) -> None:
    """From the routine's page and from the list, also when it was skipped; for those who may look at runs."""
    routine = make_routine(concurrency_policy="FORBID")
    for _ in range(2):
        response = operator.post(verb_url(routine, "run"), {"idempotency_key": uuid4().hex}, follow=True)
        assert response.redirect_chain[-1][0] == run_url(RoutineRun.objects.latest("id"))
    assert RoutineRun.objects.latest("id").status == "SKIPPED"
    other = make_routine("other")
    response = act(operator, "run", other)
    assert response.redirect_chain[-1][0] == run_url(RoutineRun.objects.get(routine=other))
    assert told(response) == ["Asked for a run of other."]
    without = login("view_routine", "run_routine")
    response = without.post(verb_url(other, "run"), {}, follow=True)
    assert response.redirect_chain[-1][0] == overview_url(other)


def test_pausing_from_the_list_asks_for_reason_and_end_first(operator: Client) -> None:
    """The first answer is a page with a form; nothing has been paused yet."""
    routine = make_routine()
    response = act(operator, "pause", routine)
    assert list(response.context["form"].fields) == ["reason", "until"]
    assert Routine.objects.get().status == "ACTIVE"


def test_pausing_from_the_list_pauses_with_reason_and_end(operator: Client) -> None:
    """What was typed is what the routine and its history say."""
    routine = make_routine()
    until = clock.now() + timedelta(days=1)
    response = act(operator, "pause", routine, confirmed="1", reason="deploy", until=until.strftime("%Y-%m-%dT%H:%M"))
    routine.refresh_from_db()
    assert (routine.status, routine.pause_reason) == ("PAUSED", "deploy")
    assert routine.paused_until == until.replace(second=0, microsecond=0)
    assert told(response)[0].startswith("Paused nightly-report until ")
    change = ScheduleChange.objects.get(kind="paused")
    assert (change.actor, change.reason) == ("root", "deploy")


def test_an_end_in_the_past_stands_at_its_field(operator: Client) -> None:
    """The service refuses it, and the page shows the refusal where it can be mended."""
    routine = make_routine()
    response = act(operator, "pause", routine, confirmed="1", until="2020-01-01T00:00")
    assert "future" in response.context["form"].errors["until"][0]
    assert Routine.objects.get().status == "ACTIVE"


def test_resuming_first_shows_what_each_choice_would_release(operator: Client) -> None:
    """SKIP, LAST and ALL are counted before a person chooses."""
    routine = make_routine(interval_ms=3_600_000)
    service.pause_routine(routine)
    RoutineState.objects.update(next_slot=clock.now() - timedelta(minutes=200))
    response = act(operator, "resume", routine)
    release = response.context["releases"][0]
    assert release.count == "4"
    assert release.skip == "4 slots skipped, nothing runs"
    assert release.last == "1 run, 3 slots skipped"
    assert release.all == "4 runs, oldest first, one at a time"


def test_resuming_with_a_choice_releases_what_was_chosen(operator: Client) -> None:
    """SKIP writes the pause as one SKIPPED row."""
    routine = make_routine(interval_ms=3_600_000)
    service.pause_routine(routine)
    RoutineState.objects.update(next_slot=clock.now() - timedelta(minutes=200))
    response = act(operator, "resume", routine, confirmed="1", release="SKIP")
    assert told(response) == ["Resumed nightly-report, skipping the slots of the pause."]
    assert RoutineRun.objects.get().occurrences == 4


def test_resuming_what_is_active_says_so(operator: Client) -> None:
    """Among many that are chosen, some may fire already."""
    response = act(operator, "resume", make_routine(), confirmed="1", release="SKIP")
    assert told(response) == ["Left nightly-report as it is: it was not paused."]
    assert not ScheduleChange.objects.filter(kind="resumed").exists()


def test_only_what_was_done_is_counted(operator: Client) -> None:
    """A run that is skipped was not asked for: it is told by itself, and the history does not have it."""
    busy, others = make_routine("busy", concurrency_policy="FORBID"), [make_routine("a"), make_routine("b")]
    run = service.run_now(busy)
    RoutineRun.objects.filter(pk=run.pk).update(status="RUNNING", started_at=clock.now())
    response = act(operator, "run", *others, busy)
    assert told(response) == [
        "Asked for runs of 2 routines.",
        "Skipped the run of busy: it is already active (overlap).",
    ]
    assert set(LogEntry.objects.values_list("object_repr", flat=True)) == {"a", "b"}


def test_a_rotation_is_not_archived_by_its_routine(operator: Client) -> None:
    """The list refuses what the routine's page does not offer, in the same words; the others are done."""
    rotation, other = make_rotation("shops"), make_routine("other")
    member = make_member(rotation, "m")
    said = told(act(operator, "archive", rotation.routine, other, confirmed="1"))
    assert said[1] == (
        "Archive was refused for shops: Archive is not for a rotation's own routine: see the rotation's page."
    )
    statuses = dict(Routine.objects.values_list("name", "status"))
    assert statuses == {"shops": "ACTIVE", "m": "ACTIVE", "other": "ARCHIVED"}
    hinted = told(act(operator, "hint_factor", member.routine, confirmed="1", factor="2"))
    assert "Hint a factor is not for a rotation's member" in hinted[0]


def test_archiving_from_the_list_asks_first(operator: Client) -> None:
    """It cannot be undone, so a page stands between the action and the deed."""
    routine = make_routine()
    act(operator, "archive", routine)
    assert Routine.objects.get().status == "ACTIVE"
    act(operator, "archive", routine, confirmed="1", reason="replaced by v2")
    assert Routine.objects.get().status == "ARCHIVED"
    assert last_entry().change_message.endswith("Why: replaced by v2")


def test_a_refusal_names_the_routine_and_the_others_are_done(operator: Client) -> None:
    """One routine that cannot be reset does not keep the parked one from it."""
    parked = make_routine("parked", status="PARKED")
    response = act(operator, "reset", parked, make_routine("old", status="ARCHIVED"))
    assert Routine.objects.get(name="parked").status == "ACTIVE"
    assert told(response)[0].startswith("Reset parked")
    assert "Reset was refused for old" in told(response)[1]


def test_hints_are_cleared_from_the_list(operator: Client) -> None:
    """The hint is gone and the schedule is itself again."""
    routine = make_routine(interval_ms=60_000)
    service.propose_interval(routine, "5s", ttl="1h")
    assert told(act(operator, "clear_hints", routine)) == ["Cleared the hints of nightly-report."]
    assert RoutineState.objects.get().hint_interval_ms is None


def test_a_double_click_on_run_now_runs_once(operator: Client) -> None:
    """The page's token makes the second post return the first one's run."""
    routine = make_routine()
    token = operator.get(overview_url(routine)).context["run_token"]
    for _ in range(2):
        operator.post(verb_url(routine, "run"), {"idempotency_key": token})
    assert RoutineRun.objects.count() == 1


@pytest.mark.parametrize(
    ("verb", "data", "field", "expected"),
    [
        ("hint-interval", {"interval": "5s", "ttl": "1h", "reason": "busy"}, "hint_interval_ms", 5000),
        ("hint-interval", {"interval": "5s", "ttl": "1h", "reason": "busy"}, "hint_interval_reason", "busy"),
    ],
)
def test_a_hint_given_on_the_page_is_in_force(
    operator: Client, verb: str, data: dict[str, str], field: str, expected: object
) -> None:
    """The state carries the hint and its reason."""
    routine = make_routine(interval_ms=60_000)
    response = operator.post(verb_url(routine, verb), data, follow=True)
    assert response.context["hints"]
    assert getattr(RoutineState.objects.get(), field) == expected


@pytest.mark.usefixtures("time")  # never within half an hour of its next slot, the new year
def test_a_one_shot_hint_given_on_the_page_is_planned(operator: Client) -> None:
    """The routine fires at the hinted time, before its next slot."""
    routine = make_routine(cron="0 0 1 1 *")
    at = (clock.now() + timedelta(minutes=30)).replace(second=0, microsecond=0)
    operator.post(verb_url(routine, "hint-time"), {"at": at.strftime("%Y-%m-%dT%H:%M:%S"), "ttl": "1h"})
    assert RoutineState.objects.get().next_run_at == at


def test_a_wrong_duration_stands_at_its_field(operator: Client) -> None:
    """Nothing is hinted, and the form says what would be right."""
    response = operator.post(verb_url(make_routine(), "hint-interval"), {"interval": "soon", "ttl": "1h"})
    assert "30s" in response.context["form"].errors["interval"][0]


def test_only_an_archived_routine_can_be_deleted(operator: Client) -> None:
    """A living one is refused politely; an archived one goes, with its runs."""
    routine = make_routine()
    service.run_now(routine)
    assert "is not for a routine that is ACTIVE" in told(operator.get(verb_url(routine, "delete"), follow=True))[0]
    service.archive_routine(routine)
    operator.post(verb_url(routine, "delete"), {"reason": "cleaning up"})
    assert not Routine.objects.exists()
    assert LogEntry.objects.latest("id").change_message == "Deleted nightly-report with its runs. Why: cleaning up"


def test_a_routine_that_plain_sql_has_changed_is_replanned(operator: Client) -> None:
    """The next fire follows the stored schedule again."""
    routine = make_routine(interval_ms=3_600_000)
    Routine.objects.update(interval_ms=60_000)
    operator.post(verb_url(routine, "replan"), {"reason": "changed by SQL"})
    assert RoutineState.objects.get().next_run_at < clock.now() + timedelta(seconds=61)


def test_releasing_a_lease_is_written_down(operator: Client) -> None:
    """The button takes the lock away from its holder and leaves who and why."""
    from routines_app.coordination import leases

    routine = make_routine(concurrency_policy="FORBID")
    leases.acquire(routine.pk, "somebody", 30)
    assert operator.get(overview_url(routine)).context["lease"].token == "somebody"
    operator.post(verb_url(routine, "release-lease"), {"reason": "host is gone"})
    assert leases.holder(routine.pk) is None
    change = ScheduleChange.objects.get(kind="lease_released")
    assert (change.actor, change.reason) == ("root", "host is gone")


def test_a_thousand_routines_at_once_are_too_many(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """One web request does a bounded amount of work."""
    monkeypatch.setattr("routines_app.admin.actions.AT_ONCE", 1)
    response = act(operator, "run", make_routine("a"), make_routine("b"))
    assert told(response) == ["Choose at most 1 routines at once."]
    assert not RoutineRun.objects.exists()


def confirm(client: Client, page: Any, address: str, **typed: str) -> Any:
    """Press the button of a confirmation, with the fields that it has."""
    return client.post(address, shown_in(page) | typed, follow=True)


def test_a_confirmation_stays_small_however_many_were_chosen(operator: Client, settings: Settings) -> None:
    """Django accepts a limited number of fields: the chosen ones are one of them."""
    routines = [make_routine(f"r{number}") for number in range(30)]
    page = act(operator, "pause", *routines)
    settings.DATA_UPLOAD_MAX_NUMBER_FIELDS = 10
    response = confirm(operator, page, list_url(), reason="deploy")
    assert told(response) == ["Paused 30 routines."]
    assert set(Routine.objects.values_list("status", "pause_reason")) == {("PAUSED", "deploy")}


def test_a_confirmation_acts_on_the_routines_that_it_showed(operator: Client) -> None:
    """All that match a filter were chosen; what matches it later is another matter."""
    first, second = make_routine("first", priority="HIGH"), make_routine("second", priority="HIGH")
    address = f"{list_url()}?priority__exact=HIGH"
    data = {"action": "archive_routines", "_selected_action": [first.pk], "select_across": "1"}
    page = operator.post(address, data)
    assert [routine.name for routine in page.context["routines"]] == ["first", "second"]
    make_routine("third", priority="HIGH")
    Routine.objects.filter(pk=second.pk).update(priority="LOW")
    assert told(confirm(operator, page, address)) == ["Archived 2 routines."]
    assert set(Routine.objects.filter(status="ARCHIVED").values_list("name", flat=True)) == {"first", "second"}


def test_a_forged_choice_is_nothing(operator: Client) -> None:
    """What is no id chooses nobody."""
    routine = make_routine()
    response = act(operator, "archive", routine, confirmed="1", routines="abc,,-1," + "9" * 5_000)
    assert response.status_code == 200
    assert Routine.objects.get().status == "ACTIVE"


@pytest.mark.parametrize(("action", "status"), [("pause", "PAUSED"), ("reset", "ACTIVE")], ids=["asks", "acts"])
def test_an_action_that_takes_long_asks_to_go_on(
    operator: Client, monkeypatch: pytest.MonkeyPatch, action: str, status: str
) -> None:
    """A request does what it has time for, and the page holds what is left; whoever confirms goes on with those."""
    monkeypatch.setattr(actions, "SECONDS", -1.0)
    monkeypatch.setattr(actions, "PIECE", 1)
    before = "ACTIVE" if action == "pause" else "PARKED"
    routines = [make_routine(name, status=before) for name in "abc"]
    page = act(operator, action, *routines, confirmed="1", reason="deploy")
    for left, those in (
        (2, "2 routines are left: confirm to go on with them."),
        (1, "1 routine is left: confirm to go on with it."),
    ):
        assert told(page)[1] == those
        assert Routine.objects.filter(status=status).count() == 3 - left
        assert len(page.context["routines"]) == left
        page = confirm(operator, page, list_url(), reason="deploy")
    assert Routine.objects.filter(status=status).count() == 3
    assert len(told(page)) == 1
