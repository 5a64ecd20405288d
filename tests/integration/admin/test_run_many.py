"""Acting on many runs from the list: counted first, done in pieces, told at the end."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from routines_app.admin import run_many
from routines_app.models import RoutineRun
from routines_app.protocol.ledger import clock
from tests.browser.scenes import ended, make_routine, make_run
from tests.integration.admin.pages import last_entry, shown_in

MINUTE = timedelta(minutes=1)


def many_url(verb: str, query: str = "") -> str:
    return reverse("admin:routines_run_many", args=[verb]) + query


def continued(client: Client, page: Any, **typed: str) -> Any:
    """Press the button until there is none; the last page."""
    for _ in range(50):
        fields = shown_in(page)
        if "token" not in fields:
            return page
        page = client.post(page.context["action"], fields | typed)
    raise AssertionError("it does not come to an end")


def failures(count: int, **fields: Any) -> list[RoutineRun]:
    routine, now = make_routine(), clock.now()
    return [ended(routine, now - number * MINUTE, status="FAILED", **fields) for number in range(1, count + 1)]


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request does two runs."""
    monkeypatch.setattr(run_many, "SECONDS", 0)
    monkeypatch.setattr(run_many, "AT_ONCE", 2)


@pytest.mark.usefixtures("hurried")
def test_all_that_match_are_retried_in_pieces(operator: Client) -> None:
    """The count comes first, each request does some, and the last one says what was passed over."""
    runs = failures(5, queue="slow")
    other = ended(make_routine("other"), clock.now() - MINUTE, status="FAILED")
    archived = ended(make_routine("gone", status="ARCHIVED"), clock.now() - MINUTE, status="FAILED", queue="slow")
    page = operator.get(many_url("retry", "?queue=slow&range=hour"))
    assert (page.context["batch"].count, page.context["batch"].is_all) == (6, True)
    assert not RoutineRun.objects.filter(trigger="manual").exists()
    second = operator.post(page.context["action"], shown_in(page))
    assert "2 of 6 so far." in second.content.decode()
    last = continued(operator, second)
    assert last.context["batch"].passed_over == [(1, "belong to an archived routine")]
    assert "Asked again for 5 runs" in " ".join(last.content.decode().split())
    again = RoutineRun.objects.filter(trigger="manual")
    assert set(again.values_list("retry_of", flat=True)) == {run.pk for run in runs}
    assert not again.filter(retry_of__in=[other.pk, archived.pk]).exists()
    assert last_entry().change_message.startswith("Asked again for ")


@pytest.mark.usefixtures("hurried")
def test_a_piece_that_is_sent_twice_does_nothing_twice(operator: Client) -> None:
    """A reload, a second click, or a whole second page of the same list."""
    runs = failures(3)
    page = operator.get(many_url("retry"))
    fields = shown_in(page)
    for _ in range(2):
        answered = operator.post(page.context["action"], fields)
        assert answered.context["batch"].done == 2
    assert continued(operator, answered).context["batch"].done == 3
    assert RoutineRun.objects.filter(retry_of__in=[run.pk for run in runs]).count() == 3
    assert operator.get(many_url("retry")).context["batch"].count == 0
    assert "There is nothing to do." in operator.get(many_url("retry")).content.decode()


@pytest.mark.usefixtures("hurried")
def test_a_range_does_not_move_on_between_the_pieces(operator: Client) -> None:
    """What was counted is what is done: the times of the address are fixed when the page is opened."""
    runs = failures(3)
    page = operator.get(many_url("retry", "?range=hour"))
    fields = shown_in(page)
    assert "range" not in fields["question"]
    late = ended(runs[0].routine, clock.now() + MINUTE, status="FAILED")  # made after the page was opened
    continued(operator, operator.post(page.context["action"], fields))
    assert set(RoutineRun.objects.filter(trigger="manual").values_list("retry_of", flat=True)) == {r.pk for r in runs}
    assert not RoutineRun.objects.filter(retry_of=late.pk).exists()


@pytest.mark.usefixtures("hurried")
def test_chosen_runs_are_cancelled(operator: Client) -> None:
    """Those that were ticked and no others, whatever the list's filter; with a reason."""
    routine, now = make_routine(), clock.now()
    waiting = [make_run(routine, at=now - number * MINUTE) for number in range(5)]
    over = ended(routine, now)
    chosen = [*(str(run.pk) for run in waiting[:3]), str(over.pk)]
    data = {"action": "cancel_runs", "_selected_action": chosen, "select_across": "1", "index": 0}
    page = operator.post(reverse("admin:routines_routinerun_changelist"), data)
    assert page.context["batch"].count == 4
    last = continued(operator, page, reason="wrong month")
    assert last.context["batch"].passed_over == [(1, "had ended already")]
    found = RoutineRun.objects.filter(status="CANCELLED")
    assert {run.pk for run in found} == {run.pk for run in waiting[:3]}
    assert {run.error for run in found} == {"cancelled by root: wrong month"}


def test_all_that_wait_or_run_are_cancelled_only_when_that_is_said(operator: Client) -> None:
    """A filter that cannot be read means nothing, never everything."""
    run = make_run(make_routine(), at=clock.now() - MINUTE)
    wrong = operator.get(many_url("cancel", "?status=NONSENSE"))
    assert (wrong.status_code, wrong.context["batch"]) == (422, None)
    assert "no filter is chosen" in operator.get(many_url("cancel")).content.decode()
    fields = shown_in(operator.get(many_url("cancel")))
    for question in ("pool=nobody", "q=019a93d5-c5e0-7000-8000-000000000000"):
        operator.post(many_url("cancel"), fields | {"question": question})
    run.refresh_from_db()
    assert run.status == "PENDING"
    assert continued(operator, operator.get(many_url("cancel"))).context["batch"].done == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [("token", "x"), ("before", "x"), ("count", "-1"), ("count", "9" * 50), ("tally", "done:x"), ("question", "a\x00")],
)
def test_a_form_that_no_page_of_ours_sends_is_refused(operator: Client, field: str, value: str) -> None:
    """Nothing is done."""
    failures(1)
    fields = shown_in(operator.get(many_url("retry")))
    assert operator.post(many_url("retry"), fields | {field: value}).status_code == 400
    assert RoutineRun.objects.count() == 1


@pytest.mark.parametrize("chosen", ["abc", "\x00", "1", "9" * 5_000])
def test_an_action_is_for_runs_that_are_chosen_by_their_ids(operator: Client, chosen: str) -> None:
    """Django would hand the text to the database."""
    (run,) = failures(1)
    data = {"action": "retry_runs", "_selected_action": [run.pk, chosen], "index": 0}
    assert operator.post(reverse("admin:routines_routinerun_changelist"), data).status_code == 400
