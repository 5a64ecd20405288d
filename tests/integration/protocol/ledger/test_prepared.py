"""Statements that are prepared once per connection, and what happens where that does not work."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from django.db import DataError, connection, transaction
from django.utils import timezone
from django_celery_results.models import TaskResult

from routines_app.core.words import Reason
from routines_app.models import RoutineRun
from routines_app.protocol.end.finish import finish
from routines_app.protocol.end.overlap import request_stop
from routines_app.protocol.ledger import prepared
from routines_app.protocol.ledger.prepared import run_statement
from routines_app.protocol.record.outcome import failed, succeeded
from routines_app.protocol.run.start import Started, start
from tests.acceptance.ringing import ring, routine

pytestmark = pytest.mark.usefixtures("ledger", "short_lived_threads")

EVERYTHING = "SELECT * FROM prepared_things WHERE n = %(n)s"
ADD = "SELECT %(a)s::int + %(b)s::int, %(a)s::int"


@pytest.fixture(autouse=True)
def remembered() -> Iterator[None]:
    """What one test finds out about its database is not true for the next."""
    if connection.vendor != "postgresql":
        pytest.skip("only PostgreSQL's statements are prepared")
    yield
    prepared._forgetful.clear()


def prepared_names() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM pg_prepared_statements WHERE name LIKE 'routines_%%'", {})
        return {name for (name,) in cursor.fetchall()}


def run_once(name: str) -> RoutineRun:
    run = ring(routine(name), send=False)
    begun = start(run.id, "me")
    assert isinstance(begun, Started)
    finish(begun.facts, succeeded("1"))
    return RoutineRun.objects.get(id=run.id)


def test_a_statement_is_prepared_once() -> None:
    """Arguments may come in any order and more than once."""
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")
    prepared._known.clear()
    before = prepared_names()
    assert run_statement("default", ADD, {"b": 2, "a": 1}) == [(3, 1)]
    assert run_statement("default", ADD, {"a": 3, "b": 4}) == [(7, 3)]
    assert prepared_names() - before == {prepared._prepared(ADD).name}


def test_a_pooler_that_forgets_gets_plain_statements(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing was done when the name was not found, so the run starts and ends all the same, once."""
    run_once("before")
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")
    with caplog.at_level(logging.INFO):
        assert run_once("after").status == "SUCCESS"
    assert [r.message for r in caplog.records if "forgets prepared statements" in r.message]
    assert not prepared_names()


def test_a_name_that_another_client_prepared_is_used() -> None:
    """Names are made from the text: whoever prepared it prepared the same."""
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")
        cursor.execute(prepared._prepared(ADD).prepare)
    prepared._known.clear()
    assert run_statement("default", ADD, {"a": 1, "b": 1}) == [(2, 1)]
    assert not prepared._forgetful


def test_inside_a_transaction_and_with_a_known_pooler_nothing_is_prepared() -> None:
    """An error there would spoil what the caller does next."""
    before = prepared_names()
    with transaction.atomic():
        assert run_statement("default", ADD + " -- here", {"a": 1, "b": 1}) == [(2, 1)]
    connection.settings_dict["DISABLE_SERVER_SIDE_CURSORS"] = True
    try:
        assert run_statement("default", ADD + " -- there", {"a": 1, "b": 1}) == [(2, 1)]
    finally:
        connection.settings_dict["DISABLE_SERVER_SIDE_CURSORS"] = False
    assert prepared_names() == before


def test_other_errors_are_raised() -> None:
    with pytest.raises(DataError):
        run_statement("default", "SELECT 1 / %(by)s::int", {"by": 0})


def test_a_copy_that_cannot_be_stored_does_not_keep_the_run_from_ending(caplog: pytest.LogCaptureFixture) -> None:
    """The original is written without it, and the log says what is wrong with the copy."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE django_celery_results_taskresult RENAME TO elsewhere")
    try:
        assert run_once("mirrored").status == "SUCCESS"
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE elsewhere RENAME TO django_celery_results_taskresult")
    assert "could not be mirrored" in caplog.text


def test_the_copy_of_a_run_that_was_asked_to_stop_says_so() -> None:
    """The statement decides that the failure is a cancellation, and the copy follows."""
    run = ring(routine("stopped", max_attempts=3), send=False)
    begun = start(run.id, "me")
    assert isinstance(begun, Started)
    with transaction.atomic():
        request_stop([run.id], Reason.CANCELLED, timezone.now())
    finish(begun.facts, failed(Reason.EXCEPTION, "ValueError: no", exception_names=("ValueError",)))
    assert RoutineRun.objects.get(id=run.id).status == "CANCELLED"
    assert TaskResult.objects.get(task_id=str(run.id)).status == "REVOKED"


def test_settings_that_say_nothing_of_a_pooler_are_the_usual_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Django gives the key no default; a project that writes its settings by hand has none."""
    monkeypatch.delitem(connection.settings_dict, "DISABLE_SERVER_SIDE_CURSORS", raising=False)
    assert run_once("plain").status == "SUCCESS"


def test_server_side_binding_and_prepared_statements_exclude_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """EXECUTE takes no bound parameters: plain statements, which bind."""
    before = prepared_names()
    options = connection.settings_dict["OPTIONS"] | {"server_side_binding": True}
    monkeypatch.setitem(connection.settings_dict, "OPTIONS", options)
    assert run_statement("default", ADD + " -- bound", {"a": 1, "b": 1}) == [(2, 1)]
    assert prepared_names() == before


def test_a_plan_that_a_migration_made_stale_is_left_alone() -> None:
    """The columns changed under a running worker: nothing was executed, so the plain statement is."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE prepared_things AS SELECT 1 AS n")
    try:
        assert run_statement("default", EVERYTHING, {"n": 1}) == [(1,)]
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE prepared_things ADD m int DEFAULT 2")
        assert run_statement("default", EVERYTHING, {"n": 1}) == [(1, 2)]
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE prepared_things")


def test_a_copy_that_has_to_wait_does_not_keep_the_run_from_ending(caplog: pytest.LogCaptureFixture) -> None:
    """The results table is locked by somebody else's migration, and the database has a lock time-out."""
    run = ring(routine("patient"), send=False)
    begun = start(run.id, "me")
    assert isinstance(begun, Started)
    other = connection.copy()
    try:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '200ms'")
        with other.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("LOCK TABLE django_celery_results_taskresult IN SHARE MODE")
        finish(begun.facts, succeeded("1"))
        assert RoutineRun.objects.get(id=run.id).status == "SUCCESS"
        assert "could not be mirrored" in caplog.text
    finally:
        other.close()
        with connection.cursor() as cursor:
            cursor.execute("RESET lock_timeout")
