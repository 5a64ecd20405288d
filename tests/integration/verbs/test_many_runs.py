"""Acting on many runs: what is done, what is passed over and why, and what a repetition does."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command

from routines_app import service
from routines_app.core.words import RunStatus
from routines_app.models import Routine, RoutineRun
from routines_app.verbs import many_runs, run_selection
from tests.integration.conftest import MONDAY, Time
from tests.integration.verbs.rows import made_at, running_run, waiting_run

pytestmark = pytest.mark.each_database

Make = Callable[..., Routine]
BATCH = "b" * 32


def failed_run(routine: Routine, number: int, **values: Any) -> RoutineRun:
    ended = {"status": RunStatus.FAILED, "started_at": MONDAY, "completed_at": MONDAY, "reason": "exception"}
    at = MONDAY - timedelta(minutes=number)
    return waiting_run(routine, number, **({"pk": made_at(at), "error": "ValueError: no"} | ended | values))


def why(report: service.ManyRuns) -> dict[UUID, str]:
    return {run_id: reason.value for run_id, reason, _ in report.passed_over}


def later() -> UUID:
    return service.oldest_run_id(service.now() + timedelta(seconds=1))


def test_final_failures_are_asked_for_again_and_refer_to_them(make: Make, time: Time) -> None:
    """The others are passed over, and each says why."""
    routine = make()
    first = failed_run(routine, 3)
    final = failed_run(routine, 2, attempt=2, chain=first.pk, retry_of=first, args=[1], kwargs={})
    fine = failed_run(routine, 1, status=RunStatus.SUCCESS, reason="")
    gone = made_at(MONDAY)
    report = service.retry_runs([first.pk, final.pk, fine.pk, gone], batch=BATCH, requested_by="ada")
    assert report.done == (final.pk,)
    assert why(report) == {first.pk: "goes_on", fine.pk: "not_failed", gone: "gone"}
    again = RoutineRun.objects.get(retry_of=final.pk)
    assert (again.trigger, again.chain, again.args, again.requested_by) == ("manual", None, [1], "ada")


def test_a_batch_that_is_repeated_asks_for_nothing_twice(make: Make, time: Time) -> None:
    """Neither does another batch, until what it asked for was skipped or cancelled."""
    run = failed_run(make(), 1)
    for _ in range(2):
        assert service.retry_runs([run.pk, run.pk], batch=BATCH).done == (run.pk,)
    assert RoutineRun.objects.filter(retry_of=run.pk).count() == 1
    assert why(service.retry_runs([run.pk], batch="other")) == {run.pk: "done_again"}
    service.cancel_run(RoutineRun.objects.get(retry_of=run.pk))
    assert service.retry_runs([run.pk], batch="other").done == (run.pk,)


@pytest.mark.parametrize("policy", ["FORBID", "REPLACE"])
def test_a_routine_that_runs_one_at_a_time_gets_one(make: Make, time: Time, policy: str) -> None:
    """A second retry would be skipped, or stop the first; and nothing is written about it."""
    routine = make(concurrency_policy=policy)
    runs = [failed_run(routine, number) for number in (1, 2, 3)]
    report = service.retry_runs([run.pk for run in runs], batch=BATCH)
    assert report.done == (runs[0].pk,)
    assert set(why(report).values()) == {"active"}
    assert list(RoutineRun.objects.exclude(status="FAILED").values_list("status", flat=True)) == ["PENDING"]


def test_what_the_service_refuses_is_passed_over(make: Make, time: Time) -> None:
    """The others of the batch are done."""
    archived, routine, moved = make("archived"), make("active"), make("moved", queue="before")
    runs = [failed_run(archived, 1), failed_run(routine, 2)]
    hidden = failed_run(moved, 3, queue="after", args=[], kwargs={"password": "hunter2"})
    service.archive_routine(archived)
    report = service.retry_runs([hidden.pk], batch=BATCH)
    assert why(report) == {hidden.pk: "refused"}
    assert "hidden arguments" in report.passed_over[0][2]
    report = service.retry_runs([run.pk for run in runs], batch=BATCH)
    assert report.done == (runs[1].pk,)
    assert why(report) == {runs[0].pk: "archived"}


def test_what_waits_is_cancelled_and_what_runs_is_asked_to_stop(make: Make, time: Time) -> None:
    """What has ended stays as it is."""
    routine = make()
    waits, runs, over = waiting_run(routine, 1), running_run(routine, 2), failed_run(routine, 3)
    report = service.cancel_runs([waits.pk, runs.pk, over.pk], reason="wrong month", actor="ada")
    assert report.done == (waits.pk, runs.pk)
    assert why(report) == {over.pk: "ended"}
    waits.refresh_from_db()
    runs.refresh_from_db()
    assert (waits.status, waits.error) == ("CANCELLED", "cancelled by ada: wrong month")
    assert runs.stop_requested_at is not None


def test_too_many_at_once_are_refused(make: Make, time: Time) -> None:
    """A caller goes on in pieces."""
    with pytest.raises(service.InvalidValue, match="at most 500"):
        service.cancel_runs([made_at(MONDAY)] * 501)
    with pytest.raises(service.InvalidValue, match="reason"):
        service.cancel_runs([], reason="x" * 3_000)


def test_the_pieces_of_a_filter_come_to_an_end(make: Make, time: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    """Newest first, also through stretches without any, and the retries themselves are not met."""
    monkeypatch.setattr(run_selection, "LOOKED_THROUGH", 3)
    routine = make()
    wanted = [failed_run(routine, number, worker="w@1" if number % 4 == 0 else "w@2") for number in range(1, 13)][3::4]
    meant = service.RunSelection.of(worker="w@1", status="FAILED")
    before: UUID | None = service.oldest_run_id(service.now())
    seen: list[UUID] = []
    while before is not None:
        piece = service.piece_for(service.ManyVerb.RETRY, meant, before=before, limit=2)
        service.retry_runs(piece.runs, batch=BATCH)
        seen += piece.runs
        before = piece.before
    assert seen == [run.pk for run in wanted]


def test_counting_is_bounded_and_says_so(make: Make, time: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    """By how many are counted, and by how many rows are looked through."""
    routine = make()
    for number in range(1, 5):
        failed_run(routine, number, error=f"Timeout: {number} s" if number > 1 else "ValueError: no")
    retry, every = service.ManyVerb.RETRY, service.RunSelection.of(routine=routine)
    assert service.count_for(retry, every, before=later()) == service.Counted(4, True)
    alike = service.RunSelection.of(routine=routine, error="Timeout: # s")
    assert service.count_for(retry, alike, before=later()) == service.Counted(3, True)
    assert service.count_for(service.ManyVerb.CANCEL, every, before=later()) == service.Counted(0, True)
    monkeypatch.setattr(many_runs, "COUNTED_AT_MOST", 2)
    assert service.count_for(retry, every, before=later()) == service.Counted(2, False)
    monkeypatch.setattr(run_selection, "LOOKED_THROUGH", 1)
    assert service.count_for(retry, every, before=later()) == service.Counted(1, False)


def test_many_are_retried_and_cancelled_from_the_command_line(
    make: Make, time: Time, capsys: pytest.CaptureFixture[str]
) -> None:
    """Counted first, if that is asked for; and never all because nothing was said."""
    routine = make("nightly", task="tests.acceptance.tasks.note")
    runs = [failed_run(routine, number) for number in (1, 2)]
    call_command("routines", "retry", "--routine", "nightly", "--since", "1h ago", "--dry-run")
    call_command("routines", "retry", "--routine", "nightly", "--since", "1h ago")
    call_command("routines", "retry", "--routine", "nightly", "--since", "1h ago")
    call_command("routines", "retry", "--routine", "nightly", "--dry-run")
    waiting_run(routine, 9, pk=made_at(MONDAY - timedelta(minutes=9)))
    call_command("routines", "cancel", "--status", "pending", "--reason", "a mistake", "--json")
    said = capsys.readouterr().out
    assert said.startswith("2 runs\n2 runs done\n0 runs done; passed over: 2 done_again\n0 runs\n")
    assert '"done": 1' in said
    assert RoutineRun.objects.get(status="CANCELLED").error.endswith("a mistake")
    call_command("routines", "retry", str(runs[0].pk))
    assert RoutineRun.objects.filter(retry_of=runs[0].pk).count() == 2
    with pytest.raises(CommandError, match="say which runs are meant"):
        call_command("routines", "cancel")
    with pytest.raises(CommandError, match="not both"):
        call_command("routines", "cancel", str(runs[0].pk), "--status", "PENDING")
