"""What is typed wrong is refused with one clear error, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from routines_app import service
from routines_app.core.errors import RoutineError
from routines_app.models import Routine, RoutineRun, RoutineState, ScheduleChange
from tests.integration.conftest import MONDAY, NOTE

Make = Callable[..., Routine]
NAIVE = datetime(2026, 3, 2, 10)

# field named in the error, what was given, a piece of what would be right
WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("name", {"name": ""}, "not empty"),
    ("name", {"name": "   "}, "not empty"),
    ("name", {"name": "x" * 201}, "at most 200"),
    ("name", {"name": "a\x00b"}, "control characters"),
    ("name", {"name": "a\ud800b"}, "surrogates"),
    ("name", {"name": 7}, "text"),
    ("name", {"name": "7"}, "digits only"),
    ("name", {"name": "nightly\u202etroper"}, "U+202E"),
    ("tags", {"tags": ["a", "b\u200b"]}, "U+200B"),
    ("group", {"group": "a\u2028b"}, "U+2028"),
    ("description", {"description": "a\x9bb"}, "U+009B"),
    ("task", {"task": "tests.acceptance.tasks.noet"}, "did you mean tests.acceptance.tasks.note"),
    ("task", {"task": "note"}, "did you mean tests.acceptance.tasks.note"),
    ("task", {"task": "routines_app.execute_run"}, "registered"),
    ("task", {"task": None}, "registered name"),
    ("cron", {"cron": "every day"}, ""),
    ("cron", {"cron": "61 * * * *"}, ""),
    ("cron", {"cron": "0 0 31 4 *"}, "never"),
    ("cron", {"cron": 5}, "cron expression"),
    ("cron", {"cron": "0 * * * *", "every": "1h"}, "not both"),
    (
        "cron",
        {"cron": "0 0 1 1 *", "start_at": MONDAY, "end_at": MONDAY + timedelta(days=2)},
        "between start_at and end_at",
    ),
    ("every", {"every": "10"}, "say '10s'"),
    ("every", {"every": 3600}, "say '3600s', '1h' or a timedelta"),
    ("every", {"every": 0.5}, "say '0.5s', '500ms' or a timedelta"),
    ("every", {"every": "-5s"}, ""),
    ("every", {"every": "999ms"}, "between 1s"),
    ("interval_ms", {"interval_ms": 999}, "between 1s"),
    ("every", {"every": "11000d"}, "between 1s"),
    ("every", {"every": timedelta(days=99_999_999)}, ""),
    ("every", {"every": True}, "timedelta"),
    ("every", {"every": float("nan")}, ""),
    ("trigger_kind", {"trigger_kind": "CRON"}, "give cron"),
    ("trigger_kind", {"trigger_kind": "MANUAL", "every": "1h"}, "none of cron"),
    ("trigger_kind", {"trigger_kind": "SOMETIMES"}, "one of CRON, INTERVAL, ONCE, MANUAL"),
    ("timezone", {"timezone": "Europe/Pariss"}, "Europe/Paris"),
    ("timezone", {"timezone": None}, "timezone"),
    ("start_at", {"start_at": NAIVE}, "with a timezone"),
    ("start_at", {"start_at": "2026-03-02"}, "datetime"),
    ("end_at", {"end_at": datetime(9999, 1, 1, tzinfo=UTC)}, "between"),
    ("end_at", {"start_at": MONDAY, "end_at": MONDAY - timedelta(seconds=1)}, "not before start_at"),
    ("jitter_ms", {"jitter_ms": "25h"}, "between 0s and 1d"),
    ("priority", {"priority": "URGENT"}, "one of LOW, MEDIUM, HIGH"),
    ("emphasis", {"emphasis": float("inf")}, "between 0 and 100"),
    ("emphasis", {"emphasis": -1}, "between 0 and 100"),
    ("parent", {"parent": "nobody"}, "no routine"),
    ("pool", {"pool": "nowhere"}, "no pool"),
    ("pool", {"pool": 2**70}, "no pool has that id"),
    ("concurrency_policy", {"concurrency_policy": "MAYBE"}, "ALLOW, FORBID, REPLACE, QUEUE"),
    ("catch_up_policy", {"catch_up_policy": 1}, "SKIP, LAST, ALL"),
    ("misfire_grace_ms", {"misfire_grace_ms": -1}, ""),
    ("catch_up_limit", {"catch_up_limit": 0}, "between 1"),
    ("timeout_ms", {"timeout_ms": "25h"}, "between 1s and 1d, or 0 for none"),
    ("timeout_ms", {"timeout_ms": 10}, "between 1s and 1d"),
    ("timeout_ms", {"timeout_ms": -1}, ""),
    ("max_attempts", {"max_attempts": 0}, "between 1 and 1000"),
    ("max_attempts", {"max_attempts": 1001}, "between 1 and 1000"),
    ("max_attempts", {"max_attempts": "3"}, "whole number"),
    ("max_attempts", {"max_attempts": True}, "whole number"),
    ("retry_jitter", {"retry_jitter": 1.5}, "between 0 and 1"),
    ("retry_max_delay_ms", {"retry_delay_ms": "10m", "retry_max_delay_ms": "1m"}, "not below retry_delay_ms"),
    ("retry_for", {"retry_for": "ValueError"}, "list"),
    ("retry_for", {"retry_for": ["not a name"]}, "ValueError"),
    ("park_after", {"park_after": -1}, "between 1"),
    ("max_interval_ms", {"min_interval_ms": "2h", "max_interval_ms": "1h"}, "not below min_interval_ms"),
    ("keep_result", {"keep_result": 1}, "True or False"),
    ("tags", {"tags": "nightly"}, "list"),
    ("tags", {"tags": [str(number) for number in range(101)]}, "at most 100"),
    ("tags", {"tags": [["nested"]]}, "text"),
    ("args", {"args": "abc"}, "list"),
    ("args", {"args": [b"bytes"]}, "JSON"),
    ("args", {"args": [{1: 2}]}, "JSON"),
    ("args", {"args": [float("nan")]}, "NaN"),
    ("args", {"args": [float("inf")]}, "infinity"),
    ("args", {"args": [2**64]}, "64 bits"),
    ("args", {"args": ["a\x00b"]}, "NUL"),
    ("args", {"args": ["\ud800"]}, "surrogates"),
    ("args", {"args": ["x" * 70_000]}, "65536 bytes"),
    ("args", {"args": ["é" * 33_000]}, "65536 bytes"),
    ("args", {"args": [datetime(2026, 1, 1, tzinfo=UTC)]}, "JSON"),
    ("kwargs", {"kwargs": [1]}, "dictionary"),
    ("kwargs", {"kwargs": {1: 2}}, "text keys"),
    ("kwargs", {"kwargs": {"a": {"b": (1, {2})}}}, "JSON"),
    ("options", {"options": [1]}, "any of priority, headers, exchange, routing_key"),
    ("options", {"options": {"prority": 1}}, "did you mean priority?"),
    ("options", {"options": {"countdown": 1}}, "known are priority, headers"),
    ("options", {"options": {"priority": "high"}}, "priority: give a whole number between 0 and 255"),
    ("options", {"options": {"priority": True}}, "priority: give a whole number"),
    ("options", {"options": {"priority": 256}}, "between 0 and 255"),
    ("options", {"options": {"exchange": 7}}, "exchange: give text"),
    ("options", {"options": {"routing_key": "a\x00"}}, "routing_key: give text"),
    ("options", {"options": {"exchange": "é" * 200}}, "exchange: give text of at most 255 bytes; this has 400"),
    *(
        ("options", {"options": {"exchange": name}}, "exchange: give an exchange")
        for name in ("amq.topic", "celeryev", "celery.pidbox", "reply.celery.pidbox", "celery_delayed_delivery")
    ),
    ("options", {"options": {"routing_key": "é" * 200}}, "routing_key: give text of at most 255 bytes"),
    ("options", {"options": {"headers": {"é" * 200: 1}}}, "headers: give keys of at most 255 bytes"),
    ("options", {"options": {"headers": {"a": [{"x" * 256: 1}]}}}, "headers: give keys of at most 255 bytes"),
    ("options", {"options": {"headers": [1]}}, "headers: give a dictionary with text keys"),
    ("options", {"options": {"headers": {"a": b"b"}}}, "headers: JSON values only"),
    ("options", {"options": {"headers": {"task": "x"}}}, "headers: give headers of your own: task is one of Celery's"),
    *(
        ("options", {"options": {"headers": {name: "x"}}}, f"{name} is one of Celery's or the broker's")
        for name in (
            "compression",
            "headers",
            "properties",
            "delivery_info",
            "hostname",
            "get",
            "is_eager",
            "CC",
            "BCC",
        )
    ),
    ("options", {"options": {"headers": {"a": "x" * 4_000}}}, "at most 4000 bytes"),
    ("task", {"task": "tests.acceptance.tasks.noet"}, "did you mean tests.acceptance.tasks.note "),
    ("task", {"task": "tests.acceptance.tasks.noet"}, "allow_unknown_task=True"),
    ("task", {"task": "routines_app.execute_run", "allow_unknown_task": True}, "of yours"),
    ("task", {"task": "", "allow_unknown_task": True}, "registered name"),
    ("status", {"status": "PAUSED"}, "pause_routine"),
    ("declared_in", {"declared_in": "elsewhere"}, "cannot be changed"),
    ("time_out_ms", {"time_out_ms": 5}, "timeout_ms"),
    ("actor", {"actor": "x" * 256}, "at most 255"),
]


def ledger() -> tuple[int, ...]:
    return tuple(model.objects.count() for model in (Routine, RoutineState, RoutineRun, ScheduleChange))


@pytest.mark.parametrize(("field", "values", "expected"), WRONG, ids=lambda value: repr(value)[:40])
def test_a_wrong_value_is_refused_and_nothing_is_written(
    db: None, field: str, values: dict[str, Any], expected: str
) -> None:
    """The error names the field, shows the value and says what would be right."""
    with pytest.raises(RoutineError) as caught:
        service.create_routine(**({"name": "report", "task": NOTE} | values))
    assert caught.value.field == field
    assert str(caught.value).startswith(f"{field}: ")
    assert expected in caught.value.expected
    assert ledger() == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("field", "values"), [(f, v) for f, v, _ in WRONG if f not in ("trigger_kind", "actor")], ids=lambda v: repr(v)[:40]
)
def test_an_edit_refuses_what_a_creation_refuses(make: Make, field: str, values: dict[str, Any]) -> None:
    """The same rules hold for changes, and a refused change leaves the routine as it was."""
    routine = make()
    before = Routine.objects.values().get()
    with pytest.raises(RoutineError) as caught:
        service.update_routine(routine, **values)
    assert caught.value.field == field
    assert Routine.objects.values().get() == before
    assert ledger() == (1, 1, 0, 1)


def test_deeply_nested_arguments_are_refused_without_a_crash(make: Make) -> None:
    """Nesting is bounded before an encoder's recursion limit is."""
    nested: list[Any] = []
    for _ in range(5_000):
        nested = [nested]
    with pytest.raises(service.InvalidValue, match="nest at most 25"):
        make(args=nested)


