"""Abandoning runs: a person says that a body which cannot be stopped, or cannot be seen, is gone.

The row ends, its place in a pool and its lease are free. It ends as a failure, and its next attempt may come; or, if it
was asked to stop, as cancelled, and none comes. Should the body live after all, it has lost its row: its worker tries
to stop it, and its return records nothing but its moment.
"""

from __future__ import annotations

from routines_app.coordination.wakeups import stop_runs
from routines_app.core.errors import NotAllowed
from routines_app.core.said import said
from routines_app.core.words import Reason
from routines_app.models import RoutineRun
from routines_app.protocol.end.finish import Lost, close_run
from routines_app.protocol.ledger.database import on_commit
from routines_app.protocol.record.outcome import failed
from routines_app.verbs.checking.lookup import RunRef, find_run
from routines_app.verbs.ending import ending, who_and_why


def abandon_run(run: RunRef, *, reason: str = "", actor: str = "") -> RoutineRun:
    """End a RUNNING run as FAILED (`abandoned`), or as CANCELLED when it was asked to stop; returns it as it is then.

    Use it when you know that the body is gone or harmless. A run that is to stop is cancelled instead.
    """
    told = who_and_why("abandoned", reason, actor) or "abandoned"
    return ending(run, lambda found: _abandon(found, told))


def _abandon(run: RoutineRun, told: str) -> None:
    if isinstance(close_run(run.pk, failed(Reason.ABANDONED, told)), Lost):
        status = find_run(run.pk).status
        raise NotAllowed(
            "run", str(run.pk), said("only RUNNING runs can be abandoned; this one is {status}", status=status)
        )
    on_commit(lambda: stop_runs([run.pk]))
