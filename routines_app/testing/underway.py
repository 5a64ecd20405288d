"""A run that is RUNNING while the test does something else: to see what its routine's policy does with the next."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from routines_app import service
from routines_app.core.errors import NotAllowed
from routines_app.models import Routine, RoutineRun
from routines_app.protocol.end.finish import finish
from routines_app.protocol.publish.pools import admit_pools
from routines_app.protocol.record.facts import RunFacts
from routines_app.protocol.record.outcome import cancelled, succeeded
from routines_app.protocol.run.start import Started, start
from routines_app.testing.commits import as_if_committed
from routines_app.testing.due import HOSTNAME
from routines_app.testing.frozen import needed_clock
from routines_app.verbs.checking.lookup import find_run


@contextmanager
def running(routine: Routine | int | str) -> Iterator[RoutineRun]:
    """Ask for a run of the routine and let it be RUNNING until the block ends. Its task is not called.

    Then it succeeds; if it was asked to stop meanwhile (REPLACE, `cancel_run`), it has done so. After an error in the
    block it stays as it is.
    """
    now = needed_clock("running").now()
    with as_if_committed():
        run = service.run_now(routine, requested_by="a test")
        admit_pools(now, only=[run.pk])
        begun = start(run.pk, HOSTNAME, lease=False)
    run = find_run(run.pk)
    if not isinstance(begun, Started):
        state = f"{run.status} ({run.reason})" if run.reason else run.status
        raise NotAllowed("routine", run.routine.name, f"a run of it cannot start now: it is {state}")
    yield run
    with as_if_committed():
        _end(begun.facts)


def _end(facts: RunFacts) -> None:
    run = find_run(facts.id)
    finish(facts, cancelled(run.stop_reason) if run.stop_requested_at else succeeded(None))
