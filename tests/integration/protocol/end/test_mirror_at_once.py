"""Many workers mirror their results at once, also where a transaction locks the gaps between rows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection
from django_celery_results.models import TaskResult

from routines_app.core.words import RunStatus
from routines_app.protocol.end import mirror
from routines_app.protocol.record.facts import RunFacts
from routines_app.protocol.record.outcome import succeeded
from tests.acceptance.ringing import routine
from tests.integration.protocol.end.finishing import begin

pytestmark = [
    pytest.mark.usefixtures("ledger", "short_lived_threads"),
    pytest.mark.skipif(connection.vendor == "sqlite", reason="one transaction writes at a time"),
]

WORKERS, ROUNDS = 4, 15


def test_results_that_are_mirrored_at_once_do_not_disturb_each_other(caplog: pytest.LogCaptureFixture) -> None:
    """At the isolation that MariaDB has by itself: a record that is not there yet has a place that can be locked."""
    made = routine("busy")
    runs = [[begin(made) for _ in range(ROUNDS)] for _ in range(WORKERS)]
    together = Barrier(WORKERS)

    def work(runs: list[RunFacts]) -> None:
        try:
            with connection.cursor() as cursor:
                if connection.vendor == "mysql":
                    cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            for run in runs:
                together.wait(30)
                mirror.write(run, succeeded("1"), RunStatus.SUCCESS)
        finally:
            connection.close()

    with ThreadPoolExecutor(WORKERS) as executor:
        list(executor.map(work, runs))
    assert "could not be mirrored" not in caplog.text
    assert TaskResult.objects.count() == WORKERS * ROUNDS
