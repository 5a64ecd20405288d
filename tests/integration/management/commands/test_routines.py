"""`manage.py routines …`."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command

from routines_app import service
from routines_app.core.words import RoutineStatus, RunStatus, Source
from routines_app.management.subcommands import subcommands
from routines_app.models import ChangeKind, Node, Routine, RoutineRun, RoutineState, ScheduleChange, new_run_id
from routines_app.protocol.upkeep.prune import Sweep
from tests.integration.conftest import MONDAY, Time
from tests.integration.verbs.rows import running_run, waiting_run

Make = Callable[..., Routine]


def routines(*arguments: str) -> str:
    out = StringIO()
    call_command("routines", *arguments, stdout=out)
    return out.getvalue()


def test_each_subcommand_is_found_by_its_verb() -> None:
    """A module is a subcommand, under its own name and with a word of help."""
    found = subcommands()
    assert {"list", "prune", "run", "clear-hints", "import"} <= found.keys()
    modules = {verb: verb.replace("-", "_") for verb in found} | {"import": "import_"}
    assert all(
        command.__module__.endswith(f".subcommands.{modules[verb]}") and command.help for verb, command in found.items()
    )


def test_list_shows_schedules_and_next_fires(make: Make) -> None:
    """With filters, as a table and as JSON."""
    make("nightly", cron="0 3 * * *", timezone="Europe/Paris")
    make("often", every="90s")
    service.pause_routine(make("by hand"))
    table = routines("list")
    assert "0 3 * * * (Europe/Paris)" in table
    assert "every 1m 30s" in table
    found = json.loads(routines("list", "--status", "ACTIVE", "--search", "OFT", "--json"))
    assert [(row["name"], row["why"]) for row in found] == [("often", Source.BASELINE_INTERVAL)]


def test_show_tells_about_one_routine_and_its_runs(make: Make) -> None:
    """By name or by id."""
    routine = make(every="1h", description="the report")
    run = service.run_now(routine)
    for ref in (["report"], ["--id", str(routine.pk)]):
        shown = routines("show", *ref)
        assert "the report" in shown
        assert str(run.pk) in shown


def test_show_tells_no_secrets(make: Make) -> None:
    """A terminal is scrolled, shared and logged."""
    make(args=["--pass", "hunter2"], kwargs={"token": "hunter2", "url": "redis://:hunter2@h/0", "limit": 5})
    shown = routines("show", "report")
    assert "hunter2" not in shown
    assert "'limit': 5" in shown


@pytest.mark.parametrize("option", ["--args", "--kwargs"])
@pytest.mark.parametrize("given", ['{"password": "hunter2"', '["--pass", "hunter2", NaN]', '{"pwd": ["hunter2", NaN]}'])
def test_what_is_refused_is_told_without_secrets(make: Make, option: str, given: str) -> None:
    make()
    with pytest.raises(CommandError) as refused:
        routines("run", "report", option, given)
    assert "hunter2" not in str(refused.value)


def test_a_mask_is_no_value(make: Make) -> None:
    """Whoever copies what `show` has shown would send dots to the task."""
    make()
    with pytest.raises(CommandError, match="stands for a value that is hidden: give the value itself"):
        routines("run", "report", "--kwargs", '{"token": "••••••"}')


def test_a_name_that_looks_like_an_id_is_a_name(make: Make) -> None:
    """Whoever means an id says so, with each subcommand that takes a routine."""
    meant = make("report", every="1h")
    named = make("impostor", every="1h")
    Routine.objects.filter(pk=named.pk).update(name=str(meant.pk))  # as older rows may be called
    as_name, as_id = str(meant.pk), ["--id", str(meant.pk)]
    RoutineState.objects.update(failure_count=1)  # something to reset
    for verb in ("pause", "resume", "reset", "run", "replan", "archive", "delete"):
        assert routines(verb, as_name)
        assert not touched(meant), verb
    assert not Routine.objects.filter(pk=named.pk).exists()
    for verb in ("show", "plan", "pause", "resume", "reset", "run", "replan", "archive", "delete"):
        assert routines(verb, *as_id)
    assert not Routine.objects.exists()


def touched(routine: Routine) -> bool:
    changed = ScheduleChange.objects.filter(routine_id=routine.pk).exclude(kind=ChangeKind.CREATED)
    return changed.exists() or routine.runs.exists()


def test_plan_shows_the_coming_fires(make: Make) -> None:
    """Of all routines or of some."""
    make("one", every="10m")
    make("two", every="15m")
    found = json.loads(routines("plan", "one", "--horizon", "25m", "--json"))
    assert [row["name"] for row in found] == ["one", "one"]
    assert "two" in routines("plan", "--limit", "2")


def test_nodes_shows_beats_and_workers(db: None) -> None:
    """As they reported themselves."""
    Node.objects.create(name="beat@a:1", role="beat", host="a", pid=1, load=1.23456, started_at=MONDAY, seen_at=MONDAY)
    Node.objects.create(name="worker@a:2", role="worker", host="a", pid=2, started_at=MONDAY, seen_at=MONDAY)
    found = json.loads(routines("nodes", "--json"))
    assert [(row["name"], row["load"]) for row in found] == [("beat@a:1", 1.23), ("worker@a:2", None)]
    assert "beat@a:1" in routines("nodes")


def test_run_takes_arguments_and_a_key(make: Make) -> None:
    """The operator is recorded."""
    make()
    said = routines("run", "report", "--args", "[1]", "--kwargs", '{"a": 2}', "--key", "k")
    run = RoutineRun.objects.get()
    assert said == f"run {run.pk} is PENDING\n"
    assert (run.args, run.kwargs) == ([1], {"a": 2})
    assert run.requested_by.endswith("command line)")
    assert routines("run", "report", "--key", "k") == said


def test_pause_and_resume_say_what_they_did(make: Make, time: Time) -> None:
    """And what was released."""
    make(every="1h")
    assert "is paused until 2026-03-03 00:00:00+00:00" in routines(
        "pause", "report", "--until", "2026-03-03T00:00", "--reason", "quiet"
    )
    time.pass_by(hours=3)
    assert "3 slots of the pause released as LAST" in routines("resume", "report", "--release", "LAST")
    reasons = ScheduleChange.objects.order_by("id").values_list("reason", flat=True)
    assert list(reasons) == ["", "quiet", ""]
    assert "report is active; it was not paused; next look" in routines("resume", "report")


def test_cancel_archive_and_delete(make: Make) -> None:
    """The end of a routine."""
    routine = make(every="1h")
    run = waiting_run(routine, 1)
    assert routines("cancel", str(run.pk)) == f"run {run.pk} is CANCELLED\n"
    assert routines("archive", "report") == "report is archived\n"
    assert "deleted with 1 runs" in routines("delete", "report")
    assert not Routine.objects.exists()


def test_abandon(make: Make) -> None:
    """What cannot be stopped ends as failed; what has ended is refused."""
    run = running_run(make(every="1h"))
    assert routines("abandon", str(run.pk), "--reason", "gone") == f"run {run.pk} is FAILED\n"
    run.refresh_from_db()
    assert run.error.endswith(": gone")
    with pytest.raises(CommandError, match="only RUNNING runs can be abandoned; this one is FAILED"):
        routines("abandon", str(run.pk))


def test_reset_brings_a_parked_routine_back(make: Make) -> None:
    """And says when it fires."""
    make(every="1h")
    Routine.objects.update(status=RoutineStatus.PARKED)
    RoutineState.objects.update(next_run_at=None, next_source=Source.PARKED)
    assert "report is active; next look 2026-03-02 11:00:30+00:00" in routines("reset", "report")


def test_replan_finds_what_plain_sql_has_changed(make: Make) -> None:
    """And leaves the others alone; a routine without a state gets one."""
    make("same", every="1h")
    changed = make("changed", every="1h")
    Routine.objects.filter(pk=changed.pk).update(interval_ms=600_000)
    Routine.objects.create(name="bare", task="t", trigger_kind="CRON", cron="0 * * * *")
    assert routines("replan") == "2 routines replanned\n"
    assert RoutineState.objects.get(pk=changed.pk).next_slot == MONDAY + timedelta(minutes=10)
    assert RoutineState.objects.get(routine__name="bare").next_slot == MONDAY.replace(hour=11, minute=0, second=0)
    assert routines("replan") == "0 routines replanned\n"
    assert routines("replan", "same") == "1 routines replanned\n"


def test_prune_deletes_old_ended_runs(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """In batches; what is active or young stays."""
    routine = make()
    old = new_run_id().int - (40 * 86_400_000 << 80)
    for number in range(3):
        waiting_run(routine, number, id=UUID(int=old + number), **ended())
    waiting_run(routine, 7, **ended())
    now = RoutineRun.objects.order_by("-id")[0]
    monkeypatch.setattr("routines_app.protocol.ledger.clock.now", lambda: datetime.now(UTC))
    assert routines("prune", "--days", "30").endswith("3 runs older than 30 days deleted\n")
    assert RoutineRun.objects.get().pk == now.pk


@pytest.mark.parametrize("days", [25_000, 36_525, 1e9, float("inf"), float("nan"), 0, -3])
def test_no_run_is_too_old_for_more_days_than_ids_can_tell(make: Make, days: float) -> None:
    """Ids count from 1970: a time before it must not turn into one far in the future."""
    waiting_run(make(), 1, **ended())
    assert Sweep().once(datetime.now(UTC), days) is None
    assert RoutineRun.objects.exists()


def ended() -> dict[str, Any]:
    return {"status": RunStatus.SKIPPED, "completed_at": MONDAY}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "nobody"), "no routine has that name$"),
        (("run", "rep"), "did you mean report"),
        (("run", "--id", "999999"), "no routine has that id"),
        (("run", "--id", "9" * 30), "no routine has that id"),
        (("run", "--id", "report"), "invalid int value"),
        (("run", "--id", "9" * 5_000), "invalid int value"),
        (("run", "report", "--id", "1"), "not allowed with argument"),
        (("run",), "is required"),
        (("plan", "--id", "999999"), "no routine has that id"),
        (("run", "report", "--args", "{"), "give JSON"),
        (("run", "report", "--args", "{}"), "give a list"),
        (("run", "report", "--args", "[" * 50_000), "nest at most 25 levels"),
        (("run", "report", "--kwargs", f'{{"a": {"9" * 5_000}}}'), "at most 64 bits"),
        (("pause", "report", "--until", "tomorrow"), "--until: .* is not accepted: give a date and time such as"),
        (
            ("pause", "report", "--until", "2026-13-01T00:00"),
            "--until: .* is not accepted: give a date and time such as",
        ),
        (("reset", "report"), "it is not parked"),
        (("cancel", "x"), "a UUID"),
        (("plan", "--horizon", "soon"), "horizon"),
        (("plan", "--horizon", "3600"), "say '3600s' or '1h'"),
        (("audit", "--since", "24"), "since: '24' is not accepted: say '24s'"),
        (("audit", "--late", "60"), "late: '60' is not accepted: say '60s' or '1m'"),
        (("list", "--limit", "-1"), "--limit: -1 is not accepted"),
        (("list", "--limit", "9" * 30), "--limit"),
        (("show", "12"), r"no routine has that name; an id is given as an integer \(on the command line: --id\)"),
        (("show", "9" * 5_000), "no routine has that name"),
        (("show", "report", "--runs", "-1"), "limit"),
        *((("prune", "--days", days), "--days") for days in ("nan", "inf", "-inf", "1e9", "-3", "0")),
    ],
)
def test_what_is_wrong_is_said_in_one_line(make: Make, arguments: tuple[str, ...], message: str) -> None:
    """No traceback: the error of the service is the command's."""
    make(every="1h")
    with pytest.raises(CommandError, match=message):
        routines(*arguments)


def test_why_answers_for_a_time_as_people_type_it(make: Make, time: Time) -> None:
    """In sentences, or as JSON with their codes; by name or by id; without a time for now."""
    routine = make("nightly", cron="0 3 * * *")
    assert "was no slot of its schedule (0 3 * * *)" in routines("why", "nightly")
    assert "There was no such routine yet" in routines("why", "nightly", "03:00", "yesterday")
    found = json.loads(routines("why", "--id", str(routine.pk), "tomorrow 03:00", "--json"))
    assert [sentence["code"] for sentence in found["sentences"]] == ["coming"]
    with pytest.raises(CommandError, match="03:00 yesterday"):
        routines("why", "nightly", "soon")
    with pytest.raises(CommandError, match="--id"):
        routines("why")
