"""Ends that nobody has told, because who wrote them was gone too soon: a beat tells them, once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.db import connection, transaction
from django.utils import timezone

from routines_app import service
from routines_app.core.words import Reason
from routines_app.models import Routine, RoutineRun
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.end.finish import finish
from routines_app.protocol.publish.waiting import dispatch_waiting
from routines_app.protocol.record import events, told
from routines_app.protocol.record.outcome import cancelled, failed, succeeded
from routines_app.protocol.run.start import Started, start
from routines_app.protocol.upkeep import untold
from routines_app.protocol.upkeep.untold import TOLD_AT_ONCE, tell_untold
from tests.acceptance.ringing import ring, routine
from tests.integration.hearing import Heard, hearing, names_of
from tests.integration.holding import needs_postgresql

pytestmark = pytest.mark.usefixtures("ledger", "short_lived_threads")

NOTE = "tests.acceptance.tasks.note"


@pytest.fixture
def heard() -> Iterator[Heard]:
    with hearing() as heard:
        yield heard


@contextmanager
def dying() -> Iterator[None]:
    """Whoever ends a run is gone after the commit, before anything is told."""
    with patch.object(events, "on_commit"), patch.object(told, "on_commit"):
        yield


def begin(name: str, **policies: Any) -> Any:
    begun = start(ring(routine(name, **policies), send=False).id, "me")
    assert isinstance(begun, Started)
    return begun.facts


def much_later() -> Any:
    return timezone.now() + timedelta(seconds=2 * told.TELL_SECONDS)


def end_by_expiry() -> None:
    old = timezone.now() - timedelta(hours=1)
    start(ring(routine("late", expires_ms=1000), send=False, scheduled_for=old).id, "me")


def end_by_expiry_in_the_outbox() -> None:
    old = timezone.now() - timedelta(hours=1)
    waits = {"admitted_at": None, "dispatched_at": None, "publish_after": old}
    ring(routine("late", expires_ms=1000), send=False, scheduled_for=old, **waits)
    dispatch_waiting(timezone.now())


def end_by_cancelling() -> None:
    service.cancel_run(ring(routine("unwanted"), send=False).id)


def end_by_archiving() -> None:
    made = routine("old")
    ring(made, send=False)
    service.archive_routine(made)


def end_by_overlap() -> None:
    made = routine("alone", concurrency_policy="FORBID")
    ring(made, send=False)
    service.run_now(made)


def end_by_misfire() -> None:
    service.create_routine("missed", task=NOTE, every="10s", catch_up_policy="SKIP", misfire_grace_ms=1000)
    claim_due(timezone.now() + timedelta(minutes=5))


@pytest.mark.parametrize(
    ("end", "names"),
    [
        (lambda: finish(begin("good"), succeeded("1")), ["run_succeeded"]),
        (lambda: finish(begin("stopped"), cancelled(Reason.CANCELLED)), ["run_cancelled"]),
        (lambda: finish(begin("bad"), failed(Reason.EXCEPTION, "no")), ["run_failed"]),
        (
            lambda: finish(begin("last", max_attempts=1), failed(Reason.EXCEPTION, "no")),
            ["run_failed", "routine_exhausted"],
        ),
        (
            lambda: finish(begin("hopeless", max_attempts=1, park_after=1), failed(Reason.EXCEPTION, "no")),
            ["run_failed", "routine_exhausted", "routine_parked"],
        ),
        (end_by_expiry, ["run_skipped"]),
        (end_by_expiry_in_the_outbox, ["run_skipped"]),
        (end_by_cancelling, ["run_cancelled"]),
        (end_by_archiving, ["run_cancelled"]),
        (end_by_overlap, ["run_skipped"]),
        (end_by_misfire, ["run_skipped"]),
    ],
)
def test_an_end_that_was_not_told_is_told_by_a_beat_once(
    end: Callable[[], Any], names: list[str], heard: Heard
) -> None:
    """With the same facts: which run, why, and what it means for its chain and its routine."""
    end()
    first, heard[:] = list(heard), []
    assert names_of(first) == names
    assert not RoutineRun.objects.filter(tell_after__isnull=False).exists()
    RoutineRun.objects.all().delete()
    Routine.objects.all().delete()

    with dying():
        end()
    assert heard == []
    assert tell_untold(timezone.now()) == 0
    assert tell_untold(much_later()) == 1
    assert tell_untold(much_later() + timedelta(hours=1)) == 0
    assert [facts_of(one) for one in heard] == [facts_of(one) for one in first]


def facts_of(one: tuple[str, dict[str, Any]]) -> tuple[Any, ...]:
    name, facts = one
    run = facts["run"]
    return name, facts["sender"], facts["reason"], facts.get("will_retry"), run.status, facts["routine"].name


def test_nothing_waits_to_be_told_where_nobody_listens() -> None:
    """Our own receivers write to the log, which a crash may cut short."""
    finish(begin("good"), succeeded("1"))
    end_by_cancelling()
    assert not RoutineRun.objects.filter(tell_after__isnull=False).exists()


def test_many_ends_are_told_in_one_pass(heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as there is time for, and here there is."""
    monkeypatch.setattr(untold, "BUSY_SECONDS", 60.0)
    runs = [begin(f"good{number}") for number in range(TOLD_AT_ONCE + 3)]
    with dying():
        for run in runs:
            finish(run, succeeded("1"))
    assert tell_untold(much_later()) == len(runs)
    assert {facts["run"].id for _, facts in heard} == {run.id for run in runs}
    assert len(heard) == len(runs)