@pytest.mark.each_database
def test_the_deepest_arguments_are_stored_by_every_database(make: Make) -> None:
    """With the history around them: some databases take few levels."""
    nested: list[Any] = []
    for _ in range(24):
        nested = [nested]
    routine = make(args=nested, kwargs={"a": nested[0]})
    service.update_routine(routine, args=[], kwargs={})
    service.run_now(routine, args=nested)
    assert RoutineRun.objects.get().args == nested
    change = ScheduleChange.objects.get(kind="updated")
    assert (change.before["args"], change.before["kwargs"]) == (nested, {"a": nested[0]})


def test_a_name_that_is_taken_is_refused(make: Make) -> None:
    """Names are unique, those of archived routines included."""
    service.archive_routine(make())
    with pytest.raises(service.DuplicateName, match="archived ones included"):
        make()
    assert Routine.objects.count() == 1


@pytest.mark.parametrize("ref", ["nobody", 12345, "99", Routine(pk=77)], ids=repr)
def test_what_does_not_exist_is_not_found(db: None, ref: Any) -> None:
    """An unknown name, id or instance is NotFound for every verb."""
    for verb in (service.pause_routine, service.run_now, service.list_runs, service.clear_hints):
        with pytest.raises(service.NotFound):
            verb(ref)


def test_a_missing_name_suggests_names_that_start_like_it(make: Make) -> None:
    """A slip at the end of a name is the common one."""
    make("nightly report")
    with pytest.raises(service.NotFound, match="did you mean nightly report"):
        service.run_now("nightly reprot")


@pytest.mark.parametrize("ref", [1.5, None, True, b"report", "a\x00b"], ids=repr)
def test_a_routine_is_an_instance_an_id_or_a_name(db: None, ref: Any) -> None:
    """Anything else is refused before the database sees it."""
    with pytest.raises(service.InvalidValue, match="give a Routine, its id or its name"):
        service.run_now(ref)


def test_status_changes_that_make_no_sense_are_refused(make: Make) -> None:
    """Each verb says what it needs."""
    routine = make(every="1h")
    with pytest.raises(service.NotAllowed, match="it is not parked"):
        service.reset_routine(routine)
    with pytest.raises(service.NotAllowed, match="archive it first"):
        service.delete_routine(routine)
    service.archive_routine(routine)
    for verb in (
        service.archive_routine,
        service.pause_routine,
        service.resume_routine,
        service.reset_routine,
        service.run_now,
    ):
        with pytest.raises(service.NotAllowed):
            verb(routine)
    with pytest.raises(service.NotAllowed, match="archived"):
        service.update_routine(routine, description="x")
    with pytest.raises(service.NotAllowed, match="archived"):
        service.propose_interval(routine, "1m", ttl="1h")