def test_of_two_beats_one_tells(heard: Heard) -> None:
    """Each end is taken by one of them, and by another only when that one is gone too."""
    with dying():
        for number in range(10):
            finish(begin(f"good{number}"), succeeded("1"))
    later = much_later()

    def pass_over(_: int) -> int:
        try:
            return tell_untold(later)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as beats:
        assert sum(beats.map(pass_over, range(4))) == 10
    assert len(heard) == 10


@needs_postgresql
@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("routinerun", "scheduled_for"),
        ("routinerun", "started_at"),
        ("routinerun", "completed_at"),
        ("routinerun", "tell_after"),
        ("routine", "created_at"),
    ],
)
@pytest.mark.parametrize("value", ["infinity", "-infinity"])
def test_an_end_that_cannot_be_read_is_mended_and_told_with_the_others(
    table: str, column: str, value: str, heard: Heard
) -> None:
    """Each once: the next pass has nothing to tell."""
    bad, good = begin("bad"), begin("good")
    with dying():
        for run in (bad, good):
            finish(run, succeeded("1"))
    with connection.cursor() as cursor:
        key = bad.id if table == "routinerun" else bad.routine_id
        cursor.execute(f"UPDATE routines_{table} SET {column} = %s WHERE id = %s", [value, key])
    assert tell_untold(much_later()) == 2
    assert tell_untold(much_later() + timedelta(hours=1)) == 0
    assert sorted(facts["routine"].name for name, facts in heard if name == "run_succeeded") == ["bad", "good"]


def test_one_that_cannot_be_told_does_not_make_the_others_be_told_again(
    heard: Heard, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is tried again, which is said once."""
    bad, good = begin("bad"), begin("good")
    with dying():
        for run in (bad, good):
            finish(run, succeeded("1"))
    read_back = untold.read_back

    def fail(alias: str, run: RoutineRun) -> Any:
        return read_back(alias, run) if run.id != bad.id else 1 / 0

    monkeypatch.setattr(untold, "read_back", fail)
    counts = [tell_untold(much_later() + timedelta(hours=hour)) for hour in range(3)]
    assert counts == [1, 0, 0]
    assert [facts["run"].id for _, facts in heard] == [good.id]
    assert len([line for line in caplog.messages if "could not be told" in line]) == 1


def test_ends_that_nobody_here_listens_to_are_left_to_whoever_does() -> None:
    """A beat without the project's receivers must not note as told what it has told nobody."""
    with hearing("run_succeeded"), dying():
        finish(begin("good"), succeeded("1"))
    with hearing("run_failed"):
        assert tell_untold(much_later()) == 0
    with hearing("run_succeeded") as heard:
        assert tell_untold(much_later()) == 1
    assert names_of(heard) == ["run_succeeded"]


def test_an_end_that_is_rolled_back_is_not_told(heard: Heard) -> None:
    run = begin("good")
    with transaction.atomic():
        finish(run, succeeded("1"))
        transaction.set_rollback(True)
    assert tell_untold(much_later()) == 0
    assert heard == []
